"""Props files, the format for scoring: a column of predicates (- elsewhere), and a column of brackets for each."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write
from elmo_bench.base.notes import note
from elmo_bench.tasks.srl.columns import (
    INNER,
    BracketError,
    Phrase,
    Proposition,
    check_count,
    read_blocks,
    read_phrases,
    write_column,
)
from elmo_bench.text.columns import escaped, unescaped


class Prop(NamedTuple):
    """The name of a predicate, and its phrases."""

    name: str
    phrases: list[Phrase]


class PropsSentence(NamedTuple):
    """Its first line, its number of tokens, and the proposition of each predicate token."""

    line: int
    length: int
    props: dict[int, Prop]


def read_props(path: Path) -> Iterator[PropsSentence]:
    """The sentences of a props file, then a note if labels are left out. Raises UserError, with file and line."""
    left = 0
    for rows in read_blocks(path):
        line = rows[0][0]
        predicates = [token for token, (_, cells) in enumerate(rows) if cells[0] != "-"]
        columns = list(zip(*(cells[1:] for _, cells in rows), strict=True))
        check_count(path, line, columns=len(columns), predicates=len(predicates))
        try:
            props = [
                Prop(unescaped(rows[token][1][0]), read_phrases(c))
                for token, c in zip(predicates, columns, strict=True)
            ]
        except BracketError as error:
            raise UserError(f"{path}:{rows[error.cell][0]}: {error}. Fix this line.") from None
        left += sum(cell.count("(") for column in columns for cell in column) - sum(len(prop.phrases) for prop in props)
        yield PropsSentence(line, len(rows), dict(zip(predicates, props, strict=True)))
    if left:
        note(f"{left} {INNER}", path)


def write_props(path: Path, examples: Sequence[Proposition], tags: Sequence[Sequence[str]]) -> None:
    """Write every sentence of the file or suite that the examples come from, with these BIO tags of each example.

    The examples must be in the order in which they were read. Sentences without a predicate become lines of -.
    """
    with atomic_write(path, "w") as handle:
        for group in _by_sentence(examples, tags):
            sentence = group[0][0].sentence
            names = ["-"] * len(sentence.tokens)
            for example, _ in group:
                names[example.predicate] = escaped(example.lemma, reserved=("-",))
            columns = [write_column(column) for _, column in group]
            handle.writelines("-\n" * length + "\n" for length in sentence.gap)
            handle.writelines("\t".join(cells) + "\n" for cells in zip(names, *columns, strict=True))
            handle.write("\n")
            handle.writelines("-\n" * length + "\n" for length in sentence.rest)


def _by_sentence(
    examples: Sequence[Proposition], tags: Sequence[Sequence[str]]
) -> list[list[tuple[Proposition, Sequence[str]]]]:
    groups: list[list[tuple[Proposition, Sequence[str]]]] = []
    for pair in zip(examples, tags, strict=True):
        example, before = pair[0], groups[-1][-1][0] if groups else None
        if before and before.sentence == example.sentence and before.predicate < example.predicate:
            groups[-1].append(pair)
        else:
            groups.append([pair])
    return groups
