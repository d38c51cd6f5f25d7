"""The input: one tokenised sentence per line, read once and never held in memory as a whole, and how it is divided.

The lines are divided into parts, a part into pools. A part is written, and survives a kill, as a unit; a pool is one
call of the encoder. Both depend only on the lines from the start of the part, so a resumed run computes the same
vectors.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from elmo_bench.base.files import STANDARD_INPUT, read_lines
from elmo_bench.base.reading import reader
from elmo_bench.text import pools as by_tokens
from elmo_bench.text.escaped import tokens_of

MAPPED = 100_000  # lines of the longest input that gets a `sentence_to_index`, which is made in memory
PART_TOKENS, PART_SENTENCES = 65_536, 16_384
POOL_TOKENS, POOL_SENTENCES = 16_384, 1_024
STATEFUL_BATCH = 64  # the default of AllenNLP's command


class Line(NamedTuple):
    """A line of the input. Its key in the output is its number, from 0, empty lines included."""

    text: str
    tokens: list[str]


class Totals(NamedTuple):
    """The size of a whole input."""

    sentences: int
    tokens: int


@reader
def read(source: Path) -> Iterator[Line]:
    """The lines of a text file (see `read_lines`; `-` is standard input), tokens separated by white space.

    White space inside a token may be escaped (see text/escaped.py).
    """
    for _, line in read_lines(source):
        text = line.strip()
        yield Line(text, tokens_of(text))


def count(source: Path) -> Totals | None:
    """One pass over the input; None if it can be read only once (standard input, a pipe)."""
    if source == STANDARD_INPUT or (source.exists() and not (source.is_file() or source.is_dir())):
        return None
    sentences = tokens = 0
    for line in read(source):
        sentences += 1
        tokens += len(line.tokens)
    return Totals(sentences, tokens)


def fingerprint(before: str, lines: Iterable[Line]) -> str:
    """Hex SHA-256 of the lines of one part, chained to the fingerprint of the part before."""
    digest = hashlib.sha256(before.encode())
    for line in lines:
        digest.update(line.text.encode() + b"\n")
    return digest.hexdigest()


def parts(lines: Iterable[Line], batch: int | None = None) -> Iterator[list[Line]]:
    """Parts that end after PART_TOKENS or PART_SENTENCES; with `batch`, after a whole number of batches."""
    part: list[Line] = []
    tokens = 0
    for line in lines:
        part.append(line)
        tokens += len(line.tokens)
        if (tokens >= PART_TOKENS or len(part) >= PART_SENTENCES) and len(part) % (batch or 1) == 0:
            yield part
            part, tokens = [], 0
    if part:
        yield part


def pools(lengths: Sequence[int], batch: int | None = None) -> Iterator[list[int]]:
    """The rows of a part, by their numbers of tokens, that go to the encoder together.

    With `batch`: that many, in file order. Without: sentences of similar length, at most POOL_TOKENS tokens (a longer
    sentence is a pool), so that memory does not depend on the lengths of the lines.
    """
    if batch is not None:
        return (list(range(start, min(start + batch, len(lengths)))) for start in range(0, len(lengths), batch))
    return by_tokens.pools(by_tokens.by_length(lengths), lengths, size=POOL_SENTENCES, tokens=POOL_TOKENS)
