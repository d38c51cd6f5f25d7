"""What is checked of the user's data: labels, lists in cells, gold. Imports no torch.

What matters for the scores is noted.
"""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, islice
from math import isnan
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import note

# A list in a cell, as Python, pandas and NumPy print it.
_PRINTED = re.compile(
    r"""\s*(array\()?\[(\s*['"].*['"]\s*|[-+\d.,\s]*+)\]\)?\s*""", re.DOTALL
)
_WHOLE_NUMBER = re.compile(r"[-+]?\d+(\.0+)?")
MOST_LABELS = 1000  # of a column
SHOWN = 12  # labels of a note
LOOKED_AT = 10_000  # rows, for lists in cells
GOLD = "gold"  # columns of a file of predictions
PREDICTED = "predicted"
Splits = Mapping[str, Sequence[Any]]
LabelsOf = Callable[[Any], Sequence[str]]  # of an example


def check_number_of_labels(
    splits: Splits, labels_of: LabelsOf, column: str, part: str
) -> None:
    """Raise UserError for too many labels, and for a single one.

    column: the labels' name in the file. part: the option that chooses the column.
    """
    labels = {*chain.from_iterable(_counts(splits, labels_of).values())}
    if len(labels) > MOST_LABELS:
        raise UserError(
            f"{column}: {len(labels):,} different values, of which at most "
            f"{MOST_LABELS:,} can be labels. "
            f"Name another column: data.{part}=COLUMN"
        )
    values: set[str] = set()
    for example in chain.from_iterable(splits.values()):
        values.update(getattr(example, "tags", (example.gold,)))
    if len(values) < 2:
        only = min(labels, default="O")
        raise UserError(
            f"{column}: the only label is {only}, so nothing can be learned."
        )


def note_labels(
    splits: Splits, labels_of: LabelsOf, *, chance: bool, merge: str
) -> None:
    """Note the labels with their counts, those that may be one, and rare ones.

    chance: note how often the most frequent label is right in test. merge: what to do
    about labels that may be one.
    """
    of_split = _counts(splits, labels_of)
    labels = sum(of_split.values(), Counter[str]())
    top = labels.most_common(SHOWN)
    listed = ", ".join(f"{label:.40} ({count:,})" for label, count in top)
    if len(labels) > SHOWN:
        listed += f" and {len(labels) - SHOWN:,} more"
    if chance:
        listed += f"; {_most_frequent(of_split['test'])}"
    count = "1 label" if len(labels) == 1 else f"{len(labels):,} labels"
    note(f"{count}: {listed}")
    note_alike(labels, merge)
    once = sorted(label for label, count in labels.items() if count == 1)
    if once:
        what = "labels that occur once, which no head can both learn and show"
        note(f"{what}: {len(once):,} ({_first(once)})")


def note_alike(labels: Iterable[str], advice: str, where: Path | None = None) -> None:
    """Note the distinct labels that may be one. where: the file that has them."""
    alike = _alike(labels)
    if alike:
        which = "; ".join(" and ".join(map(repr, same)) for same in alike[:SHOWN])
        what = "labels that only case, white space or the form of a number distinguish"
        note(f"{what}: {which}. {advice}", where)


def note_replaced(
    rows: Iterable[Mapping[str, Any]], written: Iterable[Mapping[str, Any]], path: Path
) -> None:
    """Note the columns of a user's rows whose cells predictions replace.

    written: the same rows as they are written to `path`.
    """
    replaced = set()
    for row, new in zip(rows, written, strict=True):
        for name in {GOLD, PREDICTED} & row.keys():
            if _spelled(row[name]) != _spelled(new[name]):
                replaced.add(name)
    for name in sorted(replaced):
        why = "since predictions have this name. Rename it in the input to keep it"
        note(f"the column {name} of the input is replaced, {why}", path)


def _spelled(cell: Any) -> str:
    """A cell as text: a list of tags as in a table without lists."""
    if is_missing(cell):
        return ""
    return " ".join(map(str, cell)) if isinstance(cell, list) else str(cell).strip()


