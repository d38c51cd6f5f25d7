"""A table before it is markdown, CSV, LaTeX or HTML: cells that know their values and their run."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import sqrt

from elmo_bench.reporting.gains import Gain
from elmo_bench.reporting.rows import BASELINE, DAGGER, Row
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

NOT_CONVERGED = (
    f"{DAGGER} not converged: a seed had fewer epochs than the task's budget, the task has no measured budget, or a "
    "seed learned nothing (0 on dev, or the same score after every epoch). Its gains have no verdict. To measure a "
    "budget, run the baseline and an encoder at twice the epochs, three seeds: if neither gains more than one point "
    "and more than twice its standard error, write the epochs to report.budget in the task's yaml."
)
EXPLORATORY = "Exploratory: its verdicts suggest what to test, and are no test of it."

SPREAD = ("mean", "sd", "n")
SCORE = (*SPREAD, "low", "high", "converged")
JUDGED = (*SPREAD, "verdict")


def words(text: str, *, run: str = "") -> Cell:
    return Cell(text, (text,), run)


def number(value: float | None, form: str = ".2f", *, run: str = "", suffix: str = "") -> Cell:
    """An empty cell for None."""
    return Cell("" if value is None else f"{value:{form}}{suffix}".replace("-", "−"), (value,), run)


def spread(summary: Summary, *, run: str = "", mark: str = "", hint: str = "") -> Cell:
    """Mean ± sd, for a column with parts SPREAD, or JUDGED by its hint."""
    shown = str(summary) + (f" {mark}" if mark else "")
    judged = (hint,) if hint else ()
    return Cell(shown.replace("-", "−"), (summary.mean, summary.sd, summary.n, *judged), run, hint=hint)


def score(row: Row, split: str) -> Cell:
    """Mean ± sd, for a column with parts SCORE; the 95 % interval over seeds is in the values and the hint."""
    summary = row.summary(split)
    shown, bounds = spread(summary, run=row.anchor, mark=row.mark), summary.interval
    hint = f"95 % over seeds: {bounds[0]:.2f} … {bounds[1]:.2f}" if bounds else ""
    return replace(shown, values=(*shown.values, *(bounds or (None, None)), row.converged), hint=hint)


def scores(row: Row, metric: str) -> Line:
    """Dev and test score, and the seeds."""
    run = row.anchor
    found = {Column(f"{split} {metric}", SCORE): score(row, split) for split in ("dev", "test")}
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


def gain_cells(gain: Gain | None, over: str = BASELINE, *, split: str = "test", parts: bool = False) -> Line:
    """Gain, interval, relative error reduction, what could be detected, adjusted p and verdict.

    Also how many seeds each of the two has, where the numbers differ. `over`: empty if another column says it.
    `split`: of every gain in the table. `parts`: also p before the adjustment, and of what the error consists.
    """
    name = f"gain over {over}" if over else "gain"
    mean = Column(name if split == "test" else f"{split} {name}", ("mean", "se"))
    numbers = Column("n of the two", ("ours", "other"))
    between, fewer, verdict = Column("95 %", ("low", "high")), Column("fewer errors"), Column("verdict", words=True)
    details = [Column("p"), Column("± seeds"), Column("± items"), Column("df")] if parts else []
    named = [mean, between, numbers, fewer, Column("detectable"), Column("p (Holm)"), verdict, *details]
    line = dict.fromkeys(named, Cell(""))
    if gain is None:
        return line
    found, run, said = gain.difference, gain.ours.anchor, gain.said
    signed = f"{gain.mean:+.2f}".replace("-", "−")
    line[mean] = Cell(signed, (gain.mean, found.error if found else None), run)
    seeds = [len(row.seeds) for row in (gain.ours, gain.theirs)]
    line[numbers] = Cell("{} and {}".format(*seeds), tuple(seeds), run) if len({*seeds}) > 1 else Cell("")
    line[fewer] = number(gain.reduction, ".1f", run=run, suffix=" %")
    line[verdict] = Cell(f"{gain.mark} {said}".strip(), (said,), run)
    if found:
        of_seeds = sqrt(sum(own.value for own in found.seeds))
        line[between] = interval_cell(found.interval, run=run)
        line[Column("detectable")] = number(found.detectable, run=run)
        line[Column("p (Holm)")] = _p_value(gain.p_holm, run=run)
        sources = [
            number(of_seeds, run=run),
            number(sqrt(found.items.value), run=run),
            number(found.df, ".1f", run=run),
        ]
        line.update(zip(details, [_p_value(gain.p, run=run), *sources], strict=False))
    return line


def make_table(
    stem: str,
    title: str,
    lines: Sequence[Line],
    *,
    tasks: Sequence[str],
    gains: Iterable[Gain | None] = (),
    notes: Sequence[str] = (),
) -> Table:
    """A table without its empty columns, with notes on daggers and on each reason why a gain is not tested."""
    columns = [column for column in lines[0] if any(line[column].text for line in lines)]
    rows = [[line[column] for column in columns] for line in lines]
    reasons = dict.fromkeys(gain.untested for gain in gains if gain and gain.untested)
    dagger = [NOT_CONVERGED] if any(DAGGER in cell.text for row in rows for cell in row) else []
    why = [f"Not tested: {reason}." for reason in reasons]
    return Table(stem, title, columns, rows, list(tasks), [*notes, *dagger, *why])


def interval_cell(bounds: tuple[float, float], *, run: str = "") -> Cell:
    """An interval, for a column with parts low and high."""
    return Cell(" … ".join(f"{bound:+.2f}".replace("-", "−") for bound in bounds), bounds, run)


def _p_value(p: float | None, *, run: str) -> Cell:
    """Three decimals, or that it is smaller."""
    return Cell("" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}", (p,), run)
