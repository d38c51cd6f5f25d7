"""Writing a leaderboard into a folder: README.md, index.html, tables/ and figures/."""

from pathlib import Path

from elmo_bench.files import atomic_write
from elmo_bench.reporting.formats import to_csv, to_latex
from elmo_bench.reporting.leaderboard import Leaderboard
from elmo_bench.reporting.page.html import html
from elmo_bench.reporting.page.markdown import page

DISCUSSION = "DISCUSSION.md"  # written by people; the pages take it in
OWNED = {
    "tables": (".csv", ".tex"),
    "figures": (".svg", ".png"),
}  # what lies here of these kinds is rendered, all of it


def write(board: Leaderboard, *, ledger: Path, out: Path) -> list[Path]:
    """Write every file, and remove tables and figures that are none any more; returns all."""
    notes = out / DISCUSSION
    discussion = notes.read_text(encoding="utf-8") if notes.exists() else ""
    files: dict[Path, bytes] = {}
    for table in board.tables:
        files[out / "tables" / f"{table.stem}.csv"] = to_csv(table).encode()
        files[out / "tables" / f"{table.stem}.tex"] = to_latex(table).encode()
    for figure in board.figures:
        files[out / "figures" / f"{figure.stem}.svg"] = figure.svg.encode()
        files[out / "figures" / f"{figure.stem}.png"] = figure.png
    files[out / "README.md"] = page(board, discussion=discussion).encode()
    files[out / "index.html"] = html(board, ledger=ledger, out=out, discussion=discussion).encode()
    for path, content in files.items():
        with atomic_write(path) as handle:
            handle.write(content)
    for folder, endings in OWNED.items():
        for path in (out / folder).glob("*"):
            if path.suffix in endings and path not in files:
                path.unlink()
    return list(files)
