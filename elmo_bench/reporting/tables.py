"""Tables: a frame, formats that say how people and programs read its columns, and
notes; and the list of layouts.

A layout is a function of an experiment's systems and comparisons, in a module of
`layouts/`:

    @table("variants", select=select, pairs=pairs, split="dev")
    def variants(systems, comparisons, experiment) -> list[Table]: ...

Both are named `variants`, which `layout` in the yaml of an experiment says, and
`spec.variants.LAYOUTS` lists.
"""

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import compress, product
from math import isnan
from typing import Any

import pandas as pd

from elmo_bench.reporting.names import (
    DAGGER,
    NOT_CHECKED,
    NOT_CONVERGED,
    SEEN,
    TRAINED_ON_THE_TASK,
    UNCHECKED,
    is_checked,
    why_dagger,
)
from elmo_bench.reporting.pairs import pairs_of
from elmo_bench.reporting.rows import lines_of
from elmo_bench.spec.experiments import Experiment

EXPLORATORY = "Exploratory: its verdicts suggest what to test, and are no test of it."
# The part of a column that says of which gains an encoder has seen the task; files
# have it only where one has.
SEEN_PART = "seen"
Line = Mapping[str, Any]  # a row of a table's frame, by column


@dataclass(frozen=True)
class Format:
    """How a column of a table is read from the frame; names are columns of the frame,
    an empty one means none.
    """

    heading: str
    text: Callable[[Line], str]  # what people read; empty for an empty cell
    # What programs read: {part of the heading: column}; a part without a name is "".
    parts: Mapping[str, str]
    link: str = "anchor"  # the address of the run that a cell describes
    seeds: str = ""  # the seeds of this run, if each gets a link
    hint: str = ""  # what a sign in the text means, or more detail
    verdict: str = ""  # ahead, behind, tie or empty, by which a page colours the cell
    note: str = ""  # a sentence below the table

    def values(self, line: Line) -> dict[str, Any]:
        """What programs read of a cell, by part; None where it is missing."""
        return {part: present(line.get(column)) for part, column in self.parts.items()}

    def order(self, line: Line) -> Any:
        """The key by which a page sorts the column: the first value that is not
        missing, or an empty text.
        """
        values = [value for value in self.values(line).values() if value is not None]
        return values[0] if values else ""

    def get(self, line: Line, attribute: str) -> Any:
        """The value of the column that `link`, `seeds`, `hint`, `verdict` or `note`
        names; empty without one.
        """
        value = present(line.get(getattr(self, attribute)))
        return "" if value is None else value


@dataclass(frozen=True)
class Table:
    """Rows of a frame with their formats. `stem` names its files."""

    stem: str
    title: str
    frame: pd.DataFrame
    formats: list[Format]
    notes: list[str] = field(default_factory=list)
    # Rows that a page shows at once; it shows the others on request, and files have
    # them all.
    most: int | None = None
    kind: str = "more run"  # what one of the others is
    # What the files have in its place, if a page has rows that programs would misread.
    in_files: "Table | None" = None

    @property
    def columns(self) -> list[str]:
        """The headings."""
        return [column.heading for column in self.formats]

    @cached_property
    def lines(self) -> list[dict[str, Any]]:
        """The rows of the frame."""
        return lines_of(self.frame)

    @property
    def shown(self) -> list[dict[str, Any]]:
        """The lines that a page shows at once."""
        return self.lines[: self.most]

    @property
    def folded(self) -> int:
        """How many lines are shown on request alone."""
        return len(self.lines) - len(self.shown)

    def texts(self, lines: Sequence[Line] | None = None) -> list[list[str]]:
        """What people read, by line; of all lines, unless some are given."""
        chosen = self.lines if lines is None else lines
        return [[column.text(line) for column in self.formats] for line in chosen]

    @cached_property
    def words(self) -> list[bool]:
        """Whether a column has words, which are aligned left; numbers are aligned
        right.
        """
        return [self._has_words(column) for column in self.formats]

    def _has_words(self, column: Format) -> bool:
        keys = [column.order(line) for line in self.lines]
        filled = [key for key in keys if key != ""]
        return bool(filled) and isinstance(filled[0], str) and not column.seeds

    def anchors(self, lines: Sequence[Line]) -> set[str]:
        """The addresses of the runs that the cells of these lines describe."""
        cells = product(self.formats, lines)
        return {column.get(line, "link") for column, line in cells} - {""}


def present(value: Any) -> Any:
    """The value; None if it is missing."""
    missing = (
        value is None or value is pd.NA or (isinstance(value, float) and isnan(value))
    )
    return None if missing else value


