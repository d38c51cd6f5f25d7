"""`elmo-bench embed`: the vectors of a text in one HDF5 file, as AllenNLP's `elmo` command wrote it."""

import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import h5py
import torch
from h5py import h5d, h5f, h5p, h5s, h5t
from rich.filesize import decimal as readable
from torch import Tensor

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write, keep_inputs, read_lines
from elmo_bench.base.progress import console, progress
from elmo_bench.base.reading import reader
from elmo_bench.elmo.encoder import ElmoEncoder
from elmo_bench.text.columns import tokens_of

MAPPED = 100_000  # lines of the longest text that gets a `sentence_to_index`, which is made in memory
TOKENS, SENTENCES = 16_384, 1_024  # whose layers are in memory
WORDS = 2**16  # vectors to remember: full after about a million tokens of natural language
PER_SENTENCE = 400  # bytes of a data set in addition to its numbers; 325 measured
CACHE = 2**18  # bytes of metadata that HDF5 keeps; with more it is slower


Mode = Callable[[Tensor], Tensor]  # layers [L, T, D] of a sentence -> what is written, [L, T, D] or [T, D]
MODES: dict[str, Mode] = {
    "all": lambda layers: layers,
    "top": lambda layers: layers[-1],
    "average": lambda layers: layers.mean(dim=0),
}


def fixed_mix(scalars: Sequence[float], gamma: float) -> Mode:
    """The mix with these weights, before the softmax, and γ."""
    weights = gamma * torch.softmax(torch.tensor(scalars), dim=0)
    return lambda layers: torch.tensordot(weights.to(layers.device), layers, dims=1)


@reader
def read(source: Path) -> Iterator[tuple[str, list[str]]]:
    """(text, tokens) of each line of a text file (see `read_lines`; `-` is standard input).

    White space separates tokens; inside a token it may be escaped (see text/columns.py).
    """
    return ((line.strip(), tokens_of(line)) for _, line in read_lines(source))


def embed(source: Path, out: Path, encoder: ElmoEncoder, mode: Mode, *, batch: int | None) -> str:
    """Write the vectors of a text, one tokenised sentence a line; returns a line about the work done.

    The file has the float32 data sets "0", "1", …, and up to MAPPED lines `sentence_to_index`. It appears when it is
    complete. The encoder gets `batch` sentences at once, or as many as memory should hold. Raises UserError if there
    are no lines, and if the disk is full or too small.
    """
    keep_inputs(out, [source])
    total = _check_room(source, out, encoder, mode) if source.is_file() else None
    encoder.frozen.vectors.limit = min(encoder.frozen.vectors.limit, WORDS)  # so that memory stays flat over hours
    number = tokens = 0
    index: dict[str, str] = {}
    empty: list[int] = []
    lines = read(source)
    with progress("embed", total=total) as meter, atomic_write(out) as handle, _created(handle.name) as file:
        while some := list(islice(lines, batch)) if batch else _window(lines):
            for (text, words), layers in zip(some, encoder.encode([words for _, words in some]), strict=True):
                _write(file, str(number), mode(layers))
                if number < MAPPED:
                    index[text] = str(number)  # the last one of equal lines, as in AllenNLP
                number += 1
                if not words:
                    empty.append(number)
            read_now = sum(len(words) for _, words in some)
            tokens += read_now
            meter.advance(read_now, steps=len(some))
        if not number:
            raise UserError(f"{source}: no lines. Give one tokenised sentence per line.")
        if number > MAPPED:
            meter.say(f"more than {MAPPED:,} sentences: sentence_to_index is left out")
        else:
            file.create_dataset("sentence_to_index", data=[json.dumps(index)], dtype=h5py.string_dtype())
            if repeated := number - len(index):
                meter.say(f"sentence_to_index: {repeated:,} lines are repeated; it has the last index of each")
        rate = meter.tokens_per_second
    if empty:
        said = f"{len(empty):,} empty lines, the first is line {empty[0]:,}; their output has no tokens"
        console.print(f"{source}: {said}", highlight=False)
    size = readable(out.stat().st_size)
    return f"{out}: {number:,} sentences, {tokens:,} tokens, {size}" + (f"; {rate:,.0f} tokens/s" if rate else "")


def _window(lines: Iterator[tuple[str, list[str]]]) -> list[tuple[str, list[str]]]:
    window, tokens = [], 0
    for line in islice(lines, SENTENCES):
        window.append(line)
        if (tokens := tokens + len(line[1])) >= TOKENS:
            break
    return window


def _check_room(source: Path, out: Path, encoder: ElmoEncoder, mode: Mode) -> int:
    """The number of lines, by a first reading of the text. Raises UserError if the disk cannot hold their vectors."""
    lengths = [len(words) for _, words in read(source)]
    numbers = mode(torch.empty(encoder.layers, sum(lengths), encoder.dim, device="meta")).numel()
    needed = 4 * numbers + PER_SENTENCE * len(lengths)
    folder = next(each for each in out.absolute().parents if each.exists())
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise UserError(f"{out}: takes {readable(needed)}, but {folder} has {readable(free)} free. Make room there.")
    return len(lengths)


@contextmanager
def _created(name: str) -> Iterator[h5py.File]:
    """A new HDF5 file."""
    access = h5p.create(h5p.FILE_ACCESS)
    access.set_libver_bounds(h5f.LIBVER_V18, h5f.LIBVER_V18)  # the older layout keeps all names in memory
    access.set_sieve_buf_size(0)  # values are written at once, so that errors are raised where they can be caught
    cache = access.get_mdc_config()
    cache.set_initial_size = True
    cache.min_size = cache.initial_size = cache.max_size = CACHE
    access.set_mdc_config(cache)
    with h5py.File(h5f.create(name.encode(), h5f.ACC_TRUNC, fapl=access)) as file:
        try:
            yield file
            file.flush()
        except (OSError, RuntimeError):
            os.truncate(name, 0)  # HDF5 crashes if a full disk prevents closing: now there is room
            raise


def _write(file: h5py.File, name: str, vectors: Tensor) -> None:
    """Write one data set; `create_dataset` takes several times as long. Equal vectors give equal bytes."""
    properties = h5p.create(h5p.DATASET_CREATE)
    properties.set_fill_time(h5d.FILL_TIME_NEVER)
    properties.set_obj_track_times(False)
    data = h5d.create(file.id, name.encode(), h5t.IEEE_F32LE, h5s.create_simple(tuple(vectors.shape)), properties)
    data.write(h5s.ALL, h5s.ALL, vectors.contiguous().cpu().numpy())
