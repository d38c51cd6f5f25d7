"""A table before it is markdown, CSV, LaTeX or HTML: cells that know their values and their run."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from elmo_bench.reporting.gains import Gain
from elmo_bench.reporting.rows import BASELINE, Row
from elmo_bench.reporting.statistics import Summary
from elmo_bench.reporting.tasks import paper_heading
from elmo_bench.spec.experiments import PaperFigures

Value = float | int | str | None


@dataclass(frozen=True, slots=True)
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
    folded: frozenset[int] = frozenset()  # rows that a page shows on request alone; files have them all

    @property
    def shown(self) -> list[list[Cell]]:
        return [row for at, row in enumerate(self.rows) if at not in self.folded]


Line = dict[Column, Cell]  # a row of a table, before its empty columns are left out

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


def scores(row: Row, metric: str) -> Line:
    """Dev and test score, and the seeds."""
    run = row.anchor
    found = {Column(f"{split} {metric}", SCORE): score(row.summary(split), run=run) for split in ("dev", "test")}
    return {**found, Column("seeds"): seeds(row.seeds, run)}


def printed(paper: PaperFigures | None, variant: str | None, *, task: str, suite: str) -> Line:
    """The paper's figure for a variant, under a heading that names its data; no column without figures of the task."""
    if paper is None:
        return {}
    figure = paper.figures.get(variant or "")
    cell = Cell(str(figure), (figure.mean, figure.sd)) if figure else Cell("")
    return {Column(paper_heading(paper, task, suite), ("mean", "sd")): cell}


def seeds(found: Sequence[int], run: str) -> Cell:
    """How many seeds, and which; the value is which."""
    listed = ", ".join(map(str, found))
    return Cell(f"{len(found)} ({listed})", (listed,), run, tuple(found))


def gain_cells(gain: Gain | None, over: str = BASELINE, *, test: bool = False) -> Line:
    """Gain, interval, relative error reduction, adjusted p and verdict; `test`: also p before the adjustment."""
    columns = [Column(f"gain over {over}", SPREAD), Column("95 % over seeds", ("low", "high")), Column("fewer errors")]
    columns += [Column("p (Holm)"), Column("verdict", words=True)]
    columns += [Column("p"), Column("items"), Column("test", words=True)] if test else []
    if gain is None:
        return dict.fromkeys(columns, Cell(""))
    found, run, verdict = gain.test, gain.ours.anchor, gain.verdict or "not tested"
    cells = [
        spread(gain.summary, run=run, sign=True),
        _between(gain.summary.interval, run=run),
        number(gain.reduction, ".1f", run=run, suffix=" %"),
        _p_value(gain.p_holm, run=run),
        Cell(f"{gain.mark} {verdict}".strip(), (verdict,), run),
        _p_value(found and found.p, run=run),
        number(found and found.items, ",", run=run),
        words(found.name if found else "none"),
    ]
    return dict(zip(columns, cells, strict=False))


def make_table(
    stem: str, title: str, lines: Sequence[Line], *, tasks: Sequence[str], gains: Iterable[Gain | None] = ()
) -> Table:
    """A table without its empty columns, with a note on each reason why one of the gains is not tested."""
    columns = [column for column in lines[0] if any(line[column].text for line in lines)]
    rows = [[line[column] for column in columns] for line in lines]
    reasons = dict.fromkeys(gain.untested for gain in gains if gain and gain.untested)
    return Table(stem, title, columns, rows, list(tasks), [f"Not tested: {reason}." for reason in reasons])


def _between(bounds: tuple[float, float] | None, *, run: str) -> Cell:
    """An interval, for a column with parts low and high."""
    if bounds is None:
        return Cell("")
    return Cell(" … ".join(f"{bound:+.2f}".replace("-", "−") for bound in bounds), bounds, run)


def _p_value(p: float | None, *, run: str) -> Cell:
    """Three decimals, or that it is smaller."""
    return Cell("" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}", (p,), run)
