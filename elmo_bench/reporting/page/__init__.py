"""The leaderboard as files: README.md, one index.html that loads nothing from elsewhere, tables/ and figures/.

Both pages have the same content.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup

from elmo_bench.base.errors import UserError, plain
from elmo_bench.base.files import atomic_write, read_lines
from elmo_bench.ledger import Record, RunPaths, minutes_of
from elmo_bench.reporting import console
from elmo_bench.reporting.canvas import FAINT, GRID, INK, NAMED, SURFACE, Drawing
from elmo_bench.reporting.cards import cost_cells
from elmo_bench.reporting.findings import Findings, findings
from elmo_bench.reporting.gains import MARKS
from elmo_bench.reporting.groups import Group, percent
from elmo_bench.reporting.leaderboard import Leaderboard, Suite
from elmo_bench.reporting.rows import Row
from elmo_bench.reporting.table import Line, Table, make_table, number, signed, to_csv, to_latex, to_markdown

START, END = "<!-- table: make report writes it -->", "<!-- /table -->"  # around the table in the repository's README
MINUTES, MINUTES_END = "<!-- minutes: make report writes them -->", "<!-- /minutes -->"  # a run's, by task
# The page names every table and figure that was written with it; links in findings have other texts.
_LINK = re.compile(rb'href="((?:tables|figures)/[^"/]+)">(?:CSV|LaTeX|SVG|PNG)</a>')
FOLDER = Path(__file__).parent
CLOSED = 200  # with more runs than this, what the entry of a run holds is text until it is opened
# Colours that differ in dark mode, as variables of the page's style: four by name, an encoder's by its value.
_COLOURS = {colour: f"c{colour[1:]}" for colour, _ in NAMED.values()}
_COLOURS |= {SURFACE: "surface", INK: "ink", FAINT: "faint", GRID: "line"}


def read_findings(board: Leaderboard, out: Path) -> dict[str, Findings]:
    """By suite what people write in `FINDINGS-<suite>.md`. Raises UserError for a mistake in such a file."""
    read = {}
    for suite in board.suites:
        if (path := out / f"FINDINGS-{suite.name}.md").exists():
            read[suite.name] = findings(path, "\n".join(line for _, line in read_lines(path)), suite.name, board.tables)
    return read


def write(board: Leaderboard, *, ledger: Path, out: Path, said: Mapping[str, Findings]) -> list[Path]:
    """Write every file and return their paths. Tables and figures that only the earlier page names are removed.

    said: the findings, by suite.
    """
    files: dict[Path, bytes] = {}
    for table in board.tables:
        files[out / "tables" / f"{table.stem}.csv"] = to_csv(table).encode()
        files[out / "tables" / f"{table.stem}.tex"] = to_latex(table).encode()
    for figure in board.figures:
        files[out / "figures" / f"{figure.stem}.svg"] = figure.svg.encode()
        files[out / "figures" / f"{figure.stem}.png"] = figure.png
    files[out / "README.md"] = markdown_page(board, said=said).encode()
    index = out / "index.html"
    earlier = {out / name.decode() for name in _LINK.findall(index.read_bytes())} if index.exists() else set()
    with atomic_write(index) as handle:
        for piece in html_page(board, ledger=ledger, out=out, said=said):
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


def write_readme(board: Leaderboard, path: Path, out: Path) -> None:
    """Write what the suite `open` shows: picture and table 1 between START and END, minutes where they are asked for.

    Raises UserError if the file lacks START or END.
    """
    text = "\n".join(line for _, line in read_lines(path)) + "\n"
    if START not in text or END not in text.partition(START)[2]:
        raise UserError(f"--readme {path}: has no {START} and {END}. Write these two lines where the table belongs.")
    short = minutes = "No runs yet."
    for suite in board.suites:
        if suite.name == console.SUITE and suite.table1:
            parts = [f"**{literal(suite.headline)}**", table_lines(suite.table1), literal(" ".join(suite.table1.notes))]
            if suite.picture:
                figure = os.path.relpath(out / "figures" / f"{suite.picture.stem}.png", path.parent)
                parts.insert(1, f"![{literal(suite.picture.alt)}]({quote(figure)})")
            short, minutes = "\n\n".join(parts), table_lines(_minutes(suite, suite.table1))
    for start, content, end in ((START, short, END), (MINUTES, minutes, MINUTES_END)):
        before, _, rest = text.partition(start)
        _, found, after = rest.partition(end)
        text = f"{before}{start}\n\n{content}\n\n{end}{after}" if found else text
    with atomic_write(path, "w") as handle:
        handle.write(text)


def _minutes(suite: Suite, table1: Table) -> Table:
    """Mean minutes of the runs in table 1, and the memory that one of them took at most."""
    shown = {cell.run for line in table1.rows for cell in line}
    lines: list[Line] = []
    for group in suite.groups:
        if own := {row.encoder: row for row in group.rows if row.anchor in shown}:
            times = {name: own[name].minutes if name in own else None for name in table1.columns}
            peak = max(record["cost"]["peak_memory_mib"] for row in own.values() for record in row.records)
            line: Line = {"minutes": group.heading} | {name: number(time, ".1f") for name, time in times.items()}
            lines.append(line | {"memory, at most": number(peak / 1024, ".1f", suffix=" GiB")})
    return make_table("minutes", "", lines)


def markdown_page(board: Leaderboard, *, said: Mapping[str, Findings]) -> str:
    """The whole page. The same ledger, findings and command give the same text."""
    environment = _environment(escape=False)
    environment.filters["literal"] = literal
    environment.filters["code"] = lambda text: "`" + " ".join(text.replace("`", "'").split()) + "`"
    text = environment.get_template("README.md.j2").render(_content(board, said), markdown=table_lines)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def table_lines(table: Table) -> str:
    """The table in Markdown, without HTML, links or images."""
    return "\n".join(map(literal, to_markdown(table).split("\n")))


def literal(text: str) -> str:
    """One line without HTML, links, images or control characters."""
    text = re.sub(r"<(?=[A-Za-z/!?])", "&lt;", plain(re.sub(r"[\r\n]+", " ", text)))
    return re.sub(r"(?<!\\)\\*([\[\]])", r"\\\1", text)


def html_page(board: Leaderboard, *, ledger: Path, out: Path, said: Mapping[str, Findings]) -> Iterator[str]:
    """The page in pieces, to be written to the folder `out`, with links to the records in `ledger`.

    The same ledger, findings and command give the same text. Of thousands of runs it is many megabytes.
    """

    def link(record: Record) -> str:
        return quote(RunPaths.of(home, record).record.as_posix())

    home = Path(os.path.relpath(ledger, out))
    rows = [(row, group) for suite in board.suites for group in suite.groups for row in group.rows]
    shown = {cell.run for table in board.tables for line in table.shown for cell in line}
    figures = {figure.stem: figure for figure in board.figures}
    heroes = {suite.picture.stem for suite in board.suites if suite.picture}
    shows = ((stem, one.name) for own in said.values() for one in own.shown for stem in one.figures)
    moved = {stem: name for stem, name in shows if stem not in heroes}
    stream = (
        _environment(escape=True)
        .get_template("index.html.j2")
        .stream(
            _content(board, said),
            runs=((row, group, _facts(row, group)) for row, group in rows),
            links={row.anchor: {r["seed"]: link(r) for r in row.records} for row, _ in rows},
            closed=len(rows) > CLOSED,
            folded={row.anchor for row, _ in rows} - shown,
            verdict=lambda cell: cell.hint.rpartition(" ")[2] if cell.hint.endswith(tuple(filter(None, MARKS))) else "",
            inline=lambda figure: Markup(inline(figure)),  # from matplotlib, which escapes its text
            style=Markup((FOLDER / "style.css").read_text(encoding="utf-8")),
            script=Markup((FOLDER / "script.js").read_text(encoding="utf-8")),
            rendered=lambda text: Markup(MarkdownIt("js-default").render(text)),  # it lets no HTML through
            figures=figures,
            moved=moved,
            colours=sorted({name for name in _COLOURS.values() if name.startswith("c")}),
            card_of=lambda card: f"../{card.link}" if (out.parent / card.link).is_file() else "",
            tasks={group.task: group.info.title for suite in board.suites for group in suite.groups},
        )
    )
    stream.enable_buffering(1000)
    return iter(stream)


def _environment(*, escape: bool) -> Environment:
    keep = {"trim_blocks": True, "lstrip_blocks": True, "undefined": StrictUndefined}
    return Environment(loader=FileSystemLoader(FOLDER), autoescape=escape, **keep)  # type: ignore[arg-type]


def _content(board: Leaderboard, said: Mapping[str, Findings]) -> dict[str, Any]:
    """What both pages have."""
    return {
        "board": board,
        "findings": {suite.name: said.get(suite.name, Findings()) for suite in board.suites},
        "data_of": data_of,
        "signed": signed,
        "cost_cells": cost_cells,
        "machines": machines(record for row in board.selection.rows for record in row.records),
        "counted": counted,
        "stems": {figure.stem for figure in board.figures},
        "older": [superseded(*pair) for pair in board.selection.superseded],
    }


def machines(records: Iterable[Record]) -> list[str]:
    """How many runs came from which hardware and code, and the hours they took."""
    minutes: dict[str, list[float]] = {}
    for record in records:
        where = record["environment"]
        parts = [
            where["cpu"] if where["device"] == "cpu" else f"{where['device']} ({where['cpu']})",
            f"{where['threads']} thread{'s' if where['threads'] != 1 else ''}",
            where["precision"] + (f", torch {where['packages']['torch']}" if "torch" in where["packages"] else ""),
            (f"commit {where['commit'][:10]}" if where["commit"] else "no git commit")
            + (" with uncommitted changes" if where["dirty"] else ""),
        ]
        minutes.setdefault(", ".join(parts), []).append(minutes_of(record))
    every = [each for own in minutes.values() for each in own]
    lines = [f"{place}: {counted(len(own))}, {sum(own) / 60:.1f} hours" for place, own in sorted(minutes.items())]
    total = f"In total: {counted(len(every))}, {sum(every) / 60:.1f} hours of computing"
    return [*lines, total] if len(lines) > 1 else lines


def counted(count: int, what: str = "run") -> str:
    """Such as "1 run" and "1,200 more runs"."""
    return f"{count:,} {what}{'s' if count != 1 else ''}"


def data_of(group: Group) -> str:
    """What the runs of a group were trained and scored on."""
    data, basis = group.rows[0].newest["data"], group.basis
    counts = ", ".join(f"{data['counts'][split]:,} {split}" for split in ("train", "dev", "test"))  # type: ignore[literal-required]
    parts = [group.info.data, counts, f"size {basis.size}", f"version {basis.version}", f"digest {basis.data}"]
    notes = "; ".join(note.rstrip(".") for note in data["notes"])
    return f"{group.label()} ({group.name}): {'; '.join(filter(None, parts))}.{f' Notes: {notes}.' if notes else ''}"


def superseded(old: Row, new: Row) -> tuple[str, str]:
    """(path of the old run, what replaced it and why: the settings and contents that differ)."""
    before, after = ({**row.spec.settings, **(row.spec.contents or {})} for row in (old, new))
    changed = sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))
    seeds = f"seed{'s' if len(old.seeds) > 1 else ''} {', '.join(map(str, old.seeds))}"
    path = "/".join([old.spec.suite, old.spec.task, old.spec.encoder, old.newest["hash"]])
    return path, f"({seeds}) by {new.newest['hash']}; changed: {', '.join(changed)}"


def _facts(row: Row, group: Group) -> dict[str, str]:
    """What the entry of a run says below its scores."""
    newest, share = row.newest, group.share(row)
    environment, counts, sizes = newest["environment"], newest["data"]["counts"], newest["parameters"]
    part = "" if not row.basis.fraction else ", a fraction of all" if share is None else f", {percent(share)} of all"
    epochs = dict.fromkeys(f"{r['epochs']['best']} of {r['epochs']['run']}" for r in row.records)
    return {
        "trained on": f"{counts['train']:,} {group.info.unit}{part}",
        "scored on": f"{counts['dev']:,} dev, {counts['test']:,} test",
        "command": row.spec.command(row.seeds[0]),
        "changed": row.spec.label or "nothing",
        "data": "; ".join([row.basis.data, *newest["data"]["notes"]]),
        "parameters": f"{sizes['trainable']:,} trainable, {sizes['frozen']:,} frozen",
        "best epoch": ", ".join(epochs),
        "converged": f"{row.converged} of {len(row.records)} seeds, protocol {row.spec.protocol}",
        "cost": f"{row.minutes:.1f} minutes, {row.cost('peak_memory_mib'):,.0f} MiB, a run",
        "made": ", ".join([newest["created"][:10], *(environment[key] for key in ("cpu", "device", "precision"))]),
    }


def inline(figure: Drawing) -> str:
    """The drawing as an element of a page; a text beside it is read instead of it."""
    svg = figure.svg[figure.svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>|<title>.*?</title>|<style.*?</style>", "", svg, flags=re.DOTALL)
    svg = re.sub(r' (width|height)="[\d.]+pt"', "", svg, count=2)
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{figure.stem}-", svg)
    svg = re.sub(
        r"#[0-9a-f]{6}\b", lambda colour: f"var(--{_COLOURS[colour[0]]})" if colour[0] in _COLOURS else colour[0], svg
    )
    svg = re.sub(r"font-family: [^;\"]+;? ?", "", svg)
    return re.sub(r"\n\s*", "\n", svg.replace("<svg", '<svg aria-hidden="true"', 1)).strip()