def note_contradictions(splits: Splits, unit: str) -> None:
    """Note texts that have several labels. unit: what an example is called."""
    for split, examples in splits.items():
        golds = defaultdict(set)
        for example in examples:
            golds[example.texts].add(example.gold)
        count = sum(len(golds[example.texts]) > 1 for example in examples)
        if count:
            which = f"{count:,} of {len(examples):,} {unit}"
            why = "so no head can be right about all of them"
            note(f"{split}: {which} occur with other labels too, {why}")


def _counts(splits: Splits, labels_of: LabelsOf) -> dict[str, Counter[str]]:
    """How often each label occurs in each split."""
    counts: dict[str, Counter[str]] = {}
    for split, examples in splits.items():
        labels = chain.from_iterable(labels_of(example) for example in examples)
        counts[split] = Counter(labels)
    return counts


def _most_frequent(test: Counter[str]) -> str:
    """How often the most frequent label of test is right there."""
    [(top, count)] = test.most_common(1) or [("", 0)]
    share = 100 * count / (test.total() or 1)
    return f"always {top:.40} is right for {share:.2f} % of test"


def _alike(labels: Iterable[str]) -> list[list[str]]:
    """The labels that only case, white space or the form of a number distinguish."""
    groups = defaultdict(list)
    for label in sorted(labels):
        groups[folded(label)].append(f"{label:.40}")
    return [group for group in groups.values() if len(group) > 1]


def folded(label: str) -> str:
    """A label in lower case, with single spaces, and `1` for `01`, `+1` and `1.0`."""
    spelt = " ".join(unicodedata.normalize("NFKC", label).casefold().split())
    if _WHOLE_NUMBER.fullmatch(spelt):
        digits = spelt.lstrip("-+").partition(".")[0].lstrip("0")
        sign = "-" if spelt.startswith("-") and digits else ""
        return f"{sign}{digits or '0'}"
    return spelt


def _first(names: Sequence[str]) -> str:
    """The first names of a list, for a note."""
    more = " …" if len(names) > 5 else ""
    return f"{', '.join(names[:5])}{more}"


def is_missing(cell: Any) -> bool:
    """Whether a cell has no label: nothing, white space, or NaN, as pandas writes."""
    if isinstance(cell, str):
        return not cell.strip()
    if isinstance(cell, float):
        return isnan(cell)
    return cell is None or cell == []


def scored_rows(
    rows: Sequence[Mapping[str, Any]], path: Path
) -> list[Mapping[str, Any]]:
    """The rows of a file of predictions that have gold and a prediction.

    The others are left out, with a note. Raises UserError if no row has both.
    """
    for name in (GOLD, PREDICTED):
        lacking = [number for number, row in enumerate(rows, 1) if name not in row]
        if lacking:
            raise UserError(
                f"{path}, row {lacking[0]}: no {name}. "
                "`predict` writes files that have both columns."
            )
    with_gold = [row for row in rows if not is_missing(row[GOLD])]
    if not with_gold:
        raise UserError(
            f"{path}: no row has a gold label. "
            f"Fill in the column {GOLD}; of a column file, the last but one."
        )
    scored = [row for row in with_gold if not is_missing(row[PREDICTED])]
    if not scored:
        raise UserError(f"{path}: no row has a prediction. Predict the file again.")
    lacking_counts = {
        "gold label": len(rows) - len(with_gold),
        "prediction": len(with_gold) - len(scored),
    }
    for what, count in lacking_counts.items():
        if count:
            which = f"{count:,} of {len(rows):,} rows have no {what}"
            note(f"{which} and are left out; {len(scored):,} are scored", path)
    return scored


def check_lists(rows: Sequence[Mapping[str, Any]], names: Iterable[str]) -> None:
    """Raise UserError for a column whose cells are all lists as a program prints them.

    They are not read as lists.
    """
    for name in names:
        cells = islice((row.get(name) for row in rows), LOOKED_AT)
        texts = [cell for cell in cells if cell not in (None, "")]
        if texts and all(_is_printed(cell) for cell in texts):
            example = texts[0].strip()
            how = "Write words and spaces, or JSON lines"
            raise UserError(
                f"{name} is a list in one cell, such as {example:.40}. {how}."
            )


def _is_printed(cell: Any) -> bool:
    return isinstance(cell, str) and _PRINTED.fullmatch(cell) is not None
