"""A table before it is markdown, CSV, LaTeX or HTML: cells that know their figures and the run that they are of."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from elmo_bench.reporting.interval import interval
from elmo_bench.reporting.paper import Printed
from elmo_bench.reporting.statistics import Summary

Figure = float | int | str | None


@dataclass(frozen=True)
class Cell:
    """What is shown, what a program reads, and what it links to."""

    text: str
    figures: tuple[Figure, ...] = ()  # one for each of the column's parts
    run: str = ""  # `anchor` of the row that the figure is of
    seeds: tuple[int, ...] = ()  # of the records of `run`, where each is to be linked by itself
    hint: str = ""  # what a sign in `text` says, or more of a figure

    @property
    def order(self) -> Figure:
        """What sorting goes by."""
        return self.figures[0] if self.figures and self.figures[0] is not None else ""


@dataclass(frozen=True)
class Column:
    """A heading, and the columns of a CSV file that it becomes: the heading with each part behind it."""

    name: str
    parts: tuple[str, ...] = ("",)
    words: bool = False  # set to the left; figures stand to the right


@dataclass(frozen=True)
class Table:
    """Rows of cells; `stem` names its files."""

    stem: str
    title: str
    columns: list[Column]
    rows: list[list[Cell]]
    tasks: list[str]  # a row each
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
    """Mean ± sd, for a column with parts SPREAD, or JUDGED by its hint; `sign`: + before a gain."""
    shown = ("+" if sign and summary.mean >= 0 else "") + str(summary) + (f" {mark}" if mark else "")
    judged = (hint,) if hint else ()
    return Cell(shown.replace("-", "−"), (summary.mean, summary.sd, summary.n, *judged), run, hint=hint)


def score(summary: Summary, *, run: str) -> Cell:
    """Mean ± sd, for a column with parts SCORE: the 95 % interval over seeds is for programs, and a hint."""
    shown, bounds = spread(summary, run=run), interval(summary)
    hint = f"95 % over seeds: {bounds[0]:.2f} … {bounds[1]:.2f}" if bounds else ""
    return replace(shown, figures=(*shown.figures, *(bounds or (None, None))), hint=hint)


def between(bounds: tuple[float, float] | None, *, run: str = "") -> Cell:
    """An interval, for a column with parts low and high."""
    if bounds is None:
        return Cell("")
    return Cell(" … ".join(f"{bound:+.2f}".replace("-", "−") for bound in bounds), bounds, run)


def printed(figure: Printed | None) -> Cell:
    """A figure of the paper, for a column with parts mean and sd."""
    return Cell(str(figure), (figure.mean, figure.sd)) if figure else Cell("")


def p_value(p: float | None, *, run: str = "") -> Cell:
    """Three decimals; below that, that it is below."""
    return Cell("" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}", (p,), run)


def without_empty(columns: Sequence[Column], rows: Iterable[Sequence[Cell]]) -> tuple[list[Column], list[list[Cell]]]:
    """The same without columns in which no cell says anything."""
    rows = [list(row) for row in rows]
    kept = [index for index in range(len(columns)) if any(row[index].text for row in rows)]
    return [columns[index] for index in kept], [[row[index] for index in kept] for row in rows]
