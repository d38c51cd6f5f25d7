"""Writing a leaderboard into a folder: README.md, index.html, tables/ and figures/."""

import re
from pathlib import Path

from elmo_bench.base.files import atomic_write, read_lines
from elmo_bench.reporting.formats import to_csv, to_latex
from elmo_bench.reporting.leaderboard import Leaderboard
from elmo_bench.reporting.page.html import html
from elmo_bench.reporting.page.markdown import markdown_page

# The page names every table and figure that was written with it; links in a discussion have other texts.
_LINK = re.compile(rb'href="((?:tables|figures)/[^"/]+)">(?:CSV|LaTeX|SVG|PNG)</a>')


def write(board: Leaderboard, *, ledger: Path, out: Path) -> list[Path]:
    """Write every file and return their paths. Tables and figures that only the earlier page names are removed.

    Includes `DISCUSSION-<suite>.md`, which people write. Raises UserError if that is not UTF-8.
    """
    notes = {suite.name: out / f"DISCUSSION-{suite.name}.md" for suite in board.suites}
    discussions = {
        suite: "\n".join(line for _, line in read_lines(path)) for suite, path in notes.items() if path.exists()
    }
    files: dict[Path, bytes] = {}
    for table in board.tables:
        files[out / "tables" / f"{table.stem}.csv"] = to_csv(table).encode()
        files[out / "tables" / f"{table.stem}.tex"] = to_latex(table).encode()
    for figure in board.figures:
        files[out / "figures" / f"{figure.stem}.svg"] = figure.svg.encode()
        files[out / "figures" / f"{figure.stem}.png"] = figure.png
    files[out / "README.md"] = markdown_page(board, discussions=discussions).encode()
    index = out / "index.html"
    earlier = {out / name.decode() for name in _LINK.findall(index.read_bytes())} if index.exists() else set()
    files[index] = html(board, ledger=ledger, out=out, discussions=discussions).encode()
    for path in earlier - files.keys():
        path.unlink(missing_ok=True)
    for path, content in files.items():
        with atomic_write(path) as handle:
            handle.write(content)
    return list(files)
