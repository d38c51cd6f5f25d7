"""The outputs: one HDF5 file as AllenNLP's `elmo` command wrote it, or a folder of npz shards.

HDF5: float32 data sets "0", "1", …, and `sentence_to_index`. npz: `00000.npz`, … with the same arrays, `index.json`,
and `sentence_to_index.json`.
"""

import json
import math
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import h5py
import numpy as np
from h5py import h5d, h5f, h5p, h5s, h5t

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write
from elmo_bench.base.progress import console, progress
from elmo_bench.elmo.embed.lines import MAPPED
from elmo_bench.elmo.embed.parts import Parts

Shape = Callable[[int], tuple[int, ...]]  # number of tokens -> shape of a sentence's output
CACHE = 2**18  # bytes of metadata that HDF5 keeps; more does not help
NPZ_FILES = re.compile(r"\d{5,}\.npz|index\.json|sentence_to_index\.json")


class Output(Protocol):
    """How the values of a part become a piece of the output, and the pieces the output."""

    path: Path
    name: str
    suffix: str  # of the file with a part's values
    per_sentence: int  # bytes in addition to the values
    twice: bool  # whether parts and output are on the disk at the same time

    def check_free(self, *, overwrite: bool) -> None:
        """Raises UserError if there is something that may not be replaced."""
        ...

    def seal(self, values: Path, part: Path, *, first: int, lengths: Sequence[int], shape: Shape) -> None:
        """Make a part's file from its values (float32, one sentence after another), and remove the values."""
        ...

    def finish(self, parts: Parts, shape: Shape) -> int:
        """Make the output from the parts, with one rename at the end, so that a kill repeats only this. Its bytes."""
        ...


def parts_folder(path: Path) -> Path:
    """The folder of an output's parts, until the output is complete."""
    return path.with_name(f"{path.name}.parts")


def _taken(path: Path) -> UserError:
    parts = parts_folder(path)
    resume = f", resuming from {parts}" if parts.exists() else ""
    return UserError(f"{path}: exists already. Give another path, or --overwrite to replace it{resume}.")


def sentence_to_index(parts: Parts) -> dict[str, str] | None:
    """Each line with its index (its last, for a repeated line), as in AllenNLP; None above MAPPED lines."""
    if parts.sentences > MAPPED:
        console.print(f"more than {MAPPED:,} sentences: sentence_to_index is left out", highlight=False)
        return None
    mapping = {text: str(part.first + row) for part in parts for row, text in enumerate(part.texts or [])}
    if repeated := parts.sentences - len(mapping):
        message = f"sentence_to_index: {repeated:,} lines are repeated; it has the last index of each"
        console.print(message, highlight=False)
    return mapping


class Hdf5Output:
    """One HDF5 file. It is written at the end, because a kill can damage a file that HDF5 has open."""

    name, suffix = "hdf5", ".f32"
    per_sentence = 400  # header, link and index of a data set: 325 bytes measured
    twice = True

    def __init__(self, path: Path):
        self.path = path

    def check_free(self, *, overwrite: bool) -> None:
        if self.path.is_dir():
            raise UserError(f"{self.path}: is a folder. Name a file that does not exist yet.")
        if self.path.exists() and not overwrite:
            raise _taken(self.path)

    def seal(self, values: Path, part: Path, *, first: int, lengths: Sequence[int], shape: Shape) -> None:
        values.replace(part)

    def finish(self, parts: Parts, shape: Shape) -> int:
        assembled = parts.folder / "assembled.h5"
        mapping = sentence_to_index(parts)
        try:
            with progress("write", total=parts.sentences) as meter:
                for number, part in enumerate(parts):
                    # Opened for each part, because HDF5 keeps something of every data set until the file is closed.
                    with _opened(assembled, new=number == 0) as file, parts.values(number).open("rb") as values:
                        for row, tokens in enumerate(part.lengths):
                            form = shape(tokens)
                            array = np.frombuffer(values.read(4 * math.prod(form)), dtype="<f4").reshape(form)
                            _write(file, part.first + row, array)
                    meter.advance(sum(part.lengths), steps=len(part.lengths))
            if mapping is not None:
                with _opened(assembled, new=False) as file:
                    file.create_dataset("sentence_to_index", data=[json.dumps(mapping)], dtype=h5py.string_dtype())
            with assembled.open("rb") as whole:
                os.fsync(whole.fileno())
            assembled.replace(self.path)
        except (OSError, RuntimeError) as error:
            assembled.unlink(missing_ok=True)
            raise UserError(
                f"{self.path}: not written ({_reason(error)}). Make room and give the same command again: "
                f"all parts in {parts.folder} are complete."
            ) from None
        return self.path.stat().st_size


