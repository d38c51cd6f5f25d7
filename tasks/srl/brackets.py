"""A column of brackets, one predicate's, as `(ARG0*`, `*`, `*)`: its phrases, and the column of BIO tags."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from elmo_bench.text.tags import spans

_CELL = re.compile(r"((?:\([^()*]+)*)\*((?:[^()*]*\))*)")  # labels that open, a star, and ")" or "LABEL)" that close


class Phrase(NamedTuple):
    """Tokens from `start` to `end`, inclusive; `inner`: start and end of each phrase directly inside."""

    start: int
    end: int
    label: str
    inner: tuple[tuple[int, int], ...] = ()


class BracketError(ValueError):
    """An error in a column, with its cell."""

    def __init__(self, cell: int, what: str):
        super().__init__(what)
        self.cell = cell


def read_phrases(column: Sequence[str]) -> list[Phrase]:
    """The phrases of a column by start, longer ones first, as srl-eval.pl reads them. Raises BracketError.

    Of two phrases over the same tokens the inner one is kept.
    """
    found: dict[tuple[int, int], Phrase] = {}
    opened: list[tuple[int, str, list[tuple[int, int]]]] = []
    for token, cell in enumerate(column):
        if cell == "*":
            continue
        parts = _CELL.fullmatch(cell)
        if not parts:
            raise BracketError(token, f"'{cell}' is not a cell of brackets such as (ARG0*, * or *)")
        opened += [(token, label, []) for label in parts[1].split("(")[1:]]
        for closing in parts[2].split(")")[:-1]:
            if not opened:
                raise BracketError(token, f"unbalanced brackets: '{cell}' closes what is not open")
            start, label, inner = opened.pop()
            if closing not in ("", label):
                raise BracketError(token, f"unbalanced brackets: '{cell}' closes ({label}")
            found.setdefault((start, token), Phrase(start, token, label, tuple(inner)))
            if opened:
                opened[-1][2].append((start, token))
    if opened:
        start, label, _ = opened[-1]
        raise BracketError(start, f"unbalanced brackets: ({label} is not closed before its sentence ends")
    return sorted(found.values(), key=lambda phrase: (phrase.start, -phrase.end))


def read_tags(column: Sequence[str]) -> list[str]:
    """The BIO tags of a column. Raises BracketError, also for nested brackets, which tags cannot express."""
    tags = ["O"] * len(column)
    for start, end, label, inner in read_phrases(column):
        if inner:
            raise BracketError(start, f"brackets within ({label}: a token can have one role of a predicate")
        tags[start : end + 1] = [f"B-{label}", *[f"I-{label}"] * (end - start)]
    return tags


def tag_phrases(tags: Sequence[str]) -> list[Phrase]:
    """The phrases of BIO tags by start. Raises ValueError."""
    return [Phrase(start, end, label) for label, start, end in spans(tags)]


def write_column(tags: Sequence[str]) -> list[str]:
    """The column of BIO tags. Raises ValueError."""
    column = ["*"] * len(tags)
    for start, end, label, _ in tag_phrases(tags):
        column[start] = f"({label}*"
        column[end] += ")"
    return column
