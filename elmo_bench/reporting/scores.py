"""The tables of results: one glance, the gains behind it, and all runs of a task."""

from collections.abc import Iterable, Sequence

from elmo_bench.reporting.gains import Gain, Gains, holm_over, over_baseline
from elmo_bench.reporting.like import Group
from elmo_bench.reporting.paper import about, column
from elmo_bench.reporting.select import BASELINE, Row
from elmo_bench.reporting.table import (
    JUDGED,
    SCORE,
    SPREAD,
    Cell,
    Column,
    Table,
    between,
    number,
    p_value,
    printed,
    score,
    spread,
    without_empty,
    words,
)  # fmt: skip

FIRST = ("none", BASELINE, "elmo")  # then the others by name
ABLATIONS = ("elmo_only", "elmo_characters")  # parts of ELMo: they have a table of their own
INTERVAL = Column("95 % over seeds", ("low", "high"))


def plain_rows(group: Group) -> dict[str, Row]:
    """The runs that compare encoders, on all of the data and with nothing else changed, by encoder."""
    rows = {row.label: row for row in group.whole if _compares(row)}
    return {name: rows[name] for name in sorted(rows, key=_encoder_order)}


def glance(suite: str, groups: Sequence[Group], gains: Sequence[Gain]) -> Table:
    """Tasks by encoders, each marked by how it stands to the baseline; `gains` are those of `gain_table`."""
    plain = [(group, by_encoder) for group in groups if (by_encoder := plain_rows(group))]
    encoders = sorted({name for _, rows in plain for name in rows}, key=_encoder_order)
    marks = {gain.ours.anchor: gain for gain in gains}
    rows = []
    for group, by_encoder in plain:
        paper, cells = column(group.task, suite, "table1"), []
        for encoder in encoders:
            row = by_encoder.get(encoder)
            gain = row and marks.get(row.anchor)
            cells.append(
                spread(
                    row.summary("test"),
                    run=row.anchor,
                    mark=gain.mark if gain else "",
                    hint=gain.verdict or "not tested" if gain else "",
                )
                if row
                else Cell("")
            )
        printed_ = " → ".join(str(paper.variants[name]) for name in (BASELINE, "elmo")) if paper else ""
        theirs = f"{paper.on}: {printed_}" + (f" ({paper.mark})" if paper.mark else "") if paper else ""
        metric = "/".join(sorted({row.newest["metric"] for row in by_encoder.values()}))
        rows.append([words(heading(group)), *cells, words(metric), words(trained_on(group)), words(theirs)])
    columns = [Column("task", words=True), *(Column(name, JUDGED) for name in encoders), Column("score", words=True)]
    columns += [Column("trained on", words=True), Column(f"the paper, {BASELINE} → elmo", words=True)]
    tasks = [group.task for group, _ in plain]
    return Table(f"{suite}-glance", f"Test scores, suite {suite}", *without_empty(columns, rows), tasks)


def plain_gains(groups: Sequence[Group], gain: Gains) -> list[Gain]:
    """Every encoder against the baseline in every task, the tests adjusted for all of them."""
    return holm_over([found for group in groups for found in over_baseline(list(plain_rows(group).values()), gain)])


def gain_table(suite: str, groups: Sequence[Group], gains: Sequence[Gain]) -> Table:
    """How much each encoder gains, and how sure that is."""
    rows: list[list[Cell]] = []
    tasks: list[str] = []
    for group in groups:
        names = {row.anchor: name for name, row in plain_rows(group).items()}
        for gain in gains:
            if gain.ours.anchor not in names:
                continue
            tasks.append(group.task)
            paper = column(group.task, suite, "table1") if names[gain.ours.anchor] == "elmo" else None
            theirs = f"+{paper.gain}, {paper.on}" + (f" ({paper.mark})" if paper.mark else "") if paper else ""
            rows.append([
                words(heading(group)),
                words(names[gain.ours.anchor]),
                which(gain.seeds, run=gain.ours.anchor),
                *gain_cells(gain, test=True),
                words(theirs),
            ])  # fmt: skip
    columns = [Column("task", words=True), Column("encoder", words=True), Column("seeds"), *gain_columns(test=True)]
    columns += [Column("the paper's gain", words=True)]
    title = f"Gains over {BASELINE} on test, suite {suite}"
    return Table(f"{suite}-gains", title, *without_empty(columns, rows), tasks, notes=untested(gains))


