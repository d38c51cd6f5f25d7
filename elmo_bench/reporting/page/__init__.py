"""The leaderboard as files: README.md, index.html, tables/ and figures/; and as one run on wandb, if asked for."""

import json
import os
import re
import tempfile
from pathlib import Path

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write, read_lines
from elmo_bench.reporting import console
from elmo_bench.reporting.leaderboard import Leaderboard
from elmo_bench.reporting.page.render import html_page, markdown_page
from elmo_bench.reporting.table import to_csv, to_latex

START, END = "<!-- table: make report writes it -->", "<!-- /table -->"  # around the table in the repository's README
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
    with atomic_write(index) as handle:
        for piece in html_page(board, ledger=ledger, out=out, discussions=discussions):
            handle.write(piece.encode())
    for path, content in files.items():
        with atomic_write(path) as handle:
            handle.write(content)
    for path in earlier - files.keys():
        path.unlink(missing_ok=True)
    return [*files, index]


def write_published(board: Leaderboard, path: Path) -> None:
    """Write what runs are compared with when they end."""
    with atomic_write(path, "w") as handle:
        handle.write(json.dumps(console.rows_of(board.selection.rows), indent=1, ensure_ascii=False) + "\n")


def write_readme(board: Leaderboard, path: Path) -> None:
    """Write the main table of the suite `open` between START and END. Raises UserError if the file lacks them."""
    text = "\n".join(line for _, line in read_lines(path)) + "\n"
    before, start, rest = text.partition(START)
    _, end, after = rest.partition(END)
    if not (start and end):
        raise UserError(f"--readme {path}: has no {START} and {END}. Write these two lines where the table belongs.")
    short = next((suite.short for suite in board.suites if suite.name == console.SUITE), "")
    with atomic_write(path, "w") as handle:
        handle.write(f"{before}{START}\n\n{short or 'No runs yet.'}\n\n{END}{after}")


def upload(board: Leaderboard, out: Path, *, project: str) -> str:
    """Log every table and figure that was written to `out`. Returns the run's address or, offline, its folder.

    Offline unless a key is set (`$WANDB_API_KEY`, `wandb login`) or `$WANDB_MODE` is online; `wandb sync FOLDER`
    uploads an offline run later. Nothing else in a report uses a network.
    """
    import wandb

    online = bool(os.environ.get("WANDB_API_KEY") or wandb.api.api_key)
    mode = os.environ.get("WANDB_MODE", "online" if online else "offline")
    tables = {
        table.stem: wandb.Table(columns=[*table.columns], data=[[cell.text for cell in row] for row in table.rows])
        for table in board.tables
    }
    figures = {
        f"figure {figure.stem}": wandb.Image(str(out / "figures" / f"{figure.stem}.png"), caption=figure.title)
        for figure in board.figures
    }
    folder = os.environ.get("WANDB_DIR", tempfile.gettempdir() if mode == "online" else ".")
    with wandb.init(project=project, name="report", job_type="report", mode=mode, dir=folder) as run:  # type: ignore[arg-type]
        run.log({**tables, **figures})
        return run.url or str(Path(run.dir).parent)
