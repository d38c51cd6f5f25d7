"""Texts in memory as rows of own data, and the columns that predictions add to rows."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import note
from elmo_bench.text.own_checks import note_replaced
from elmo_bench.text.tables import Row, write_table

PROBABILITY = "probability"  # begins the names of columns, followed by the label
DIGITS = 6  # of a probability
NO_TUPLE = (str, Mapping, set, frozenset)  # a set has no order


def list_of(texts: Any) -> list[Any]:
    """The texts of a program, from a list, a column of a table, or an iterator.

    Raises UserError for a single text, and for a table, a mapping or a set.
    """
    what = ""
    if isinstance(texts, str):
        what = "a single text"
    elif isinstance(texts, Mapping | set | frozenset) or hasattr(texts, "columns"):
        what = f"a {type(texts).__name__}"
    elif not isinstance(texts, Iterable):
        what = f"{texts!r:.60}"
    if what:
        raise UserError(
            f"a list of texts is wanted, and this is {what}. Give a list, such as "
            'list(frame["text"]), or of pairs list(zip(frame["a"], frame["b"])).'
        )
    return list(texts)


def rows_of_texts(texts: Any, parts: Sequence[str]) -> list[Row]:
    """A row for each text or, where a row has several parts, for each tuple of texts.

    A text is a string, or a list of tokens. Raises UserError.
    """
    rows: list[Row] = []
    for number, text in enumerate(list_of(texts), 1):
        cells = [text] if len(parts) == 1 else text
        is_tuple = isinstance(cells, Collection) and not isinstance(cells, NO_TUPLE)
        if not is_tuple or len(cells) != len(parts):
            wanted = f"({', '.join(parts)})"
            raise UserError(f"text {number}: not a tuple {wanted}. Give one.")
        rows.append(dict(zip(parts, map(_cell, cells), strict=True)))
    return rows


def write_predicted(
    path: Path, examples: Sequence[Any], rows: Sequence[Row], *, like: Path | None
) -> None:
    """Write the rows of some examples with their predictions, as `write_table` does.

    Columns of the user that predictions replace are noted.
    """
    note_replaced([example.row for example in examples], rows, path)
    write_table(path, rows, like=like)


def _cell(text: Any) -> Any:
    if type(text).__name__ == "NAType":  # pandas.NA; pandas is not imported for it
        return None
    return list(text) if isinstance(text, tuple) else text


def with_probabilities(
    examples: Sequence[Any],
    probabilities: Sequence[Mapping[str, float] | Sequence[Mapping[str, float]] | None],
) -> list[Any]:
    """The examples, whose rows have a column for each label.

    Columns of the user that have such a name are replaced, with a note.

    probabilities: the probabilities for each example, or a list of them for each of its
    tokens, which is a list in its cells; None for one without text.
    """
    labels: dict[str, None] = {}
    for shares in probabilities:
        first = shares[0] if isinstance(shares, Sequence) else shares
        labels |= dict.fromkeys(first or ())
    changed = []
    replaced: dict[str, None] = {}
    for example, shares in zip(examples, probabilities, strict=True):
        cells: dict[str, Any] = {}
        for label in labels:
            name = f"{PROBABILITY} {label}"
            cells[name] = _cell_of(shares, label)
            if name in example.row:
                replaced[name] = None
        changed.append(replace(example, row=example.row | cells))
    for name in replaced:
        why = "since probabilities have this name. Rename it in the input to keep it"
        note(f"the column {name:.60} of the input is replaced, {why}")
    return changed


def _cell_of(shares: Any, label: str) -> Any:
    if shares is None:
        return None
    if isinstance(shares, Mapping):
        return round(shares[label], DIGITS)
    return [round(token[label], DIGITS) for token in shares]
