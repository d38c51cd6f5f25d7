"""Tasks by encoders: the scores at a glance, and the gains behind them."""

from collections.abc import Sequence
from dataclasses import dataclass

from elmo_bench.reporting.gains import Gain, Gains, holm_over, over_baseline
from elmo_bench.reporting.groups import Group
from elmo_bench.reporting.rows import BASELINE, Row
from elmo_bench.reporting.table import (
    JUDGED,
    Cell,
    Column,
    Table,
    gain_cells,
    gain_columns,
    seeds,
    spread,
    untested,
    without_empty,
    words,
)
from elmo_bench.reporting.tasks import task_info
from elmo_bench.spec.experiments import Experiment


@dataclass(frozen=True)
class Picked:
    """The runs of a group that compare encoders, by encoder: those that the experiment names first."""

    group: Group
    rows: dict[str, Row]
    gains: dict[str, Gain]  # over the baseline; by encoder, without the baseline


def picked(experiment: Experiment, groups: Sequence[Group], gain: Gains) -> list[Picked]:
    """Each group on all of the data that has such runs; the tests of all groups are one family."""
    found = [(group, _rows(experiment, group)) for group in groups if not group.basis.fraction]
    tested = holm_over([one for _, rows in found for one in over_baseline(list(rows.values()), gain)])
    by_run = {one.ours.anchor: one for one in tested}
    return [
        Picked(group, rows, {name: by_run[row.anchor] for name, row in rows.items() if row.anchor in by_run})
        for group, rows in found
        if rows
    ]


def tables(experiment: Experiment, suite: str, picked: Sequence[Picked]) -> list[Table]:
    """Scores; then, if there is anything to compare, gains."""
    if not picked:
        return []
    compared = any(one.gains for one in picked)
    return [_glance(experiment, suite, picked), *([_gains(experiment, suite, picked)] if compared else [])]


def _rows(experiment: Experiment, group: Group) -> dict[str, Row]:
    compared = [row for row in group.rows if experiment.variant_of(row.spec)]
    found = {", ".join(filter(None, [row.encoder, row.note])): row for row in compared}
    return {name: found[name] for name in sorted(found, key=lambda name: _rank(experiment, name))}


def _glance(experiment: Experiment, suite: str, picked: Sequence[Picked]) -> Table:
    encoders = sorted({name for one in picked for name in one.rows}, key=lambda name: _rank(experiment, name))
    body = []
    for one in picked:
        info, paper = task_info(one.group.task, suite), experiment.paper.get(one.group.task)
        both = " → ".join(str(paper.figures[name]) for name in (BASELINE, experiment.encoder)) if paper else ""
        metric = "/".join(sorted({row.newest["metric"] for row in one.rows.values()}))
        body.append([
            words(one.group.heading()),
            *(_judged(one.rows.get(name), one.gains.get(name)) for name in encoders),
            words(metric),
            words(_trained_on(one.group)),
            words(info.beside_paper(f"{paper.scored}: {both}") if paper else ""),
        ])  # fmt: skip
    columns = [Column("task", words=True), *(Column(name, JUDGED) for name in encoders), Column("score", words=True)]
    columns += [Column("trained on", words=True)]
    columns += [Column(f"the paper, {BASELINE} → {experiment.encoder}", words=True)]
    tasks = [one.group.task for one in picked]
    return Table(f"{suite}-glance", f"Test scores, suite {suite}", *without_empty(columns, body), tasks)


def _judged(row: Row | None, gain: Gain | None) -> Cell:
    if row is None:
        return Cell("")
    hint = gain.verdict or "not tested" if gain else ""
    return spread(row.summary("test"), run=row.anchor, mark=gain.mark if gain else "", hint=hint)


def _gains(experiment: Experiment, suite: str, picked: Sequence[Picked]) -> Table:
    body: list[list[Cell]] = []
    tasks: list[str] = []
    for one in picked:
        for name, gain in one.gains.items():
            paper = experiment.paper.get(one.group.task) if name == experiment.encoder else None
            printed = task_info(one.group.task, suite).beside_paper(f"+{paper.gain}, {paper.scored}") if paper else ""
            tasks.append(one.group.task)
            body.append([
                words(one.group.heading()),
                words(name),
                seeds(gain.seeds, gain.ours.anchor),
                *gain_cells(gain, test=True),
                words(printed),
            ])  # fmt: skip
    columns = [Column("task", words=True), Column("encoder", words=True), Column("seeds"), *gain_columns(test=True)]
    columns += [Column("the paper's gain", words=True)]
    title = f"Gains over {BASELINE} on test, suite {suite}"
    notes = untested(gain for one in picked for gain in one.gains.values())
    return Table(f"{suite}-gains", title, *without_empty(columns, body), tasks, notes=notes)


def _trained_on(group: Group) -> str:
    """The data set and how many examples of it, out of how many in the paper."""
    if group.whole is None:
        return "no run on all of it"
    info = task_info(group.task, group.suite)
    of = f" (paper: {info.trained:,})" if info.trained and info.trained != group.whole else ""
    return (f"{info.data}: " if info.data else "") + f"{group.whole:,} {info.unit}{of}"


def _rank(experiment: Experiment, name: str) -> tuple[int, str]:
    order = [variant.key for variant in experiment.variants]
    return order.index(name) if name in order else len(order), name
