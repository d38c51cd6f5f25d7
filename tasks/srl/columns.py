"""Column files whose number of columns changes from sentence to sentence, and the brackets in their cells."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import read_lines
from elmo_bench.base.notes import note
from elmo_bench.text.columns import Row, cells_of, check_ended, sentences
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


INNER = "labels left out: the tokens have two labels of one predicate, and the inner one is kept"


def read_phrases(column: Sequence[str]) -> list[Phrase]:
    """The phrases of a column by start, longer ones first, as srl-eval.pl reads them. Raises BracketError.

    Of two phrases over the same tokens the inner one is kept.
    """
    phrases: dict[tuple[int, int], Phrase] = {}
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
            phrases.setdefault((start, token), Phrase(start, token, label, tuple(inner)))
            if opened:
                opened[-1][2].append((start, token))
    if opened:
        start, label, _ = opened[-1]
        raise BracketError(start, f"unbalanced brackets: ({label} is not closed before its sentence ends")
    return sorted(phrases.values(), key=lambda phrase: (phrase.start, -phrase.end))


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


@dataclass(frozen=True)
class Sentence:
    """Tokens, and what is needed to write the file again that they came from."""

    tokens: tuple[str, ...]
    number: int  # position in its file or split, from 0, also counting sentences without a predicate
    gap: tuple[int, ...] = ()  # lengths of the sentences without a predicate right before this one
    rest: tuple[int, ...] = ()  # and after it, if it is the last one with a predicate


@dataclass(frozen=True)
class Proposition:
    """One predicate in its sentence and the roles around it; its tags are valid BIO."""

    sentence: Sentence
    predicate: int  # the token
    lemma: str  # its name in a props file
    tags: tuple[str, ...] | None  # None: unknown
    verb: bool | None = field(default=None, compare=False)  # whether the predicate is one; None: its file does not say

    @property
    def group(self) -> Sentence:
        """The predicates of a sentence stay together in a fraction of the training data."""
        return self.sentence

    @property
    def texts(self) -> tuple[tuple[str, ...], ...]:
        return (self.sentence.tokens,)

    @property
    def marks(self) -> dict[str, bool]:
        """For scores of verbs alone."""
        return {} if self.verb is None else {"is_verb": self.verb}

    @property
    def gold(self) -> tuple[str, ...] | None:
        return self.tags


class Layout(NamedTuple):
    """The positions of a row's cells; the brackets are between the first `before` and the last `behind` cells."""

    word: int
    pos: int  # Penn's tag, which begins with VB for verbs
    lemma: int
    sense: int  # of the predicate; - if the word is not one
    before: int
    behind: int


CONLL_2012 = Layout(word=3, pos=4, lemma=6, sense=7, before=11, behind=1)  # begins with "#begin document"
SKELETON = Layout(
    word=3, pos=4, lemma=6, sense=7, before=8, behind=0
)  # PropBank's skeletons (.gold_skel) with their words

HIDDEN = "[WORD]"  # in PropBank's skeletons, in the place of words under a licence
NO_TAG = ("-", "_", "XX")  # the last is OntoNotes' for words without one


def read_blocks(path: Path, *, comments: bool = False) -> Iterator[list[Row]]:
    """The rows of each sentence, all of equal length. Blank lines end a sentence, and with `comments` lines with #.

    Raises UserError, with file and line.
    """
    lines = ((number, cells_of(line)) for number, line in read_lines(path))
    ended = ((number, [] if comments and cells and cells[0].startswith("#") else cells) for number, cells in lines)
    for rows in sentences(ended):
        for number, cells in rows:
            if len(cells) != len(rows[0][1]):
                raise UserError(
                    f"{path}:{number}: {len(cells)} columns, but {len(rows[0][1])} in the sentence's first "
                    "line. Fix this line."
                )
        yield rows


def check_count(path: Path, line: int, *, columns: int, predicates: int) -> None:
    """Raise UserError unless the sentence that begins in this line has a column for each of its predicates."""
    if columns != predicates:
        raise UserError(
            f"{path}:{line}: {columns} columns of brackets for {predicates} predicates in the sentence that begins "
            "here. Add or remove columns."
        )


class Frame(NamedTuple):
    """A predicate and its roles; see `Proposition`."""

    predicate: int
    lemma: str
    tags: tuple[str, ...] | None
    verb: bool | None = None