class NpzOutput:
    """Every part is a shard already; at the end their folder gets the output's name."""

    name, suffix = "npz", ".npz"
    per_sentence = 320  # headers of the zip file and of the array: at most 290 bytes
    twice = False

    def __init__(self, path: Path):
        self.path = path

    def check_free(self, *, overwrite: bool) -> None:
        if self.path.exists() and not self.path.is_dir():
            raise UserError(f"{self.path}: is a file, but npz shards need a folder. Name a folder (out/).")
        found = {file.name for file in self.path.iterdir()} if self.path.exists() else set()
        if not all(map(NPZ_FILES.fullmatch, found)):
            raise UserError(f"{self.path}: a folder with other files in it. Name one that does not exist yet.")
        if found and not overwrite:
            raise _taken(self.path)

    def seal(self, values: Path, part: Path, *, first: int, lengths: Sequence[int], shape: Shape) -> None:
        shapes = [shape(tokens) for tokens in lengths]
        ends = np.cumsum([math.prod(form) for form in shapes])
        flat = np.memmap(values, dtype="<f4", mode="r") if ends[-1] else np.empty(0, dtype="<f4")
        arrays = [piece.reshape(form) for piece, form in zip(np.split(flat, ends[:-1]), shapes, strict=True)]
        named: dict[str, Any] = {str(first + row): array for row, array in enumerate(arrays)}
        with atomic_write(part) as handle:
            np.savez(handle, **named)
        values.unlink()

    def finish(self, parts: Parts, shape: Shape) -> int:
        mapping = sentence_to_index(parts)
        shards = [
            {"file": parts.values(number).name, "first": part.first, "sentences": len(part.lengths)}
            for number, part in enumerate(parts)
        ]
        for name, content in {"index.json": {"shards": shards}, "sentence_to_index.json": mapping}.items():
            if content is not None:
                with atomic_write(parts.data / name, "w") as handle:
                    json.dump(content, handle)
        if self.path.exists():
            self.path.rename(parts.folder / "old")
        parts.data.rename(self.path)
        return sum(file.stat().st_size for file in self.path.iterdir())


@contextmanager
def _opened(path: Path, *, new: bool) -> Iterator[h5py.File]:
    """A new HDF5 file, or one to append to; it is flushed when the block ends."""
    access = h5p.create(h5p.FILE_ACCESS)
    access.set_libver_bounds(h5f.LIBVER_V18, h5f.LIBVER_V18)  # the older layout keeps all names in memory
    access.set_sieve_buf_size(0)  # values are written at once, so that errors are raised where they can be caught
    cache = access.get_mdc_config()
    cache.set_initial_size = True
    cache.min_size = cache.initial_size = cache.max_size = CACHE
    access.set_mdc_config(cache)
    creation = h5p.create(h5p.FILE_CREATE)
    creation.set_obj_track_times(False)
    name = bytes(path)
    opened = h5f.create(name, h5f.ACC_TRUNC, creation, access) if new else h5f.open(name, h5f.ACC_RDWR, access)
    with h5py.File(opened) as file:
        try:
            yield file
            file.flush()
        except (OSError, RuntimeError):
            os.truncate(path, 0)  # HDF5 crashes if a full disk prevents closing: now there is room
            raise


def _reason(error: BaseException) -> str:
    """The operating system's message: a line in HDF5's report, perhaps of the error before this one."""
    if found := re.search(r"error message = '(.*?)'", str(error)):
        return found[1]
    return _reason(error.__context__) if error.__context__ else str(error).splitlines()[0]


def _write(file: h5py.File, index: int, array: np.ndarray) -> None:
    """Write one data set; `create_dataset` takes several times as long."""
    space = h5s.create_simple(array.shape)
    h5d.create(file.id, str(index).encode(), h5t.IEEE_F32LE, space, _PLAIN).write(h5s.ALL, h5s.ALL, array)


def _plain() -> h5p.PropDCID:
    """No fill values and no times: equal vectors give equal files."""
    properties = h5p.create(h5p.DATASET_CREATE)
    properties.set_layout(h5d.CONTIGUOUS)
    properties.set_fill_time(h5d.FILL_TIME_NEVER)
    properties.set_obj_track_times(False)
    return properties


_PLAIN = _plain()
