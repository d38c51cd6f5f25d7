"""The input: a tokenised sentence a line, from a file or from standard input, read once and never held whole."""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from elmo_bench.base.files import STANDARD_INPUT, read_lines

MAPPED = 100_000  # the longest input that gets a `sentence_to_index`, which has to be made in memory


class Line(NamedTuple):
    """A line of the input; its key in the output is its place, from 0, among all lines, the empty ones too."""

    text: str
    tokens: list[str]


class Totals(NamedTuple):
    """What a whole input holds."""

    sentences: int
    tokens: int


def read(source: Path) -> Iterator[Line]:
    """The lines of a text file (see `read_lines`; `-` is standard input), tokens parted by white space."""
    for _, line in read_lines(source):
        text = line.strip()
        yield Line(text, text.split())


def count(source: Path) -> Totals | None:
    """One pass over the input; None where it can be read only once (standard input, a pipe)."""
    if source == STANDARD_INPUT or (source.exists() and not (source.is_file() or source.is_dir())):
        return None
    sentences = tokens = 0
    for line in read(source):
        sentences += 1
        tokens += len(line.tokens)
    return Totals(sentences, tokens)


def fingerprint(before: str, lines: Iterable[Line]) -> str:
    """Hex SHA-256 of the lines of one part, chained to that of the part `before` it."""
    digest = hashlib.sha256(before.encode())
    for line in lines:
        digest.update(line.text.encode() + b"\n")
    return digest.hexdigest()
