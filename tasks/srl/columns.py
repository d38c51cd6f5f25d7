"""Column files whose number of columns changes from sentence to sentence."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import read_lines
from elmo_bench.base.notes import note
from elmo_bench.tasks.srl.brackets import INNER, BracketError, read_tags
from elmo_bench.text.columns import Row, cells_of, check_ended, sentences

Tokens = tuple[str, ...]
Tags = tuple[str, ...]  # BIO


@dataclass(frozen=True)
class Sentence:
    """Tokens, and what is needed to write the file again that they came from."""

    tokens: Tokens
    # Position in its file or split, from 0; sentences without a predicate count, too.
    number: int
    # Lengths of the sentences without a predicate right before this one.
    gap: tuple[int, ...] = ()
    rest: tuple[int, ...] = ()  # and after it, if it is the last one with a predicate


@dataclass(frozen=True)
class Proposition:
    """One predicate in its sentence and the roles around it; its tags are valid BIO."""

    sentence: Sentence
    predicate: int  # the token
    lemma: str  # its name in a props file
    tags: Tags | None  # None: unknown
    # Whether the predicate is a verb; None: its file does not say.
    verb: bool | None = field(default=None, compare=False)

    @property
    def group(self) -> Sentence:
        """The predicates of a sentence stay together in a fraction of the data."""
        return self.sentence

    @property
    def texts(self) -> tuple[Tokens, ...]:
        return (self.sentence.tokens,)

    @property
    def marks(self) -> dict[str, bool]:
        """For scores of verbs alone."""
        return {} if self.verb is None else {"is_verb": self.verb}

    @property
    def gold(self) -> Tags | None:
        return self.tags


class Layout(NamedTuple):
    """The positions of a row's cells.

    The brackets are between the first `before` and the last `behind` cells.
    """

    word: int
    pos: int  # Penn's tag, which begins with VB for verbs
    lemma: int
    sense: int  # of the predicate; - if the word is not one
    before: int
    behind: int


# Begins with "#begin document".
CONLL_2012 = Layout(word=3, pos=4, lemma=6, sense=7, before=11, behind=1)
# PropBank's skeletons (.gold_skel) with their words.
SKELETON = Layout(word=3, pos=4, lemma=6, sense=7, before=8, behind=0)

AS_SKELETON = (
    " (read as a PropBank skeleton, since the file does not begin with #begin document)"
)

HIDDEN = "[WORD]"  # in PropBank's skeletons, in the place of words under a licence
NO_TAG = ("-", "_", "XX")  # the last is OntoNotes' for words without one


def read_blocks(path: Path, *, comments: bool = False) -> Iterator[list[Row]]:
    """The rows of each sentence, all of equal length.

    Blank lines end a sentence, and with `comments` lines with #. Raises UserError, with
    file and line.
    """
    for rows in sentences(_rows(path, comments=comments)):
        columns = len(rows[0][1])
        for number, cells in rows:
            if len(cells) != columns:
                raise UserError(
                    f"{path}:{number}: {len(cells)} columns, but {columns} in the "
                    "sentence's first line. Fix this line."
                )
        yield rows


def _rows(path: Path, *, comments: bool) -> Iterator[Row]:
    """The rows of a file; what ends a sentence has no cells."""
    for number, line in read_lines(path):
        cells = cells_of(line)
        if comments and cells and cells[0].startswith("#"):
            cells = []
        yield number, cells


def check_count(
    path: Path, line: int, *, columns: int, predicates: int, form: str = ""
) -> None:
    """Raise UserError unless a sentence has a column for each of its predicates.

    The sentence begins in this line; `form` is how the file was read.
    """
    if columns != predicates:
        raise UserError(
            f"{path}:{line}: {columns} columns of brackets for {predicates} predicates "
            f"in the sentence that begins here{form}. Add or remove columns."
        )


class Frame(NamedTuple):
    """A predicate and its roles; see `Proposition`."""

    predicate: int
    lemma: str
    tags: Tags | None
    verb: bool | None = None


Framed = tuple[Tokens, list[Frame]]  # a sentence and its predicates


def propositions(framed: Sequence[Framed]) -> list[Proposition]:
    """All predicates of the sentences of a file or a split, in their order."""
    examples = []
    places = [place for place, (_, frames) in enumerate(framed) if frames]
    lengths = [len(tokens) for tokens, _ in framed]
    for place, before in zip(places, [-1, *places], strict=False):
        tokens, frames = framed[place]
        gap = tuple(lengths[before + 1 : place])
        rest = tuple(lengths[place + 1 :]) if place == places[-1] else ()
        sentence = Sentence(tokens, place, gap=gap, rest=rest)
        examples += [Proposition(sentence, *frame) for frame in frames]
    return examples


def read_propositions(*paths: Path) -> list[Proposition]:
    """A proposition for each predicate of these files, as if they were one.

    See `read_sentences`.
    """
    return propositions(list(chain.from_iterable(map(read_sentences, paths))))


def read_sentences(path: Path) -> list[Framed]:
    """The sentences of a file in CoNLL-2012 columns, or of a PropBank skeleton.

    The skeleton must have its words. In a file without columns of brackets the tags are
    None. Of two labels of the same tokens the inner one is kept; a note says how many
    are left out. Raises UserError with file and line.
    """
    check_ended(path)
    layout = _layout(path)
    blocks = list(read_blocks(path, comments=layout is CONLL_2012))
    if not blocks:
        raise UserError(f"{path}: no sentences. Download the file again.")
    form = AS_SKELETON if layout is SKELETON else ""
    shortest = layout.before + layout.behind
    firsts = [rows[0] for rows in blocks]
    for number, cells in firsts:
        if len(cells) < shortest:
            raise UserError(
                f"{path}:{number}: {len(cells)} columns, expected at least "
                f"{shortest}{form}. Fix this line."
            )
    for number, cells in chain.from_iterable(blocks):
        if cells[layout.word] == HIDDEN:
            raise UserError(
                f"{path}:{number}: {HIDDEN} where a word belongs. "
                "Put the words in first (see the task's card)."
            )
    has_brackets = any(len(cells) > shortest for _, cells in firsts)
    framed = []
    opened = tagged = 0
    for rows in blocks:
        frames = _frames(path, rows, layout, has_brackets=has_brackets)
        framed.append((tuple(cells[layout.word] for _, cells in rows), frames))
        opened += sum(_opened(cells, layout) for _, cells in rows)
        tagged += sum(_begun(frame.tags or ()) for frame in frames)
    left_out = opened - tagged
    if left_out:  # labels around another label of the same tokens
        note(f"{left_out} {INNER}", path)
    return framed


def _opened(cells: Sequence[str], layout: Layout) -> int:
    """The brackets that open in a row."""
    brackets = cells[layout.before : len(cells) - layout.behind]
    return sum(cell.count("(") for cell in brackets)


def _begun(tags: Sequence[str]) -> int:
    return sum(tag.startswith("B-") for tag in tags)


def _frames(
    path: Path, rows: list[Row], layout: Layout, *, has_brackets: bool
) -> list[Frame]:
    """The predicates of a sentence; without brackets their tags are None."""
    predicates = [
        token for token, (_, cells) in enumerate(rows) if cells[layout.sense] != "-"
    ]
    tags: Sequence[Tags | None] = [None] * len(predicates)
    if has_brackets:
        tags = _tags(path, rows, layout, len(predicates))
    frames = []
    for token, roles in zip(predicates, tags, strict=True):
        _, cells = rows[token]
        lemma = cells[layout.lemma]
        if lemma == "-":
            lemma = cells[layout.word]
        pos = cells[layout.pos]
        is_verb = None if pos in NO_TAG else pos.startswith("VB")
        frames.append(Frame(token, lemma, roles, is_verb))
    return frames


def _tags(path: Path, rows: list[Row], layout: Layout, predicates: int) -> list[Tags]:
    """The tags of each predicate of a sentence. Raises UserError."""
    brackets = [cells[layout.before : len(cells) - layout.behind] for _, cells in rows]
    columns = list(zip(*brackets, strict=True))
    if not predicates and len(columns) == 1 and set(columns[0]) == {"*"}:
        return []  # allowed in CoNLL-2012
    check_count(
        path,
        rows[0][0],
        columns=len(columns),
        predicates=predicates,
        form=AS_SKELETON if layout is SKELETON else "",
    )
    try:
        return [tuple(read_tags(column)) for column in columns]
    except BracketError as error:
        number = rows[error.cell][0]
        raise UserError(f"{path}:{number}: {error}. Fix this line.") from None


def _layout(path: Path) -> Layout:
    """The layout of a file. Raises UserError."""
    opened = 0
    layout = SKELETON
    for number, line in read_lines(path):
        if line.startswith("#begin document"):
            opened = number
            layout = CONLL_2012
        elif line.startswith("#end document"):
            opened = 0
        elif line.strip() and layout is SKELETON:
            return layout
    if opened:
        raise UserError(
            f"{path}:{opened}: this document has no #end document, "
            "so the file may be cut off. Download it again."
        )
    return layout
