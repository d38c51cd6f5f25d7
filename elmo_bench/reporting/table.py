"""A table before it is markdown, CSV, LaTeX or HTML: cells that know their values and their run."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from elmo_bench.reporting.gains import Gain
from elmo_bench.reporting.rows import BASELINE, Row
from elmo_bench.reporting.statistics import Summary
from elmo_bench.spec.experiments import Printed

Value = float | int | str | None


@dataclass(frozen=True)
class Cell:
    """What people see, what programs read, and what it links to."""

    text: str
    values: tuple[Value, ...] = ()  # one for each of the column's parts
    run: str = ""  # anchor of the row that the cell describes
    seeds: tuple[int, ...] = ()  # of the records of `run`, if each gets a link
    hint: str = ""  # what a sign in `text` means, or more detail

    @property
    def order(self) -> Value:
        """The key for sorting."""
        return self.values[0] if self.values and self.values[0] is not None else ""


@dataclass(frozen=True)
class Column:
    """A heading. In a CSV file it becomes one column for each part, named by the heading and the part."""

    name: str
    parts: tuple[str, ...] = ("",)
    words: bool = False  # aligned left; numbers are aligned right


@dataclass(frozen=True)
class Table:
    """Rows of cells; `stem` names its files."""

    stem: str
    title: str
    columns: list[Column]
    rows: list[list[Cell]]
    tasks: list[str]  # one for each row
    notes: list[str] = field(default_factory=list)


SPREAD = ("mean", "sd", "n")
SCORE = (*SPREAD, "low", "high")
JUDGED = (*SPREAD, "verdict")


def words(text: str, *, run: str = "", hint: str = "") -> Cell:
    return Cell(text, (text,), run, hint=hint)


def number(value: float | None, form: str = ".2f", *, run: str = "", suffix: str = "") -> Cell:
    """An empty cell for None."""
    return Cell("" if value is None else f"{value:{form}}{suffix}".replace("-", "−"), (value,), run)


def spread(summary: Summary, *, run: str = "", mark: str = "", hint: str = "", sign: bool = False) -> Cell:
    """Mean ± sd, for a column with parts SPREAD, or JUDGED by its hint; `sign`: + before a positive mean."""
    shown = ("+" if sign and summary.mean >= 0 else "") + str(summary) + (f" {mark}" if mark else "")
    judged = (hint,) if hint else ()
    return Cell(shown.replace("-", "−"), (summary.mean, summary.sd, summary.n, *judged), run, hint=hint)


def score(summary: Summary, *, run: str) -> Cell:
    """Mean ± sd, for a column with parts SCORE; the 95 % interval over seeds is in the values and the hint."""
    shown, bounds = spread(summary, run=run), summary.interval
    hint = f"95 % over seeds: {bounds[0]:.2f} … {bounds[1]:.2f}" if bounds else ""
    return replace(shown, values=(*shown.values, *(bounds or (None, None))), hint=hint)


def scores(row: Row) -> list[Cell]:
    """Dev and test score and the seeds of a row, under `score_columns`."""
    return [*(score(row.summary(split), run=row.anchor) for split in ("dev", "test")), seeds(row.seeds, row.anchor)]


def score_columns(metric: str) -> list[Column]:
    return [Column(f"dev {metric}", SCORE), Column(f"test {metric}", SCORE), Column("seeds")]


def printed(figure: Printed | None) -> Cell:
    """A figure of the paper, for a column with parts mean and sd."""
    return Cell(str(figure), (figure.mean, figure.sd)) if figure else Cell("")


def seeds(found: Sequence[int], run: str) -> Cell:
    """How many seeds, and which; the value is which."""
    listed = ", ".join(map(str, found))
    return Cell(f"{len(found)} ({listed})", (listed,), run, tuple(found))


def gain_columns(over: str = BASELINE, *, test: bool = False) -> list[Column]:
    """Headings of `gain_cells`."""
    found = [
        Column(f"gain over {over}", SPREAD),
        Column("95 % over seeds", ("low", "high")),
        Column("fewer errors"),
        Column("p (Holm)"),
        Column("verdict", words=True),
    ]
    return [*found, *([Column("p"), Column("items"), Column("test", words=True)] if test else [])]


def gain_cells(gain: Gain | None, *, test: bool = False) -> list[Cell]:
    """Gain, interval, relative error reduction, adjusted p and verdict; then p before the adjustment and the test."""
    if gain is None:
        return [Cell("")] * len(gain_columns(test=test))
    found, run, verdict = gain.test, gain.ours.anchor, gain.verdict or "not tested"
    cells = [
        spread(gain.summary, run=run, sign=True),
        _between(gain.summary.interval, run=run),
        number(gain.reduction, ".1f", run=run, suffix=" %"),
        _p_value(gain.p_holm, run=run),
        Cell(f"{gain.mark} {verdict}".strip(), (verdict,), run),
    ]
    if not test:
        return cells
    if not found:
        return [*cells, Cell(""), Cell(""), words("none")]
    return [*cells, _p_value(found.p, run=run), number(found.items, ",", run=run), words(found.name)]


def untested(gains: Iterable[Gain]) -> list[str]:
    """Why comparisons have no p, each reason once."""
    return [f"Not tested: {reason}." for reason in dict.fromkeys(g.untested for g in gains if g.untested)]


def without_empty(columns: Sequence[Column], rows: Iterable[Sequence[Cell]]) -> tuple[list[Column], list[list[Cell]]]:
    """Columns and rows without the columns in which every cell is empty."""
    rows = [list(row) for row in rows]
    kept = [index for index in range(len(columns)) if any(row[index].text for row in rows)]
    return [columns[index] for index in kept], [[row[index] for index in kept] for row in rows]


def _between(bounds: tuple[float, float] | None, *, run: str) -> Cell:
    """An interval, for a column with parts low and high."""
    if bounds is None:
        return Cell("")
    return Cell(" … ".join(f"{bound:+.2f}".replace("-", "−") for bound in bounds), bounds, run)


def _p_value(p: float | None, *, run: str) -> Cell:
    """Three decimals, or that it is smaller."""
    return Cell("" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}", (p,), run)
