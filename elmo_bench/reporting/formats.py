"""A table as markdown, CSV and LaTeX."""

import csv
import io

from elmo_bench.reporting.table import Cell, Figure, Table
from elmo_bench.reporting.tables import markdown

_LATEX = str.maketrans({
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "−": "$-$", "→": r"$\to$", "…": r"\ldots{}",
    "▲": r"$\blacktriangle$", "▼": r"$\blacktriangledown$", "≤": r"$\le$", "<": "$<$", ">": "$>$", "λ": r"$\lambda$",
    "γ": r"$\gamma$", "=": "$=$", "·": r"$\cdot$",
})  # fmt: skip


def to_markdown(table: Table) -> str:
    """The table, columns aligned, and its notes."""
    body = markdown(
        [column.name for column in table.columns],
        [[cell.text for cell in row] for row in table.rows],
        words=[column.words for column in table.columns],
    )
    return "\n\n".join([body, *table.notes])


def to_csv(table: Table) -> str:
    """A line a row, unrounded, without notes; a column for each part of ours. UTF-8, comma, a line feed at each end of
    line."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([" ".join(filter(None, (c.name, part))) for c in table.columns for part in c.parts])
    for row in table.rows:
        writer.writerow(
            [_plain(f) for cell, c in zip(row, table.columns, strict=True) for f in _figures(cell, len(c.parts))]
        )
    return out.getvalue()


def to_latex(table: Table) -> str:
    """A table environment that needs booktabs and amssymb; notes stand below."""
    lines = [" & ".join(_tex(cell.text) for cell in row) + r" \\" for row in table.rows]
    head = " & ".join(_tex(column.name) for column in table.columns) + r" \\"
    notes = [rf"\par\smallskip\footnotesize {_tex(note)}" for note in table.notes]
    form = "".join("l" if column.words else "r" for column in table.columns)
    return "\n".join([
        r"% \usepackage{booktabs,amssymb}", r"\begin{table}", r"\centering", rf"\caption{{{_tex(table.title)}}}",
        rf"\label{{tab:{table.stem}}}", rf"\begin{{tabular}}{{{form}}}", r"\toprule", head, r"\midrule", *lines,
        r"\bottomrule", r"\end{tabular}", *notes, r"\end{table}", "",
    ])  # fmt: skip


def _figures(cell: Cell, parts: int) -> tuple[Figure, ...]:
    return (*cell.figures, *[None] * (parts - len(cell.figures)))


def _plain(figure: Figure) -> Figure:
    return float(f"{figure:.10g}") if isinstance(figure, float) else figure  # no rounding errors of the last digits


def _tex(text: str) -> str:
    return text.translate(_LATEX)
