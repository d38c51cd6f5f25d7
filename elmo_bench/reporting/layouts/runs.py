"""Every run, whatever it changed."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from elmo_bench.reporting.gains import Gains, family_of, over_baseline
from elmo_bench.reporting.groups import Group
from elmo_bench.reporting.table import (
    EXPLORATORY,
    Column,
    Line,
    Table,
    gain_cells,
    make_table,
    number,
    printed,
    scores,
    words,
)
from elmo_bench.spec.experiments import MAIN, Experiment, experiments

ABOUT = (
    "Every run, best test score first; of many runs the best ones, and the others on request. Runs on fractions of the "
    "training data are in tables of their own, unless they belong to a learning curve above."
)

BEST = 20  # runs of a table that are always shown


def tables(groups: Sequence[Group], gain: Gains) -> list[Table]:
    """A table for each of the `listed` groups."""
    return [_table(group, gain) for group in listed(groups)]


def listed(groups: Sequence[Group]) -> list[Group]:
    """The groups without those whose runs are all points of a learning curve."""
    curves = [experiment for experiment in map(Experiment.load, experiments()) if experiment.layout == "fractions"]
    whole = {(group.suite, group.task) for group in groups if not group.basis.fraction}

    def is_curve(group: Group) -> bool:
        drawn = all(any(curve.variant_of(row.spec) for curve in curves) for row in group.rows)
        return bool(group.basis.fraction) and (group.suite, group.task) in whole and drawn

    return [group for group in groups if not is_curve(group)]


def _table(group: Group, gain: Gains) -> Table:
    paper = Experiment.load(MAIN).paper.get(group.task) if not group.basis.fraction else None
    gains = family_of(over_baseline(group.rows), gain)
    lines: list[Line] = []
    for row in group.rows:
        run, variant = row.anchor, None if row.changes else row.spec.encoder
        lines.append(
            {
                Column("run", words=True): words(row.label, run=run),
                **scores(row, group.metric),
                **gain_cells(gains.get(run)),
                Column("trainable"): number(row.newest["parameters"]["trainable"], ",", run=run),
                Column("tokens/s"): number(row.cost("tokens_per_second"), ",.0f", run=run),
                Column("minutes a run"): number(row.cost("seconds") / 60, ".1f", run=run),
                **printed(paper, variant, task=group.task, suite=group.suite),
            }
        )
    amount = group.fraction or "all of the data"
    title = f"{group.any_amount.heading}, suite {group.suite}: all runs on {amount}"
    tasks = [group.task] * len(lines)
    notes = [EXPLORATORY, spent(group)]
    table = make_table(f"{group.stem}-runs", title, lines, tasks=tasks, gains=gains.values(), notes=notes)
    return replace(table, folded=frozenset(range(BEST, len(group.rows))))


def spent(group: Group) -> str:
    """A sentence: the core-hours of its runs on processors, and the hours on each kind of GPU.

    A core-hour is an hour of wall time for each thread. Several runs may have shared a GPU, each with all of its hours.
    """
    hours: defaultdict[str, float] = defaultdict(float)
    for record in (record for row in group.rows for record in row.records):
        environment = record["environment"]
        on_gpu = environment["device"] != "cpu"
        unit = f"hours on {environment['device']}" if on_gpu else "core-hours"
        hours[unit] += record["cost"]["seconds"] / 3600 * (1 if on_gpu else environment["threads"])
    runs = sum(len(row.records) for row in group.rows)
    amounts = " and ".join(f"{number:,.1f} {unit}" for unit, number in sorted(hours.items()))
    return f"{runs:,} runs took {amounts}." if runs > 1 else f"The run took {amounts}."