def propositions(found: Sequence[tuple[tuple[str, ...], list[Frame]]]) -> list[Proposition]:
    """All predicates of the sentences of a file or a split, given as tokens and frames, in their order."""
    examples = []
    kept = [place for place, (_, frames) in enumerate(found) if frames]
    lengths = [len(tokens) for tokens, _ in found]
    for place, before in zip(kept, [-1, *kept], strict=False):
        tokens, frames = found[place]
        rest = lengths[place + 1 :] if place == kept[-1] else []
        sentence = Sentence(tokens, place, gap=tuple(lengths[before + 1 : place]), rest=tuple(rest))
        examples += [Proposition(sentence, *frame) for frame in frames]
    return examples


def read_propositions(*paths: Path) -> list[Proposition]:
    """A proposition for each predicate of these files, as if they were one; see `read_sentences`."""
    return propositions([sentence for path in paths for sentence in read_sentences(path)])


def read_sentences(path: Path) -> list[tuple[tuple[str, ...], list[Frame]]]:
    """The sentences of a file in CoNLL-2012 columns, or of a PropBank skeleton with words, each with its predicates.

    In a file without columns of brackets the tags are None. Of two labels of the same tokens the inner one is kept; a
    note says how many are left out. Raises UserError with file and line.
    """
    check_ended(path)
    layout = _layout(path)
    blocks = list(read_blocks(path, comments=layout is CONLL_2012))
    if not blocks:
        raise UserError(f"{path}: no sentences. Download the file again.")
    shortest = layout.before + layout.behind
    for (number, cells), *_ in blocks:
        if len(cells) < shortest:
            raise UserError(f"{path}:{number}: {len(cells)} columns, expected at least {shortest}. Fix this line.")
    if hidden := next((n for rows in blocks for n, cells in rows if cells[layout.word] == HIDDEN), None):
        raise UserError(
            f"{path}:{hidden}: {HIDDEN} where a word belongs. Put the words in first (see the task's card)."
        )
    told = any(len(cells) > shortest for (_, cells), *_ in blocks)
    predicates = [[token for token, (_, cells) in enumerate(rows) if cells[layout.sense] != "-"] for rows in blocks]
    columns = [
        _tags(path, rows, layout, len(tokens)) if told else [None] * len(tokens)
        for rows, tokens in zip(blocks, predicates, strict=True)
    ]
    if told:
        _note_left_out(path, blocks, columns, layout)
    return [
        (
            tuple(cells[layout.word] for _, cells in rows),
            [_frame(token, rows[token][1], tags, layout) for token, tags in zip(tokens, own, strict=True)],
        )
        for rows, tokens, own in zip(blocks, predicates, columns, strict=True)
    ]


def _frame(token: int, cells: Sequence[str], tags: tuple[str, ...] | None, layout: Layout) -> Frame:
    lemma = cells[layout.word] if cells[layout.lemma] == "-" else cells[layout.lemma]
    return Frame(token, lemma, tags, None if cells[layout.pos] in NO_TAG else cells[layout.pos].startswith("VB"))


def _tags(path: Path, rows: list[Row], layout: Layout, predicates: int) -> Sequence[tuple[str, ...] | None]:
    columns = list(zip(*(cells[layout.before : len(cells) - layout.behind] for _, cells in rows), strict=True))
    if not predicates and len(columns) == 1 and set(columns[0]) == {"*"}:  # allowed in CoNLL-2012
        return []
    check_count(path, rows[0][0], columns=len(columns), predicates=predicates)
    try:
        return [tuple(read_tags(column)) for column in columns]
    except BracketError as error:
        raise UserError(f"{path}:{rows[error.cell][0]}: {error}. Fix this line.") from None


def _note_left_out(path: Path, blocks: list[list[Row]], columns: Sequence[Sequence[Any]], layout: Layout) -> None:
    """Note how many brackets of a file are not in its tags: labels around another label of the same tokens."""
    cells = (cell for rows in blocks for _, row in rows for cell in row[layout.before : len(row) - layout.behind])
    opened = sum(cell.count("(") for cell in cells)
    if left := opened - sum(tag.startswith("B-") for tags in chain.from_iterable(columns) for tag in tags):
        note(f"{left} {INNER}", path)


def _layout(path: Path) -> Layout:
    opened, layout = 0, SKELETON
    for number, line in read_lines(path):
        if line.startswith("#begin document"):
            opened, layout = number, CONLL_2012
        elif line.startswith("#end document"):
            opened = 0
        elif line.strip() and layout is SKELETON:
            return layout
    if opened:
        raise UserError(
            f"{path}:{opened}: this document has no #end document, so the file may be cut off. Download it again."
        )
    return layout
