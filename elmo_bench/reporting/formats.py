"""A table as markdown, CSV and LaTeX. Imports no pandas."""

import csv
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elmo_bench.reporting.table import Table

_LATEX = str.maketrans({
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "−": "$-$", "→": r"$\to$", "…": r"\ldots{}",
    "▲": r"$\blacktriangle$", "▼": r"$\blacktriangledown$", "≤": r"$\le$", "<": "$<$", ">": "$>$", "λ": r"$\lambda$",
    "γ": r"$\gamma$", "=": "$=$", "·": r"$\cdot$", "†": r"\dag{}",
})  # fmt: skip


def to_markdown(table: "Table") -> str:
    """The table with aligned columns, without folded rows and notes."""
    return markdown(table.columns, [[cell.text for cell in row] for row in table.shown], words=table.words)


def markdown(header: Sequence[str], body: Sequence[Sequence[str]], *, words: Sequence[bool] = ()) -> str:
    """A markdown table. Columns marked in `words`, by default the first, are aligned left, the others right."""
    cells = [[cell.replace("|", r"\|") for cell in line] for line in [header, *body]]
    widths = [max(3, *map(len, column)) for column in zip(*cells, strict=True)]
    left = words or [True] + [False] * (len(widths) - 1)
    rule = ["-" * width if to_left else "-" * (width - 1) + ":" for width, to_left in zip(widths, left, strict=True)]
    forms = [f"{'<' if to_left else '>'}{width}" for width, to_left in zip(widths, left, strict=True)]
    lines = [[format(cell, form) for cell, form in zip(line, forms, strict=True)] for line in cells]
    return "\n".join(f"| {' | '.join(line)} |" for line in [lines[0], rule, *lines[1:]])


def to_csv(table: "Table") -> str:
    """One line a row, unrounded, without notes; one column for each part of a column. UTF-8, comma, line feeds."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    columns = list(zip(*table.rows, strict=True))
    parts = [(at, part) for at, column in enumerate(columns) for part in {p: 0 for cell in column for p in cell.values}]
    writer.writerow([f"{table.columns[at]} {part}".strip() for at, part in parts])
    writer.writerows([[_exact(row[at].values.get(part)) for at, part in parts] for row in table.rows])
    return out.getvalue()


def to_latex(table: "Table") -> str:
    """A table environment for booktabs and amssymb, with the notes below."""
    lines = [" & ".join(_tex(cell.text) for cell in row) + r" \\" for row in table.rows]
    head = " & ".join(map(_tex, table.columns)) + r" \\"
    notes = [rf"\par\smallskip\footnotesize {_tex(note)}" for note in table.notes]
    form = "".join("l" if words else "r" for words in table.words)
    return "\n".join([
        r"% \usepackage{booktabs,amssymb}", r"\begin{table}", r"\centering", rf"\caption{{{_tex(table.title)}}}",
        rf"\label{{tab:{table.stem}}}", rf"\begin{{tabular}}{{{form}}}", r"\toprule", head, r"\midrule", *lines,
        r"\bottomrule", r"\end{tabular}", *notes, r"\end{table}", "",
    ])  # fmt: skip


def _exact(value: Any) -> Any:
    return float(f"{value:.10g}") if isinstance(value, float) else value  # without rounding errors in the last digits


def _tex(text: str) -> str:
    return text.translate(_LATEX)
