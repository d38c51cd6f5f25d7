"""`elmo-bench embed`: the vectors of a text in one HDF5 file.

The file is as AllenNLP's `elmo` command wrote it.
"""

import io
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import h5py
from rich.filesize import decimal as readable
from torch import Tensor

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write, keep_inputs, read_lines
from elmo_bench.base.progress import console, progress
from elmo_bench.base.reading import reader
from elmo_bench.elmo.encoder import ElmoEncoder
from elmo_bench.text.columns import tokens_of

MAPPED = 100_000  # lines of the longest text that gets an index, which is in memory
INDEX = "sentence_to_index"
TOKENS = 16_384  # whose layers are in memory
SENTENCES = 1_024  # likewise
WORDS = 2**16  # vectors to remember: full after about a million tokens of language
MODES: dict[str, Callable[[Tensor], Tensor]] = {  # layers [L, T, D] of a sentence ->
    "all": lambda layers: layers,
    "top": lambda layers: layers[-1],
    "average": lambda layers: layers.mean(dim=0),
}
Text = TypeVar("Text")


@reader
def read(source: Path) -> Iterator[tuple[str, list[str]]]:
    """(text, tokens) of each line of a text file.

    See `read_lines`; `-` is standard input. White space separates tokens; inside a
    token it may be escaped (see text/columns.py).
    """
    for _, line in read_lines(source, pipe=True):
        yield line.strip(), tokens_of(line)


def windows(
    texts: Iterable[Text], size: Callable[[Text], int], batch: int | None = None
) -> Iterator[list[Text]]:
    """`batch` texts at a time, or as many as memory should hold the layers of.

    `size` is the number of tokens of a text.
    """
    most = batch or SENTENCES
    window = []
    tokens = 0
    for text in texts:
        window.append(text)
        tokens += size(text)
        full = tokens >= TOKENS and not batch
        if full or len(window) == most:
            yield window
            window = []
            tokens = 0
    if window:
        yield window


class _Sink(io.FileIO):
    """A file whose writes do not fail, since HDF5 crashes if it cannot close a file.

    `check` raises the first error.
    """

    error: OSError | None = None

    def write(self, data: Any) -> int:
        rest = memoryview(data).cast("B")
        try:
            while rest and self.error is None:
                written = super().write(rest) or 0
                rest = rest[written:]
        except OSError as error:
            self.error = error
        return len(data)

    def truncate(self, size: int | None = None) -> int:
        try:
            return super().truncate(size)
        except OSError as error:
            self.error = self.error or error
            return size or 0

    def check(self) -> None:
        if self.error is not None:
            raise self.error


def _too_long(source: Path) -> str:
    return (
        f"{source}: more than {MAPPED:,} lines, so {INDEX} is left out, without which "
        "encoder=precomputed cannot read the output. "
        "To use the output with encoder=precomputed, stop here, "
        f"split the text (split -l {MAPPED}) and embed its parts into one folder"
    )


def embed(
    source: Path, out: Path, encoder: ElmoEncoder, mode: str, *, batch: int | None
) -> str:
    """Write the vectors of a text; returns a message about the work done.

    The text has one tokenised sentence a line. mode: of MODES. The file has the float32
    data sets "0", "1", …, and up to MAPPED lines `sentence_to_index`; a message comes
    at the first line after those. The file appears when it is complete. The encoder
    gets `batch` sentences at once, or as many as memory should hold. Raises UserError
    if there are no lines, and if the disk is full.
    """
    keep_inputs(out, [source])
    # So that memory stays flat over hours.
    encoder.vectors.limit = min(encoder.vectors.limit, WORDS)
    index: dict[str, str] = {}
    empty: list[int] = []
    number = 0
    with (
        progress("embed") as meter,
        atomic_write(out) as handle,
        _Sink(handle.name, "r+") as sink,
    ):
        with h5py.File(sink, "w") as file:
            lines = read(source)
            for window in windows(lines, size=lambda line: len(line[1]), batch=batch):
                sentences = [words for _, words in window]
                results = encoder.encode(sentences)
                for (text, words), layers in zip(window, results, strict=True):
                    vectors = MODES[mode](layers).cpu().numpy()
                    file.create_dataset(str(number), data=vectors)
                    sink.check()
                    if number == MAPPED:
                        meter.say(_too_long(source))
                    if number < MAPPED:
                        # The last one of equal lines, as in AllenNLP.
                        index[text] = str(number)
                    number += 1
                    if not words:
                        empty.append(number)
                meter.advance(sum(map(len, sentences)), steps=len(window))
            if not number:
                raise UserError(
                    f"{source}: no lines. Give one tokenised sentence per line."
                )
            if number <= MAPPED:
                text_type = h5py.string_dtype()
                file.create_dataset(INDEX, data=[json.dumps(index)], dtype=text_type)
        sink.check()
        rate = meter.tokens_per_second
    if empty:
        console.print(
            f"{source}: {len(empty):,} empty lines, the first is line {empty[0]:,}; "
            "their output has no tokens",
            highlight=False,
        )
    size = readable(out.stat().st_size)
    return (
        f"{out}: {number:,} sentences, {meter.tokens:,} tokens, {size}; "
        f"{rate:,.0f} tokens/s"
    )
