"""The two pages, from one content: README.md, and an index.html that loads nothing from
elsewhere.

Text from records may come from strangers. HTML is escaped by the template, Markdown by
`literal`.
"""

import os
import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup

from elmo_bench.base.markdown import cell, literal
from elmo_bench.reporting.comparisons import MARKS
from elmo_bench.reporting.console import markdown
from elmo_bench.reporting.costs import cost_formats
from elmo_bench.reporting.figures import FAINT, GRID, INK, NAMED, SURFACE, Drawing
from elmo_bench.reporting.findings import Findings
from elmo_bench.reporting.formats import mean_and_sd, signed
from elmo_bench.reporting.leaderboard import Leaderboard
from elmo_bench.reporting.names import (
    BASELINE,
    counted,
    percent,
    task_title,
    task_unit,
)
from elmo_bench.reporting.overview import rank_text
from elmo_bench.reporting.provenance import data_lines, machines, superseded
from elmo_bench.reporting.rows import lines_of, rows_of
from elmo_bench.reporting.tables import Table, present
from elmo_bench.spec.describe import command_of

FOLDER = Path(__file__).parent / "page"
# with more runs than this, what the entry of a run holds is text until it is opened
CLOSED = 200
# Colours that differ in dark mode, as variables of the page's style: four by name, an
# encoder's by its value.
_COLOURS = {colour: f"c{colour[1:]}" for colour, _ in NAMED.values()}
_COLOURS |= {SURFACE: "surface", INK: "ink", FAINT: "faint", GRID: "line"}


def markdown_page(board: Leaderboard, findings: Mapping[str, Findings]) -> str:
    """The whole page. The same ledger, findings and command give the same text."""
    template = _environment(escape=False).get_template("README.md.j2")
    text = template.render(_content(board, findings), markdown=table_lines)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def table_lines(table: Table) -> str:
    """The table in Markdown, without HTML, links or images."""
    return "\n".join(map(literal, to_markdown(table).split("\n")))


def to_markdown(table: Table) -> str:
    """The table with aligned columns, without folded rows and notes."""
    body = [[cell(text) for text in line] for line in table.texts(table.shown)]
    header = [cell(heading) for heading in table.columns]
    return markdown(header, body, words=table.words)


def html_page(
    board: Leaderboard, findings: Mapping[str, Findings], *, ledger: Path, out: Path
) -> Iterator[str]:
    """The page in pieces, to be written to the folder `out`, with links to the records
    in `ledger`.

    The same ledger, findings and command give the same text. Of thousands of runs it is
    many megabytes.
    """
    systems = board.systems
    in_tables = set(chain(*(table.anchors(table.shown) for table in board.tables)))
    template = _environment(escape=True).get_template("index.html.j2")
    stream = template.stream(
        _content(board, findings),
        runs=_entries(systems),
        mean_and_sd=mean_and_sd,
        links=_links(board, Path(os.path.relpath(ledger, out))),
        closed=len(systems) > CLOSED,
        folded=set(systems.anchor) - in_tables,
        inline=lambda figure, phone=False: Markup(
            inline(figure, phone=phone)
        ),  # matplotlib escapes its text
        style=Markup((FOLDER / "style.css").read_text(encoding="utf-8")),
        script=Markup((FOLDER / "script.js").read_text(encoding="utf-8")),
        rendered=lambda text: Markup(
            MarkdownIt("js-default").render(text)
        ),  # it lets no HTML through
        figures={figure.stem: figure for figure in board.figures},
        moved=_moved(board, findings),
        colours=sorted(name for name in set(_COLOURS.values()) if name.startswith("c")),
        card_of=lambda path: f"../{path}" if (out.parent / path).is_file() else "",
        tasks={task: task_title(task) for task in systems.task},
    )
    stream.enable_buffering(1000)
    return iter(stream)


@cache
def _environment(*, escape: bool) -> Environment:
    """With the templates that it has compiled, which takes as long as a small page."""
    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=escape,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters["literal"] = literal
    environment.filters["code"] = _code
    return environment


def _code(text: str) -> str:
    """As code in Markdown, which no backtick ends."""
    words = text.replace("`", "'").split()
    return f"`{' '.join(words)}`"


def _content(board: Leaderboard, findings: Mapping[str, Findings]) -> dict[str, Any]:
    """What both pages have."""
    suites = lines_of(board.suites)
    whole = board.systems[board.systems.fraction == ""]
    shown = board.runs[board.runs.hash.isin(board.systems.hash)]
    return {
        "board": board,
        "suites": suites,
        "is_own": bool(suites) and all(suite["is_own"] for suite in suites),
        "has_own": any(suite["is_own"] for suite in suites),
        "headings": _headings(board),
        "sections": {
            suite["name"]: _sections(board, suite["name"]) for suite in suites
        },
        "findings": {
            suite["name"]: findings.get(suite["name"], Findings()) for suite in suites
        },
        "data": {suite: data_lines(group) for suite, group in whole.groupby("suite")},
        "encoders": {suite["name"]: _encoders(suite) for suite in suites},
        "machines": machines(shown),
        "counted": counted,
        "stems": {figure.stem for figure in board.figures},
        "older": superseded(board.runs),
    }


def _headings(board: Leaderboard) -> set[str]:
    """Of all columns; of `gain: elmo − glove` and `gain over tfidf` also `gain`."""
    headings = {heading for table in board.tables for heading in table.columns}
    before = {heading.partition(":")[0] for heading in headings}
    return headings | before | {heading.partition(" over ")[0] for heading in headings}


