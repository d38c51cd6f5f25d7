"""The brackets in the cells of a column: phrases, and BIO tags.

`(ARG0*` opens a phrase, `*)` closes it, and `*` is a token without a bracket.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from elmo_bench.text.tags import spans

# Labels that open, a star, and ")" or "LABEL)" that close.
_CELL = re.compile(r"((?:\([^()*]+)*)\*((?:[^()*]*\))*)")


class Phrase(NamedTuple):
    """Tokens from `start` to `end`, inclusive."""

    start: int
    end: int
    label: str
    inner: tuple[tuple[int, int], ...] = ()  # start and end of each phrase in it


class BracketError(ValueError):
    """An error in a column, with its cell."""

    def __init__(self, cell: int, what: str):
        super().__init__(what)
        self.cell = cell


INNER = (
    "labels left out: the tokens have two labels of one predicate, "
    "and the inner one is kept"
)


def read_phrases(column: Sequence[str]) -> list[Phrase]:
    """The phrases of a column by start, longer ones first, as srl-eval.pl reads them.

    Of two phrases over the same tokens the inner one is kept. Raises BracketError.
    """
    phrases: dict[tuple[int, int], Phrase] = {}
    opened: list[tuple[int, str, list[tuple[int, int]]]] = []
    for token, cell in enumerate(column):
        if cell == "*":
            continue
        parts = _CELL.fullmatch(cell)
        if not parts:
            problem = f"'{cell}' is not a cell of brackets such as (ARG0*, * or *)"
            raise BracketError(token, problem)
        opened += [(token, label, []) for label in parts[1].split("(")[1:]]
        for closing in parts[2].split(")")[:-1]:
            if not opened:
                problem = f"unbalanced brackets: '{cell}' closes what is not open"
                raise BracketError(token, problem)
            start, label, inner = opened.pop()
            if closing not in ("", label):
                problem = f"unbalanced brackets: '{cell}' closes ({label}"
                raise BracketError(token, problem)
            phrase = Phrase(start, token, label, tuple(inner))
            phrases.setdefault((start, token), phrase)
            if opened:
                opened[-1][2].append((start, token))
    if opened:
        start, label, _ = opened[-1]
        where = "before its sentence ends"
        problem = f"unbalanced brackets: ({label} is not closed {where}"
        raise BracketError(start, problem)
    return sorted(phrases.values(), key=lambda phrase: (phrase.start, -phrase.end))


def read_tags(column: Sequence[str]) -> list[str]:
    """The BIO tags of a column.

    Raises BracketError, also for nested brackets, which tags cannot express.
    """
    tags = ["O"] * len(column)
    for start, end, label, inner in read_phrases(column):
        if inner:
            why = "a token can have one role of a predicate"
            raise BracketError(start, f"brackets within ({label}: {why}")
        tags[start] = f"B-{label}"
        for place in range(start + 1, end + 1):
            tags[place] = f"I-{label}"
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
