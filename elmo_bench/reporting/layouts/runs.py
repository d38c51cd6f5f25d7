"""Every run, whatever it changed."""

from collections.abc import Sequence

from elmo_bench.reporting.gains import Gains, holm_over, over_baseline
from elmo_bench.reporting.groups import Group
from elmo_bench.reporting.table import (
    Cell,
    Column,
    Table,
    gain_cells,
    gain_columns,
    number,
    printed,
    score_columns,
    scores,
    untested,
    without_empty,
    words,
)
from elmo_bench.reporting.tasks import paper_heading
from elmo_bench.spec.experiments import MAIN, Experiment, experiments

ABOUT = (
    "Every run, best test score first. Runs on fractions of the training data are in tables of their own, unless they "
    "belong to a learning curve above."
)


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
    gains = holm_over(over_baseline(group.rows, gain))
    by_run = {found.ours.anchor: found for found in gains}
    columns = [Column("run", words=True), *score_columns(group.metric), *gain_columns()]
    columns += [Column("trainable"), Column("tokens/s"), Column("minutes a run")]
    columns += [Column(paper_heading(paper, group.task, group.suite), ("mean", "sd"))] if paper else []
    body: list[list[Cell]] = []
    for row in group.rows:
        run = row.anchor
        body.append([
            words(row.label, run=run),
            *scores(row),
            *gain_cells(by_run.get(run)),
            number(row.newest["parameters"]["trainable"], ",", run=run),
            number(row.cost("tokens_per_second"), ",.0f", run=run),
            number(row.cost("seconds") / 60, ".1f", run=run),
            *([printed(None if row.changes else paper.figures.get(row.spec.encoder))] if paper else []),
        ])  # fmt: skip
    amount = group.fraction or "all of the data"
    title = f"{group.heading(fraction=False)}, suite {group.suite}: all runs on {amount}"
    tasks = [group.task] * len(body)
    return Table(f"{group.stem()}-runs", title, *without_empty(columns, body), tasks, notes=untested(gains))