def make_table(
    stem: str,
    title: str,
    frame: pd.DataFrame,
    formats: Sequence[Format],
    *,
    notes: Sequence[str] = (),
    most: int | None = None,
    kind: str = "more run",
) -> Table:
    """A table without its empty columns. A column `scores` says which rows are not
    checked.

    Below `notes` come the notes on daggers, on encoders that have seen a task and on
    what is not checked, and the notes of its columns.
    """
    unchecked = ~checked_rows(frame)
    formats = list(formats)
    if unchecked.any():
        frame = frame.assign(
            scores_checked=unchecked.map({True: NOT_CHECKED, False: ""})
        )
        formats.append(
            Format("scores", _scores_checked, {"": "scores_checked"}, link="")
        )
    table = Table(stem, title, frame, formats, most=most, kind=kind)
    texts = table.texts()
    is_filled = [any(cells) for cells in zip(*texts, strict=True)]
    filled = list(compress(formats, is_filled))
    table.formats[:] = filled
    below = list(notes)
    if any(DAGGER in "".join(cells) for cells in texts):
        has_marks = {"mark", "fraction"} <= set(frame)
        below.append(why_dagger(frame) if has_marks else NOT_CONVERGED)
    if any(SEEN in "".join(cells) for cells in texts):
        below.append(TRAINED_ON_THE_TASK)
    if any(NOT_CHECKED in "".join(cells) for cells in texts):
        below.append(UNCHECKED)
    for line in table.lines:
        for column in filled:
            note = column.get(line, "note")
            if note and note not in below:
                below.append(note)
    table.notes.extend(below)
    return table


def checked_rows(frame: pd.DataFrame) -> pd.Series:
    """Whether the task of each row is installed; true of rows without a task."""
    if "task" not in frame:
        return pd.Series(True, frame.index, dtype=bool)
    checked = {task: is_checked(task) for task in set(frame.task.dropna())}
    return pd.Series(
        [checked.get(task, True) for task in frame.task], frame.index, dtype=bool
    )


def _scores_checked(line: Line) -> str:
    return line["scores_checked"]


def wide(
    frame: pd.DataFrame, by: str, name: str, values: Sequence[str]
) -> pd.DataFrame:
    """A row for each value of `by`: from each row of the frame, `values` in columns
    that begin with its `name`.

    The columns of `values` are named as in `elmo test_mean`; all others are as in the
    first of the rows.
    """
    rows: dict[str, dict[str, Any]] = {}
    for line in lines_of(frame):
        first = {key: value for key, value in line.items() if key not in values}
        row = rows.setdefault(line[by], first)
        for value in values:
            row[f"{line[name]} {value}"] = line[value]
    return pd.DataFrame(list(rows.values()), dtype=object)


def with_gains(systems: pd.DataFrame, comparisons: pd.DataFrame) -> pd.DataFrame:
    """The systems with the columns of the comparison in which each is ours; missing
    where there is none.

    Adds `untested_note`, a sentence, and `our_count` and `their_count`, the numbers of
    seeds where they differ, or where a test left out some of a system's `n`.
    """
    counts = comparisons[["n_ours", "n_theirs"]].astype(
        "Int64"
    )  # whole numbers, also where some are missing
    differ = counts.n_ours != counts.n_theirs
    if "n" in systems:
        seeds = systems.set_index("hash").n
        for arm in ("ours", "theirs"):
            count = counts[f"n_{arm}"]
            differ |= count != comparisons[arm].map(seeds).fillna(count)
    notes = [f"Not tested: {why}." if why else "" for why in comparisons.untested]
    table = comparisons.assign(
        n_ours=counts.n_ours,
        n_theirs=counts.n_theirs,
        our_count=counts.n_ours.where(differ),
        their_count=counts.n_theirs.where(differ),
        untested_note=pd.Series(notes, comparisons.index, object),
    )
    new = [name for name in table if name not in systems]
    return systems.merge(table[new], how="left", left_on="hash", right_on="ours")


Select = Callable[[pd.DataFrame, Experiment], pd.DataFrame]
MakeTables = Callable[[pd.DataFrame, pd.DataFrame, Experiment], list[Table]]


@dataclass(frozen=True)
class Layout:
    """How the systems of one suite become the tables of an experiment.

    All of its systems have the experiment's newest training protocol.
    """

    # of all systems those that the tables show, in order, with more columns
    select: Select
    pairs: Select  # of these, what is tested
    split: str  # on which: dev or test
    tables: MakeTables  # from the systems and their comparisons


_LAYOUTS: dict[str, Layout] = {}


def no_pairs(systems: pd.DataFrame, experiment: Experiment) -> pd.DataFrame:
    """Of a layout without tests."""
    return pairs_of([])


def table(
    name: str, *, select: Select, pairs: Select = no_pairs, split: str = "test"
) -> Callable[[MakeTables], MakeTables]:
    """Make a function the layout of this name. See `Layout` for the arguments."""

    def register(function: MakeTables) -> MakeTables:
        _LAYOUTS[name] = Layout(select, pairs, split, function)
        return function

    return register


def layout_of(experiment: Experiment) -> Layout:
    """The layout that an experiment names, one of `LAYOUTS`."""
    importlib.import_module(f"elmo_bench.reporting.layouts.{experiment.layout}")
    return _LAYOUTS[experiment.layout]
