"""Props files, the format for scoring.

They have a column of predicates (- elsewhere), and a column of brackets for each.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write
from elmo_bench.base.notes import note
from elmo_bench.tasks.srl.brackets import (
    INNER,
    BracketError,
    Phrase,
    read_phrases,
    write_column,
)
from elmo_bench.tasks.srl.columns import Proposition, check_count, read_blocks
from elmo_bench.text.columns import escaped, unescaped


class Prop(NamedTuple):
    """The name of a predicate, and its phrases."""

    name: str
    phrases: list[Phrase]


class PropsSentence(NamedTuple):
    """A sentence of a props file."""

    line: int  # the first one
    length: int  # in tokens
    props: dict[int, Prop]  # by the token of the predicate


def read_props(path: Path) -> Iterator[PropsSentence]:
    """The sentences of a props file, then a note if labels are left out.

    Raises UserError, with file and line.
    """
    left = 0
    for rows in read_blocks(path):
        line = rows[0][0]
        names = [cells[0] for _, cells in rows]
        predicates = [token for token, name in enumerate(names) if name != "-"]
        columns = list(zip(*(cells[1:] for _, cells in rows), strict=True))
        check_count(path, line, columns=len(columns), predicates=len(predicates))
        props = {}
        for token, column in zip(predicates, columns, strict=True):
            try:
                phrases = read_phrases(column)
            except BracketError as error:
                number = rows[error.cell][0]
                raise UserError(f"{path}:{number}: {error}. Fix this line.") from None
            props[token] = Prop(unescaped(names[token]), phrases)
            left += sum(cell.count("(") for cell in column) - len(phrases)
        yield PropsSentence(line, len(rows), props)
    if left:
        note(f"{left} {INNER}", path)


def write_props(
    path: Path, examples: Sequence[Proposition], tags: Sequence[Sequence[str]]
) -> None:
    """Write every sentence of the file or suite that the examples come from.

    tags: BIO tags of each example. The examples must be in the order in which they were
    read. Sentences without a predicate become lines of -.
    """
    with atomic_write(path, "w") as handle:
        for group in _by_sentence(examples, tags):
            sentence = group[0][0].sentence
            names = ["-"] * len(sentence.tokens)
            for example, _ in group:
                names[example.predicate] = escaped(example.lemma, reserved=("-",))
            columns = [write_column(column) for _, column in group]
            handle.writelines("-\n" * length + "\n" for length in sentence.gap)
            for cells in zip(names, *columns, strict=True):
                handle.write("\t".join(cells) + "\n")
            handle.write("\n")
            handle.writelines("-\n" * length + "\n" for length in sentence.rest)


def _by_sentence(
    examples: Sequence[Proposition], tags: Sequence[Sequence[str]]
) -> list[list[tuple[Proposition, Sequence[str]]]]:
    """The examples of each sentence, with their tags."""
    groups: list[list[tuple[Proposition, Sequence[str]]]] = []
    before: Proposition | None = None
    for example, column in zip(examples, tags, strict=True):
        same = before is not None and before.sentence == example.sentence
        if before is None or not same or before.predicate >= example.predicate:
            groups.append([])
        groups[-1].append((example, column))
        before = example
    return groups
