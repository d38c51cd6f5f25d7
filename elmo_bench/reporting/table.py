"""A table is rows of cells, and becomes markdown, CSV and LaTeX.

A cell knows what people read, what programs read, and its run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import pandas as pd

from elmo_bench.reporting.console import markdown
from elmo_bench.reporting.gains import Gain
from elmo_bench.reporting.groups import Group
from elmo_bench.reporting.rows import BASELINE, DAGGER, NOT_CHECKED, NOT_CONVERGED, UNCHECKED, Row, is_checked
from elmo_bench.reporting.significance import Summary
from elmo_bench.spec.experiments import PaperFigures

Value = float | int | str | None


@dataclass(frozen=True, slots=True)
class Cell:
    """What people see, what programs read, and what it links to."""

    text: str = ""
    values: Mapping[str, Value] = field(default_factory=dict)  # by part: a column of a CSV file each, "" has no name
    run: str | None = None  # anchor of the row that the cell describes; None: the row of its line, if that has one
    seeds: tuple[int, ...] = ()  # of the records of `run`, if each gets a link
    hint: str = ""  # what a sign in `text` means, or more detail
    note: str = ""  # a sentence below the table

    @property
    def order(self) -> Value:
        """The key for sorting."""
        first = next(iter(self.values.values()), None)
        return "" if first is None else first


ROW = "row"  # the key of a line's row, beside its headings
Line = dict[str, Any]  # by heading a cell, words or None, before empty columns are left out; and ROW


@dataclass(frozen=True)
class Table:
    """Rows of cells; `stem` names its files."""

    stem: str
    title: str
    columns: list[str]
    rows: list[list[Cell]]
    tasks: list[str]  # one for each row
    notes: list[str] = field(default_factory=list)
    most: int | None = None  # rows that a page shows at once; it shows the others on request, and files have them all

    @property
    def shown(self) -> list[list[Cell]]:
        return self.rows[: self.most]

    @property
    def folded(self) -> int:
        """How many rows are shown on request alone."""
        return len(self.rows) - len(self.shown)

    @cached_property
    def words(self) -> list[bool]:
        """Whether a column has words, which are aligned left; numbers are aligned right."""
        firsts = (
            next((cell for cell in column if cell.order != ""), Cell()) for column in zip(*self.rows, strict=True)
        )
        return [isinstance(cell.order, str) and not cell.seeds for cell in firsts]


_LATEX = str.maketrans({
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "−": "$-$", "→": r"$\to$", "…": r"\ldots{}",
    "▲": r"$\blacktriangle$", "▼": r"$\blacktriangledown$", "≤": r"$\le$", "<": "$<$", ">": "$>$", "λ": r"$\lambda$",
    "γ": r"$\gamma$", "=": "$=$", "·": r"$\cdot$", "†": r"\dag{}",
})  # fmt: skip
REDUCTION = "error reduction"
EXPLORATORY = "Exploratory: its verdicts suggest what to test, and are no test of it."


def number(value: float | None, form: str = ".2f", *, run: str | None = None, suffix: str = "") -> Cell:
    """An empty cell for None and NaN."""
    if pd.isna(value):
        return Cell("", {"": None}, run)
    return Cell(f"{value:{form}}{suffix}".rstrip().replace("-", "−"), {"": value}, run)


def spread(summary: Summary, *, run: str | None = None, mark: str = "", hint: str = "", **more: Value) -> Cell:
    """Mean ± sd. `more`: parts after mean, sd and n."""
    shown = f"{summary} {mark}".rstrip().replace("-", "−")
    return Cell(shown, {"mean": summary.mean, "sd": summary.sd, "n": summary.n, **more}, run, hint=hint)


def scores(row: Row, metric: str, *splits: str) -> Line:
    """The line of a row: mean ± sd of its main score on these splits, by default dev and test, and its seeds."""
    line: Line = {ROW: row}
    for split in splits or ("dev", "test"):
        line[f"{split} {metric}"] = spread(row.summary(split), mark=row.mark, converged=row.converged)
    return line | {"seeds": seeds(row)}


def printed(paper: PaperFigures | None, variant: str | None, group: Group) -> Line:
    """The paper's figure for a variant, under a heading that names its data; no column without figures of the task."""
    if paper is None:
        return {}
    figure = paper.figures.get(variant or "")
    heading = "paper: " + group.info.beside_paper(paper.scored)
    return {heading: Cell(str(figure), {"mean": figure.mean, "sd": figure.sd}, run="") if figure else None}


def seeds(row: Row) -> Cell:
    """How many seeds, and which; the value is which."""
    listed = ", ".join(map(str, row.seeds))
    return Cell(f"{len(row.seeds)} ({listed})", {"": listed}, row.anchor, tuple(row.seeds))


def gain_cells(gain: Gain | None, over: str = BASELINE, *, split: str = "test") -> Line:
    """Gain, interval, verdict, adjusted p, relative error reduction, and what could be detected.

    Also how many seeds each of the two has, where the numbers differ. `over`: empty if another column says it.
    `split`: of every gain in the table.
    """
    mean = " ".join(filter(None, [split if split != "test" else "", "gain", over and f"over {over}"]))
    if gain is None:
        return dict.fromkeys([mean, "95 %", "verdict", "p (Holm)", REDUCTION, "detectable", "n of the two"])
    tested, ours, other = gain.difference, len(gain.ours.seeds), len(gain.theirs.seeds)
    why = f"Not tested: {gain.untested}." if gain.untested else ""
    return {
        mean: Cell(signed(gain.mean), {"mean": gain.mean, "se": tested.error if tested else None}),
        "95 %": interval(tested.interval) if tested else None,
        "verdict": Cell(f"{gain.mark} {gain.shown}".strip(), {"": gain.said}, hint=gain.said, note=why),
        "p (Holm)": p_value(gain.p_holm),
        REDUCTION: number(gain.reduction, ".1f", suffix=" %"),
        "detectable": number(tested.detectable) if tested else None,
        "n of the two": Cell(f"{ours} and {other}", {"ours": ours, "other": other}) if ours != other else None,
    }


