"""The leaderboard as files: both pages, tables/ as CSV and LaTeX, figures/ as SVG; and
parts of a README.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pandas as pd

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write, read_lines
from elmo_bench.base.markdown import literal
from elmo_bench.reporting import published
from elmo_bench.reporting.findings import Findings
from elmo_bench.reporting.leaderboard import Leaderboard
from elmo_bench.reporting.minutes import minutes_table
from elmo_bench.reporting.pages import html_page, markdown_page, table_lines
from elmo_bench.reporting.rows import lines_of
from elmo_bench.reporting.tables import SEEN_PART, Table

FOLDERS = ("tables", "figures")
# One of these is in each page that a report wrote: the first is in those of today.
OURS = (
    b"Do not edit: the next report overwrites it",
    b"Rendered from the records by <code>elmo-bench report",
    b"The ledger has no finished runs of these suites yet.",
)
START, END = (
    "<!-- table: make report writes it -->",
    "<!-- /table -->",
)  # around the table in the repository's README
MINUTES, MINUTES_END = (
    "<!-- minutes: make report writes them -->",
    "<!-- /minutes -->",
)  # a run's, by task
# The page names every table and figure that was written with it; links in findings have
# other texts.
_LINK = re.compile(rb'href="((?:tables|figures)/[^"/]+)">(?:CSV|LaTeX|SVG)</a>')
# A table or a figure; a page of somebody else may name any file.
_NAME = re.compile(r"[\w.+=-]+\.(csv|tex|svg)")
_LATEX = str.maketrans({
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "±": r"$\pm$", "−": "$-$", "→": r"$\to$", "≤": r"$\le$", "·": r"$\cdot$",
    "▲": r"$\blacktriangle$", "▼": r"$\blacktriangledown$", "…": r"\ldots{}",
    "<": "$<$", ">": "$>$", "=": "$=$", "λ": r"$\lambda$", "γ": r"$\gamma$",
    "†": r"\dag{}",
    "‡": r"\ddag{}",
    # After the end of a row these would be its options.
    "[": "{[}", "]": "{]}", "*": "{*}",
    # Others in LaTeX's oldest encoding of fonts, but for typewriters.
    "|": r"\textbar{}", '"': r"\texttt{\char34}",
})  # fmt: skip


def write(
    board: Leaderboard, *, ledger: Path, out: Path, findings: Mapping[str, Findings]
) -> dict[Path, str]:
    """Write every file and return its SHA-256 by path. Tables and figures that only the
    earlier page names are removed.

    findings: by suite. Raises UserError if tables/ or figures/ is a link, and for a
    page that no report wrote.
    """
    _refuse_links(out)
    _refuse_other_pages(out)
    files: dict[Path, bytes] = {}
    for each in board.tables:
        table = each.in_files or each
        files[out / "tables" / f"{table.stem}.csv"] = to_csv(table).encode()
        files[out / "tables" / f"{table.stem}.tex"] = to_latex(table).encode()
    for figure in board.figures:
        files[out / "figures" / f"{figure.stem}.svg"] = figure.svg.encode()
    files[out / "README.md"] = markdown_page(board, findings).encode()
    index = out / "index.html"
    earlier = _named(index)
    page = html_page(board, findings, ledger=ledger, out=out)
    written = {index: _written(index, (piece.encode() for piece in page))}
    for path, content in files.items():
        written[path] = _written(path, [content])
    _remove(earlier - files.keys(), out)
    return written


def _refuse_links(out: Path) -> None:
    """Raises UserError for a folder of tables or figures that is elsewhere."""
    for name in FOLDERS:
        if (out / name).is_symlink():
            raise UserError(
                f"--out {out}: {out / name} is a symbolic link, which is not followed. "
                "Remove it, or choose another folder."
            )


def _refuse_other_pages(out: Path) -> None:
    """Raises UserError for a page that is somebody else's."""
    for name in ("README.md", "index.html"):
        path = out / name
        if not path.is_file():
            continue
        content = path.read_bytes()
        if not any(mark in content for mark in OURS):
            raise UserError(
                f"--out {out}: {path} was not written by a report, which would "
                "overwrite it. Choose another folder."
            )


def _named(index: Path) -> set[Path]:
    """The tables and figures that an earlier page names."""
    named = set()
    if index.exists():
        for link in _LINK.findall(index.read_bytes()):
            folder, _, name = link.decode(errors="replace").partition("/")
            if _NAME.fullmatch(name):
                named.add(index.parent / folder / name)
    return named


def _remove(paths: set[Path], out: Path) -> None:
    """Remove these tables and figures where they are regular files."""
    for name in FOLDERS:
        for path in sorted((out / name).glob("*")):
            if path in paths and path.is_file() and not path.is_symlink():
                path.unlink()


