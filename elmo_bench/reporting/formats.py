"""A table as markdown, CSV and LaTeX."""

import csv
import io
from collections.abc import Sequence
from itertools import zip_longest

from elmo_bench.reporting.table import Table, Value

_LATEX = str.maketrans({
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "−": "$-$", "→": r"$\to$", "…": r"\ldots{}",
    "▲": r"$\blacktriangle$", "▼": r"$\blacktriangledown$", "≤": r"$\le$", "<": "$<$", ">": "$>$", "λ": r"$\lambda$",
    "γ": r"$\gamma$", "=": "$=$", "·": r"$\cdot$", "†": r"\dag{}",
})  # fmt: skip


def to_markdown(table: Table) -> str:
    """The table with aligned columns, without folded rows and notes."""
    return markdown(
        [column.name for column in table.columns],
        [[cell.text for cell in row] for row in table.shown],
        words=[column.words for column in table.columns],
    )


def markdown(header: list[str], body: list[list[str]], *, words: Sequence[bool] = ()) -> str:
    """A markdown table. Columns marked in `words`, by default the first, are aligned left, the others right."""
    cells = [[cell.replace("|", r"\|") for cell in line] for line in [header, *body]]
    widths = [max(3, *map(len, column)) for column in zip(*cells, strict=True)]
    left = words or [True] + [False] * (len(widths) - 1)
    rule = ["-" * width if to_left else "-" * (width - 1) + ":" for width, to_left in zip(widths, left, strict=True)]
    lines = [
        [
            cell.ljust(width) if to_left else cell.rjust(width)
            for cell, width, to_left in zip(line, widths, left, strict=True)
        ]
        for line in cells
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in [lines[0], rule, *lines[1:]])


def to_csv(table: Table) -> str:
    """One line a row, unrounded, without notes; one column for each part of a column. UTF-8, comma, line feeds."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([" ".join(filter(None, (c.name, part))) for c in table.columns for part in c.parts])
    for row in table.rows:
        cells = zip(row, table.columns, strict=True)
        parts = (value for cell, column in cells for _, value in zip_longest(column.parts, cell.values))
        writer.writerow(list(map(_exact, parts)))
    return out.getvalue()


def to_latex(table: Table) -> str:
    """A table environment for booktabs and amssymb, with the notes below."""
    lines = [" & ".join(_tex(cell.text) for cell in row) + r" \\" for row in table.rows]
    head = " & ".join(_tex(column.name) for column in table.columns) + r" \\"
    notes = [rf"\par\smallskip\footnotesize {_tex(note)}" for note in table.notes]
    form = "".join("l" if column.words else "r" for column in table.columns)
    return "\n".join([
        r"% \usepackage{booktabs,amssymb}", r"\begin{table}", r"\centering", rf"\caption{{{_tex(table.title)}}}",
        rf"\label{{tab:{table.stem}}}", rf"\begin{{tabular}}{{{form}}}", r"\toprule", head, r"\midrule", *lines,
        r"\bottomrule", r"\end{tabular}", *notes, r"\end{table}", "",
    ])  # fmt: skip


def _exact(value: Value) -> Value:
    return float(f"{value:.10g}") if isinstance(value, float) else value  # without rounding errors in the last digits


def _tex(text: str) -> str:
    return text.translate(_LATEX)