def _sections(board: Leaderboard, suite: str) -> list[dict[str, Any]]:
    return lines_of(board.sections[board.sections.suite == suite])


def _moved(board: Leaderboard, findings: Mapping[str, Findings]) -> dict[str, str]:
    """The figures that a finding shows, and which does: each is drawn once, and
    pictures are at the top.
    """
    pictures = {picture.stem for picture in board.suites.picture.dropna()}
    moved = {}
    for of_suite in findings.values():
        for finding in of_suite.shown:
            moved.update(
                {stem: finding.name for stem in finding.figures if stem not in pictures}
            )
    return moved


def _encoders(suite: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A description, rank, scores with gains, and cost for each encoder."""
    encoders = []
    for encoder in lines_of(suite["encoders"]):
        scores = suite["scores"][suite["scores"].name == encoder["name"]]
        costs = [(column.heading, column.text(encoder)) for column in cost_formats()]
        encoder["rank"] = rank_text(encoder)
        encoder["scores"] = [_score(line) for line in lines_of(scores)]
        encoder["costs"] = [(heading, text) for heading, text in costs if text]
        encoders.append(encoder)
    return encoders


def _score(line: Mapping[str, Any]) -> dict[str, Any]:
    """The test score of a system, and its gain over the baseline, if it has one."""
    score = {
        key: line[key]
        for key in ("title", "anchor", "checked", "verdict", "conclusion")
    }
    score["over"], score["mark"] = BASELINE, MARKS.get(line["verdict"], "")
    score["text"] = mean_and_sd(line["test_mean"], line["test_sd"])
    gain = present(line["gain"])
    score["gain"] = "" if gain is None else signed(gain)
    return score


def _links(board: Leaderboard, home: Path) -> dict[str, dict[int, str]]:
    """The address of each record, by the anchor of its system and seed."""
    links: dict[str, dict[int, str]] = {}
    for run in rows_of(board.runs):
        path = home / run.paths.record.relative_to(run.paths.ledger)
        links.setdefault(run.anchor, {})[run.seed] = quote(path.as_posix())
    return links


def _entries(
    systems: pd.DataFrame,
) -> Iterator[tuple[Any, list[tuple[int, str, str]], dict[str, str]]]:
    """Each system with its scores by seed and what its entry says below them."""
    for system in rows_of(systems):
        by_seed = zip(system.seeds, system.dev_scores, system.test_scores, strict=True)
        scores = [(seed, f"{dev:.2f}", f"{test:.2f}") for seed, dev, test in by_seed]
        yield system, scores, _facts(system)


def _facts(system: Any) -> dict[str, str]:
    """What the entry of a system says below its scores."""
    share = present(system.share)
    part = ""
    if system.fraction:
        part = ", a fraction of all" if share is None else f", {percent(share)} of all"
    memory = f"{system.peak_memory_mib:,.0f} MiB"
    if system.device == "cpu":
        memory += " with mapped files"
    facts = {
        "trained on": f"{system.train:,} {task_unit(system.task)}{part}",
        "scored on": f"{system.dev_items:,} dev, {system.test_items:,} test",
        "command": command_of(system.spec, system.seeds[0]),
        "changed": system.label or "nothing",
        "data": "; ".join([system.data, *system.notes]),
        "parameters": f"{system.trainable:,} trainable, {system.frozen:,} frozen",
        "best epoch": ", ".join(dict.fromkeys(system.seed_epochs)),
        "converged": (
            f"{system.converged} of {system.n} seeds, protocol {system.protocol}"
        ),
        "cost": f"{system.work_minutes:.1f} minutes, {memory}, a run",
        "made": ", ".join(
            [system.created[:10], system.cpu, system.device, system.precision]
        ),
    }
    if corrections := _corrections(system):
        facts["corrected"] = corrections
    return facts


def _corrections(system: Any) -> str:
    """What was changed in the records of a system after their runs, and why."""
    seeds: dict[str, list[str]] = {}
    for seed, corrected in zip(system.seeds, system.seed_corrected, strict=True):
        for key, why in corrected.items():
            seeds.setdefault(f"{key}: {why}", []).append(str(seed))
    return "; ".join(
        f"seed {', '.join(of_seeds)}, {what}" for what, of_seeds in seeds.items()
    )


def inline(figure: Drawing, *, phone: bool = False) -> str:
    """The drawing as an element of a page; screen readers read a text instead."""
    svg, stem = (
        (figure.phone_svg, f"{figure.stem}-phone")
        if phone
        else (figure.svg, figure.stem)
    )
    svg = svg[svg.index("<svg") :]
    svg = re.sub(
        r"<metadata>.*?</metadata>|<title>.*?</title>|<style.*?</style>",
        "",
        svg,
        flags=re.DOTALL,
    )
    svg = re.sub(r' (width|height)="[\d.]+pt"', "", svg, count=2)
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{stem}-", svg)
    svg = re.sub(r"#[0-9a-f]{6}\b", _as_variable, svg)
    svg = re.sub(r"font-family: [^;\"]+;? ?", "", svg)
    return re.sub(
        r"\n\s*", "\n", svg.replace("<svg", '<svg aria-hidden="true"', 1)
    ).strip()


def _as_variable(colour: re.Match[str]) -> str:
    name = _COLOURS.get(colour[0])
    return f"var(--{name})" if name else colour[0]
