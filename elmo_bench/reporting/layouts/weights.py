"""What the mixes learned: the weight of each layer, by task and place."""

from collections.abc import Sequence
from dataclasses import dataclass

from elmo_bench.reporting.groups import Group
from elmo_bench.reporting.rows import Row
from elmo_bench.reporting.statistics import Summary, summarise
from elmo_bench.reporting.table import SPREAD, Cell, Column, Table, number, spread, without_empty, words
from elmo_bench.spec.experiments import Experiment


@dataclass(frozen=True)
class Mix:
    """One mix at the best epoch, over seeds."""

    group: Group
    row: Row
    place: str  # input or output
    gamma: Summary
    weights: tuple[Summary, ...]  # lowest layer first


def learned(groups: Sequence[Group]) -> list[Mix]:
    """For each group, encoder and place the learned weights of the default run.

    If the default run has no mix at that place, another run's are used that differs in the place alone.
    """
    return [mix for group in groups if not group.basis.fraction for mix in _of_group(group)]


def tables(experiment: Experiment, suite: str, mixes: Sequence[Mix]) -> list[Table]:
    """One table: every mix of every task."""
    if not mixes:
        return []
    deepest = max(len(mix.weights) for mix in mixes)
    columns = [Column("task", words=True), Column("encoder", words=True), Column("place", words=True)]
    columns += [Column("γ", SPREAD), *(Column(f"layer {k}", SPREAD) for k in range(deepest)), Column("λ")]
    body = []
    for mix in mixes:
        run = mix.row.anchor
        layers = [spread(weight, run=run) for weight in mix.weights]
        layers += [Cell("")] * (deepest - len(layers))
        body.append([
            words(mix.group.heading(), run=run),
            words(mix.row.encoder),
            words(mix.place),
            spread(mix.gamma, run=run),
            *layers,
            number(mix.row.spec.settings.get("mix.penalty"), "g"),
        ])  # fmt: skip
    title = f"Learned weights of the layers at the best epoch, suite {suite}"
    stem, tasks = f"{suite}-{experiment.name}", [mix.group.task for mix in mixes]
    return [Table(stem, title, *without_empty(columns, body), tasks)]


def _of_group(group: Group) -> list[Mix]:
    rows = [r for r in group.rows if r.variation.keys() <= {"place"} and r.spec.settings.get("mix") == "scalar"]
    found: dict[tuple[str, str], Mix] = {}
    for row in sorted(rows, key=lambda row: (bool(row.variation), row.variation.get("place") != "both", row.label)):
        for mix in mixes_of(group, row):
            found.setdefault((row.encoder, mix.place), mix)
    return [found[key] for key in sorted(found)]


def mixes_of(group: Group, row: Row) -> list[Mix]:
    """By place; none for a row without a mix."""
    epochs = [r["layer_weights"][r["epochs"]["best"] - 1] for r in row.records if r["layer_weights"]]
    found = []
    for place in sorted({place for epoch in epochs for place in epoch}):
        mixes = [epoch[place] for epoch in epochs if place in epoch]
        layers = tuple(summarise(layer) for layer in zip(*(mix["weights"] for mix in mixes), strict=True))
        found.append(Mix(group, row, place, summarise(mix["gamma"] for mix in mixes), layers))
    return found