def _written(path: Path, pieces: Iterable[bytes]) -> str:
    """Write a file atomically; the SHA-256 of its content."""
    hasher = hashlib.sha256()
    with atomic_write(path) as handle:
        for piece in pieces:
            handle.write(piece)
            hasher.update(piece)
    return hasher.hexdigest()


def write_published(board: Leaderboard, path: Path) -> str:
    """Write what runs are compared with when they end; returns its SHA-256."""
    rows = published.published_rows(board.runs, board.systems)
    text = json.dumps(rows, indent=1, ensure_ascii=False)
    return _written(path, [f"{text}\n".encode()])


def write_readme(board: Leaderboard, path: Path, out: Path) -> str:
    """Write what the suite `open` shows into a page, between the markers that it has.

    Between START and END the picture and table 1, between MINUTES and MINUTES_END what
    runs take. Returns its SHA-256. Raises UserError for a page without either.
    """
    text = "\n".join(line for _, line in read_lines(path)) + "\n"
    markers = [(START, END), (MINUTES, MINUTES_END)]
    if not any(end in text.partition(start)[2] for start, end in markers):
        raise UserError(
            f"--readme {path}: has no {START} and {END}. "
            "Write these two lines where the table belongs."
        )
    summary = minutes = "No runs yet."
    for suite in lines_of(board.suites):
        if suite["name"] == published.SUITE and suite["table1"]:
            summary = _summary(suite, out, path.parent)
            shown = [table for table in (suite["table1"], suite["others"]) if table]
            taken = minutes_table(board.runs, board.systems, shown)
            minutes = "\n\n".join([table_lines(taken), literal(" ".join(taken.notes))])
    text = _between(text, START, summary, END)
    text = _between(text, MINUTES, minutes, MINUTES_END)
    return _written(path, [text.encode()])


def _between(text: str, start: str, content: str, end: str) -> str:
    """The text with this content between two lines, if it has both."""
    before, _, rest = text.partition(start)
    _, has_end, after = rest.partition(end)
    return f"{before}{start}\n\n{content}\n\n{end}{after}" if has_end else text


def _summary(suite: Mapping[str, Any], out: Path, folder: Path) -> str:
    """Headline, picture and table 1 for a file in this folder."""
    paragraphs = [f"**{literal(suite['headline'])}**"]
    picture, table1 = suite["picture"], suite["table1"]
    if picture:
        path = os.path.relpath(out / "figures" / f"{picture.stem}.svg", folder)
        paragraphs.append(f"![{literal(picture.alt)}]({quote(path)})")
    paragraphs += [table_lines(table1), literal(" ".join(table1.notes))]
    if suite["others"]:
        paragraphs.append(table_lines(suite["others"]))
        paragraphs.append(literal(" ".join(suite["others"].notes)))
    return "\n\n".join(paragraphs)


def to_csv(table: Table) -> str:
    """One line a row, unrounded, without notes; one column for each part of a column.
    UTF-8, comma, line feeds.
    """
    columns = {}
    for column in table.formats:
        for part in column.parts:
            values = [_exact(column.values(line)[part]) for line in table.lines]
            if part == SEEN_PART:
                is_kept = any(values)
            elif part or len(column.parts) == 1:
                is_kept = True
            else:
                is_kept = any(value is not None for value in values)
            if is_kept:
                columns[f"{column.heading} {part}".strip()] = values
    frame = pd.DataFrame(columns, dtype=object).rename(columns=_exact)
    return frame.to_csv(index=False, lineterminator="\n")


def to_latex(table: Table) -> str:
    """A table environment for booktabs and amssymb, with the notes below."""
    rows = [[_tex(text) for text in row] for row in table.texts()]
    styler = pd.DataFrame(
        rows, columns=[_tex(heading) for heading in table.columns]
    ).style.hide(axis="index")
    text = styler.to_latex(
        column_format="".join("l" if words else "r" for words in table.words),
        position_float="centering",
        hrules=True,
        label=f"tab:{table.stem}",
        caption=_tex(table.title),
    )
    notes = "".join(
        f"\\par\\smallskip\\footnotesize {_tex(note)}\n" for note in table.notes
    )
    return "% \\usepackage{booktabs,amssymb}\n" + text.replace(
        r"\end{table}", notes + r"\end{table}"
    )


def _exact(value: Any) -> Any:
    """Without rounding errors in the last digits; a spreadsheet must not read a text
    from a record as a formula. A label such as -1 is none.
    """
    if isinstance(value, float):
        return float(f"{value:.10g}")
    if not isinstance(value, str) or _is_number(value):
        return value
    is_formula = value.startswith(("=", "+", "-", "@", "\t", "\r"))
    return f"'{value}" if is_formula else value


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _tex(text: str) -> str:
    return " ".join(text.split()).translate(_LATEX)