def runs_table(group: Group, gain: Gains) -> Table:
    """Every run of a task on all of its data, best test score first; those on part of it where there is none."""
    rows = group.whole or list(group.rows)
    paper = column(group.task, group.suite, "table1") if group.whole else None
    gains = holm_over(over_baseline(rows, gain))
    by_run = {g.ours.anchor: g for g in gains}
    metric = "/".join(sorted({row.newest["metric"] for row in rows}))
    columns = [Column("run", words=True), Column(f"dev {metric}", SCORE), Column(f"test {metric}", SCORE)]
    columns += [Column("seeds"), *gain_columns(), Column("trainable"), Column("tokens/s"), Column("minutes a run")]
    columns += [Column(paper.heading, ("mean", "sd"))] if paper else []
    body = []
    for row in rows:
        name = row.newest["encoder"] if not row.changes else ""
        body.append([
            words(row.label, run=row.anchor),
            *(score(row.summary(split), run=row.anchor) for split in ("dev", "test")),
            seeds(row),
            *gain_cells(by_run.get(row.anchor)),
            number(row.newest["parameters"]["trainable"], ",", run=row.anchor),
            number(row.cost("tokens_per_second"), ",.0f", run=row.anchor),
            number(row.cost("seconds") / 60, ".1f", run=row.anchor),
            *([printed(paper.variants.get(name))] if paper else []),
        ])  # fmt: skip
    told = (
        "all runs on the whole of the data" if group.whole else "on part of the data, as no run on the whole is there"
    )
    title = f"{heading(group)}, suite {group.suite}: {told}"
    return Table(
        f"{group.stem}-runs", title, *without_empty(columns, body), [group.task] * len(body), notes=untested(gains)
    )


def gain_columns(over: str = BASELINE, *, test: bool = False) -> list[Column]:
    """Headings of `gain_cells`."""
    found = [
        Column(f"gain over {over}", SPREAD),
        INTERVAL,
        Column("fewer errors"),
        Column("p (Holm)"),
        Column("verdict", words=True),
    ]
    return [*found, *([Column("p"), Column("items"), Column("test", words=True)] if test else [])]


def gain_cells(gain: Gain | None, *, test: bool = False) -> list[Cell]:
    """Gain, interval, relative error reduction, adjusted p, verdict; then p before it was adjusted, and the test."""
    if gain is None:
        return [Cell("")] * len(gain_columns(test=test))
    found, run, verdict = gain.comparison, gain.ours.anchor, gain.verdict or "not tested"
    cells = [
        spread(gain.summary, run=run, sign=True),
        between(gain.interval, run=run),
        number(gain.reduction, ".1f", run=run, suffix=" %"),
        p_value(found.p_holm if found else None, run=run),
        Cell(f"{gain.mark} {verdict}".strip(), (verdict,), run),
    ]
    if not test:
        return cells
    if not found:
        return [*cells, Cell(""), Cell(""), words("none")]
    told = words(found.test.removeprefix("approximate "))
    return [*cells, p_value(found.p, run=run), number(found.items, ",", run=run), told]


def seeds(row: Row) -> Cell:
    """Of a row: how many, and which."""
    return which(row.seeds, run=row.anchor)


def which(found: Sequence[int], *, run: str) -> Cell:
    """How many seeds, and which; a program reads which, and how many beside the mean."""
    named = ", ".join(map(str, found))
    return Cell(f"{len(found)} ({named})", (named,), run, tuple(found))


def trained_on(group: Group) -> str:
    """Data set and how many examples of it, of how many in the paper."""
    if group.most is None:
        return "no run on the whole"
    info, count = about(group.task, group.suite), group.most.newest["data"]["counts"]["train"]
    of = f" (paper: {info.trained:,})" if info.trained and info.trained != count else ""
    return (f"{info.data}: " if info.data else "") + f"{count:,} {info.unit}{of}"


def untested(gains: Iterable[Gain]) -> list[str]:
    """Why comparisons have no p, each reason once."""
    return [f"Not tested: {reason}." for reason in dict.fromkeys(g.untested for g in gains if g.untested)]


def heading(group: Group) -> str:
    """The task in words and by name, with what sets the group apart."""
    title = about(group.task, group.suite).title
    return group.name if title == group.task else f"{title} ({group.name})"


def _compares(row: Row) -> bool:
    return not row.variation and row.newest["encoder"] not in ABLATIONS


def _encoder_order(name: str) -> tuple[int, str]:
    return FIRST.index(name) if name in FIRST else len(FIRST), name
