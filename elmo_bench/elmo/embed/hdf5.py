"""The file that AllenNLP's `elmo` command wrote: data sets "0", "1", … of float32, and `sentence_to_index`."""

import json
import math
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import h5py
import numpy as np
from h5py import h5d, h5f, h5p, h5s, h5t

from elmo_bench.base.errors import UserError
from elmo_bench.base.progress import progress
from elmo_bench.elmo.embed.output import Shape, sentence_to_index, taken
from elmo_bench.elmo.embed.parts import Parts

CACHE = 2**18  # bytes of metadata that HDF5 keeps; more is no faster


class Hdf5Output:
    """One HDF5 file. It is put together at the end, because a kill can damage a file that HDF5 has open."""

    name, suffix = "hdf5", ".f32"
    per_sentence = 400  # header, link and index of a data set: 325 bytes measured
    twice = True

    def __init__(self, path: Path):
        self.path = path

    def check_free(self, *, overwrite: bool) -> None:
        if self.path.is_dir():
            raise UserError(f"{self.path}: is a folder; name a file that does not exist yet")
        if self.path.exists() and not overwrite:
            raise taken(self.path)

    def seal(self, values: Path, part: Path, *, first: int, lengths: Sequence[int], shape: Shape) -> None:
        values.replace(part)

    def finish(self, parts: Parts, shape: Shape) -> int:
        assembled = parts.folder / "assembled.h5"
        mapping = sentence_to_index(parts)
        try:
            with progress("write", total=parts.sentences) as meter:
                for number, part in enumerate(parts):
                    # Opened anew for each part: HDF5 keeps something of every data set until the file is closed.
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
                f"{self.path}: not written ({_reason(error)}); all parts in {parts.folder} are whole, "
                "so make room and start again to go on"
            ) from None
        return self.path.stat().st_size


@contextmanager
def _opened(path: Path, *, new: bool) -> Iterator[h5py.File]:
    """A new HDF5 file, or one to be added to; it is on its way to the disk when the block ends."""
    access = h5p.create(h5p.FILE_ACCESS)
    access.set_libver_bounds(h5f.LIBVER_V18, h5f.LIBVER_V18)  # the older layout keeps all names in memory
    access.set_sieve_buf_size(0)  # values go out at once, so that an error is raised where it can be caught
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
            os.truncate(path, 0)  # HDF5 crashes where a full disk does not let it close: now there is room
            raise


def _reason(error: BaseException) -> str:
    """What the operating system said, which is a line in HDF5's own report, perhaps of the error before this one."""
    if found := re.search(r"error message = '(.*?)'", str(error)):
        return found[1]
    return _reason(error.__context__) if error.__context__ else str(error).splitlines()[0]


def _write(file: h5py.File, index: int, array: np.ndarray) -> None:
    """One data set; the plain `create_dataset` takes several times as long."""
    space = h5s.create_simple(array.shape)
    h5d.create(file.id, str(index).encode(), h5t.IEEE_F32LE, space, _PLAIN).write(h5s.ALL, h5s.ALL, array)


def _plain() -> h5p.PropDCID:
    """No filling before the values come, and no times: equal vectors make equal files."""
    properties = h5p.create(h5p.DATASET_CREATE)
    properties.set_layout(h5d.CONTIGUOUS)
    properties.set_fill_time(h5d.FILL_TIME_NEVER)
    properties.set_obj_track_times(False)
    return properties


_PLAIN = _plain()
