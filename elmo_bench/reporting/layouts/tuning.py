"""The learning rate of each task, chosen for the baseline on dev, and the gain if each encoder had its own rate."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from elmo_bench.reporting.gains import Gains
from elmo_bench.reporting.groups import Group
from elmo_bench.reporting.layouts import Made
from elmo_bench.reporting.rows import BASELINE, Row
from elmo_bench.reporting.table import SPREAD, Cell, Column, Line, Table, make_table, number, spread, words
from elmo_bench.spec.experiments import Experiment
from elmo_bench.spec.settings import RATE

NOTE = (
    "Exploratory. × 1 is the task's learning rate of today. It stays unless another is better for "
    f"{BASELINE}, over the same seeds, by more than one point and by more than twice the standard error of the "
    f"difference. Gains are of dev scores over {BASELINE}."
)

Tuned = dict[str, dict[float, Row]]  # by encoder and factor


def made(experiment: Experiment, suite: str, groups: Sequence[Group], gain: Gains) -> Made:
    """One table, a row a task and encoder; none without a task that has the baseline at two rates or more."""
    found = [(group, tuned(experiment, group)) for group in groups if not group.basis.fraction]
    return tables(experiment, suite, [(g, own) for g, own in found if len(own.get(BASELINE, {})) > 1]), []


def tuned(experiment: Experiment, group: Group) -> Tuned:
    """The runs of a group that differ in the learning rate and in what else the experiment sweeps, with its seeds.

    Of encoders (with these other changes) that have several rates, and of the baseline.
    """
    seeds = experiment.values("seed") or [0]
    found: Tuned = {}
    for row in group.rows:
        records = tuple(record for record in row.records if record["seed"] in seeds)
        if records and (variant := experiment.variant_of(row.spec)):
            other = [f"{key}={value}" for key, value in row.variation.items() if key != RATE]
            name = ", ".join([row.encoder, *other])
            found.setdefault(name, {})[variant.options[experiment.axis]] = replace(row, records=records)
    order = sorted(found, key=lambda name: (name != BASELINE, name))
    return {name: dict(sorted(found[name].items())) for name in order if name == BASELINE or len(found[name]) > 1}


def chosen(rows: Mapping[float, Row]) -> float:
    """The factor with the best dev score; of equal ones the nearest to 1."""
    return max(rows, key=lambda factor: (rows[factor].summary("dev").mean, -abs(factor - 1)))


def tables(experiment: Experiment, suite: str, found: Sequence[tuple[Group, Tuned]]) -> list[Table]:
    if not found:
        return []
    factors = sorted({factor for _, own in found for rows in own.values() for factor in rows})
    lines: list[Line] = []
    for group, own in found:
        baseline = own[BASELINE]
        best_of_baseline = baseline[chosen(baseline)]
        for name, rows in own.items():
            best = chosen(rows)
            lines.append(
                {
                    Column("task", words=True): words(group.heading),
                    Column("encoder", words=True): words(name),
                    Column("dev", words=True): words(group.metric),
                    **{Column(f"× {factor:g}", SPREAD): _dev(rows.get(factor)) for factor in factors},
                    Column("± seeds"): number(_over_seeds(group, rows.get(1)), ".2f"),
                    Column("best"): number(best, "g", run=rows[best].anchor),
                    Column("its rate"): number(rows[best].spec.settings[RATE], "g", run=rows[best].anchor),
                    Column("gain at × 1"): _gain(rows.get(1), baseline.get(1), name),
                    Column("gain, each at its best"): _gain(rows[best], best_of_baseline, name),
                }
            )
    title, tasks = f"{experiment.caption}: learning rates, suite {suite}", [g.task for g, own in found for _ in own]
    return [make_table(f"{suite}-{experiment.name}", title, lines, tasks=tasks, notes=[NOTE])]


def _dev(row: Row | None) -> Cell:
    return spread(row.summary("dev"), run=row.anchor, mark=row.mark) if row else Cell("")


def _over_seeds(group: Group, row: Row | None) -> float | None:
    """The standard deviation of the dev score over all seeds of this run, not the experiment's alone."""
    return next((every.summary("dev").sd for every in group.rows if row and every.spec == row.spec), None)


def _gain(ours: Row | None, theirs: Row | None, name: str) -> Cell:
    """Of dev scores; empty for the baseline itself."""
    if ours is None or theirs is None or name == BASELINE:
        return Cell("")
    mark = ours.mark or theirs.mark
    return number(
        ours.summary("dev").mean - theirs.summary("dev").mean, "+.2f", run=ours.anchor, suffix=f" {mark}".rstrip()
    )
