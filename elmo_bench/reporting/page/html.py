"""The leaderboard as one HTML file that loads nothing from elsewhere."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup

from elmo_bench.ledger import Record, RunPaths
from elmo_bench.reporting.canvas import FAINT, GRID, INK, SERIES, SURFACE, Drawing
from elmo_bench.reporting.gains import MARKS
from elmo_bench.reporting.groups import Group, percent
from elmo_bench.reporting.leaderboard import Leaderboard
from elmo_bench.reporting.page.text import (
    ENCODERS,
    HOW,
    LEGEND,
    SUITES,
    data_of,
    failed,
    machines,
    more_runs,
    superseded,
)
from elmo_bench.reporting.rows import Row
from elmo_bench.reporting.table import Cell

FOLDER = Path(__file__).parent
CLOSED = 200  # with more runs than this, what the entry of a run holds is text until it is opened
# Colours that differ in dark mode. The colours of a heat map's cells are the same in both modes.
_COLOURS = {SURFACE: "surface", INK: "ink", FAINT: "faint", GRID: "line", "#757d87": "none", "#b26a00": "static"}
_COLOURS |= {colour: f"series{index}" for index, colour in enumerate(SERIES)}


def html_page(board: Leaderboard, *, ledger: Path, out: Path, discussions: Mapping[str, str]) -> Iterator[str]:
    """The page in pieces, to be written to the folder `out`, with links to the records in `ledger`.

    The same ledger, discussions (by suite) and command give the same text. Of thousands of runs it is many megabytes.
    """
    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    home = Path(os.path.relpath(ledger, out))
    rows = [(row, group) for suite in board.suites for group in suite.groups for row in group.rows]
    shown = {cell.run for table in board.tables for line in table.shown for cell in line}
    stream = environment.get_template("index.html.j2").stream(
        board=board,
        runs=((row, group, _facts(row, group)) for row, group in rows),
        links={row.anchor: {r["seed"]: _link(home, r) for r in row.records} for row, _ in rows},
        closed=len(rows) > CLOSED,
        folded={row.anchor for row, _ in rows} - shown,
        verdict=_verdict,
        inline=lambda figure: Markup(inline(figure)),  # from matplotlib, which escapes its text
        style=Markup((FOLDER / "style.css").read_text(encoding="utf-8")),
        script=Markup((FOLDER / "script.js").read_text(encoding="utf-8")),
        suites=SUITES,
        encoders=ENCODERS,
        how=HOW,
        legend=LEGEND,
        data_of=data_of,
        discussions={
            suite: Markup(MarkdownIt("js-default").render(text))  # it lets no HTML through
            for suite, text in discussions.items()
        },
        machines=machines(record for row in board.selection.rows for record in row.records),
        more_runs=more_runs,
        older=board.selection.superseded,
        superseded=superseded,
        failed=failed(board.failures),
        tasks={group.task: group.info.title for suite in board.suites for group in suite.groups},
    )
    stream.enable_buffering(1000)
    return iter(stream)


def _verdict(cell: Cell) -> str:
    """ahead, behind, tie, or empty."""
    found = [word for word in (cell.hint, cell.text.rpartition(" ")[2]) if word and word in MARKS]
    return found[0] if found else ""


def _link(home: Path, record: Record) -> str:
    return quote(RunPaths.of(home, record).record.as_posix())


def _facts(row: Row, group: Group) -> dict[str, str]:
    """What the entry of a run says below its scores."""
    newest, share = row.newest, group.share(row)
    environment, counts, sizes = newest["environment"], newest["data"]["counts"], newest["parameters"]
    part = "" if not row.basis.fraction else ", a fraction of all" if share is None else f", {percent(share)} of all"
    epochs = dict.fromkeys(f"{r['epochs']['best']} of {r['epochs']['run']}" for r in row.records)
    return {
        "trained on": f"{counts['train']:,} {group.info.unit}{part}",
        "scored on": f"{counts['dev']:,} dev, {counts['test']:,} test",
        "command": row.command or "unknown: the task or encoder is not installed",
        "changed": row.spec.label or "nothing",
        "data": "; ".join([row.basis.data, *newest["data"]["notes"]]),
        "parameters": f"{sizes['trainable']:,} trainable, {sizes['frozen']:,} frozen",
        "best epoch": ", ".join(epochs),
        "converged": f"{row.converged} of {len(row.records)} seeds, protocol {row.spec.protocol}",
        "cost": f"{row.cost('seconds') / 60:.1f} minutes, {row.cost('peak_memory_mib'):,.0f} MiB, a run",
        "made": ", ".join([newest["created"][:10], *(environment[key] for key in ("cpu", "device", "precision"))]),
    }


def inline(figure: Drawing) -> str:
    """The drawing as an element of a page, labelled by its description."""
    svg = figure.svg[figure.svg.index("<svg") :]
    svg = re.sub(r"\s*<metadata>.*?</metadata>|\s*<title>.*?</title>|\s*<style.*?</style>", "", svg, flags=re.DOTALL)
    svg = re.sub(r' (width|height)="[\d.]+pt"', "", svg, count=2)
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{figure.stem}-", svg)
    svg = re.sub(r"#[0-9a-f]{6}\b", lambda found: _coloured(found[0]), svg)
    svg = re.sub(r"font-family: [^;\"]+;? ?", "", svg)
    return re.sub(
        r"\n\s*", "\n", svg.replace("<svg", f'<svg role="img" aria-labelledby="{figure.stem}-said"', 1)
    ).strip()


def _coloured(colour: str) -> str:
    return f"var(--{_COLOURS[colour]})" if colour in _COLOURS else colour