def judged(row: Row, gain: Gain | None) -> Cell:
    """The test score of a row with the verdict of its gain over the baseline, if it has one."""
    unproven = "not converged" if row.mark == DAGGER else row.mark
    hint = f"{short(gain).text} over {BASELINE}: {gain.said}" if gain else unproven
    mark, verdict = (gain.mark if gain else "") or row.mark, gain.said if gain else hint or None
    return spread(row.summary("test"), run=row.anchor, mark=mark, hint=hint, verdict=verdict)


def short(gain: Gain) -> Cell:
    """A gain in one decimal with its mark and its interval."""
    low, high = gain.difference.interval if gain.difference else (None, None)
    bounds = f"({low:.1f} to {high:.1f})" if gain.difference else ""
    text = " ".join(filter(None, [f"{gain.mean:+.1f}", gain.mark, bounds])).replace("-", "−")
    return Cell(
        text, {"mean": gain.mean, "low": low, "high": high, "verdict": gain.said}, gain.ours.anchor, hint=gain.said
    )


def make_table(
    stem: str,
    title: str,
    lines: Sequence[Line],
    *,
    tasks: Sequence[str] = (),
    notes: Sequence[str] = (),
    most: int | None = None,
) -> Table:
    """A table without its empty columns; below `notes` come the notes on daggers, on what is not checked, and of cells.

    `tasks`: of each line, where lines have no rows.
    """
    tasks = list(tasks or (line[ROW].spec.task if ROW in line else "" for line in lines))
    unchecked = {task for task in {*tasks} if task and not is_checked(task)}
    pairs = zip(tasks, lines, strict=True)
    lines = [line | {"scores": NOT_CHECKED} if task in unchecked else line for task, line in pairs]
    columns = dict.fromkeys(name for line in lines for name in line if name != ROW)
    cells = {name: [_cell(line.get(name), line.get(ROW)) for line in lines] for name in columns}
    cells = {name: own for name, own in cells.items() if any(cell.text for cell in own)}
    rows = [[*row] for row in zip(*cells.values(), strict=True)]
    dagger = [NOT_CONVERGED] if any(DAGGER in cell.text for row in rows for cell in row) else []
    marked = [UNCHECKED] if any(NOT_CHECKED in cell.text for row in rows for cell in row) else []
    below = dict.fromkeys(cell.note for row in rows for cell in row if cell.note)
    return Table(stem, title, [*cells], rows, tasks, [*notes, *dagger, *marked, *below], most)


def _cell(content: Any, row: Row | None) -> Cell:
    """A cell of a line, from words too; about the line's row if it names no other."""
    if not isinstance(content, Cell):
        content = Cell(content, {"": content}) if isinstance(content, str) else Cell()
    return replace(content, run=row.anchor) if row and content.run is None else content


def signed(number: float, digits: int = 2) -> str:
    """Rounded, always with a sign."""
    return f"{number:+.{digits}f}".replace("-", "−")


def interval(bounds: tuple[float, float]) -> Cell:
    """The bounds as one text; apart for programs."""
    return Cell(" … ".join(map(signed, bounds)), dict(zip(("low", "high"), bounds, strict=True)))


def p_value(p: float | None) -> Cell:
    """Three decimals, or that it is smaller."""
    return Cell("" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}", {"": p})


def to_markdown(table: Table) -> str:
    """The table with aligned columns, without folded rows and notes."""
    return markdown(table.columns, [[cell.text for cell in row] for row in table.shown], words=table.words)


def to_csv(table: Table) -> str:
    """One line a row, unrounded, without notes; one column for each part of a column. UTF-8, comma, line feeds."""
    frame = {}
    for name, *cells in zip(table.columns, *table.rows, strict=True):
        for part in dict.fromkeys(part for cell in cells for part in cell.values):
            frame[f"{name} {part}".strip()] = [_exact(cell.values.get(part)) for cell in cells]
    return pd.DataFrame(frame, dtype=object).rename(columns=_exact).to_csv(index=False, lineterminator="\n")


def to_latex(table: Table) -> str:
    """A table environment for booktabs and amssymb, with the notes below."""
    rows = [[_tex(cell.text) for cell in row] for row in table.rows]
    text = (
        pd.DataFrame(rows, columns=[*map(_tex, table.columns)])
        .style.hide(axis="index")
        .to_latex(
            column_format="".join("l" if words else "r" for words in table.words),
            position_float="centering",
            hrules=True,
            label=f"tab:{table.stem}",
            caption=_tex(table.title),
        )
    )
    notes = "".join(f"\\par\\smallskip\\footnotesize {_tex(note)}\n" for note in table.notes)
    return text.replace(r"\end{table}", notes + r"\end{table}").replace("", "% \\usepackage{booktabs,amssymb}\n", 1)


def _exact(value: Any) -> Any:
    """Without rounding errors in the last digits; a text from a record is no formula of a spreadsheet."""
    if isinstance(value, str):
        return f"'{value}" if value.startswith(("=", "+", "-", "@", "\t", "\r")) else value
    return float(f"{value:.10g}") if isinstance(value, float) else value


def _tex(text: str) -> str:
    return text.translate(_LATEX)
