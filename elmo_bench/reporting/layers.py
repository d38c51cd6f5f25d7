"""What the mixes learned: the weight of each layer, by task and place."""

from collections.abc import Sequence
from dataclasses import dataclass

from elmo_bench.reporting.like import Group
from elmo_bench.reporting.scores import heading
from elmo_bench.reporting.select import Row
from elmo_bench.reporting.statistics import Summary, summarise
from elmo_bench.reporting.table import Cell, Column, Table, number, spread, without_empty, words


@dataclass(frozen=True)
class Mix:
    """One mix at the best epoch, over seeds."""

    row: Row
    place: str  # input or output
    gamma: Summary
    weights: tuple[Summary, ...]  # lowest layer first


def mixes_of(row: Row) -> list[Mix]:
    """By place; none for a row without a mix."""
    epochs = [r["layer_weights"][r["epochs"]["best"] - 1] for r in row.records if r["layer_weights"]]
    found = []
    for place in sorted({place for epoch in epochs for place in epoch}):
        mixes = [epoch[place] for epoch in epochs if place in epoch]
        layers = tuple(summarise(layer) for layer in zip(*(mix["weights"] for mix in mixes), strict=True))
        found.append(Mix(row, place, summarise(mix["gamma"] for mix in mixes), layers))
    return found


def learned(group: Group) -> list[Mix]:
    """Of each encoder and place the plain run's learned weights, or where it has not the place, those of the run that
    has it and differs in nothing else."""
    rows = [row for row in group.whole if row.variation.keys() <= {"place"} and _learns(row)]
    found: dict[tuple[str, str], Mix] = {}
    for row in sorted(rows, key=lambda row: (bool(row.variation), row.variation.get("place", "") != "both", row.label)):
        for mix in mixes_of(row):
            found.setdefault((row.encoder, mix.place), mix)
    return [found[key] for key in sorted(found)]


def layer_tables(groups: Sequence[Group]) -> list[Table]:
    """A table a suite: every mix of every task."""
    mixes = [(group, mix) for group in groups for mix in learned(group)]
    if not mixes:
        return []
    deepest = max(len(mix.weights) for _, mix in mixes)
    columns = [Column("task", words=True), Column("encoder", words=True), Column("place", words=True)]
    columns += [Column("γ", ("mean", "sd", "n")), *(Column(f"layer {k}", ("mean", "sd", "n")) for k in range(deepest))]
    columns += [Column("λ")]
    body = []
    for group, mix in mixes:
        run = mix.row.anchor
        penalty = mix.row.newest["identity"]["settings"].get("mix", {}).get("penalty")
        layers = [spread(weight, run=run) for weight in mix.weights]
        layers += [Cell("")] * (deepest - len(layers))
        body.append([
            words(heading(group), run=run),
            words(mix.row.encoder),
            words(mix.place),
            spread(mix.gamma, run=run),
            *layers,
            number(penalty, "g"),
        ])  # fmt: skip
    suite = groups[0].suite
    title = f"Learned weights of the layers at the best epoch, suite {suite}"
    return [Table(f"{suite}-figure2", title, *without_empty(columns, body), [group.task for group, _ in mixes])]


def _learns(row: Row) -> bool:
    return (row.newest["identity"]["settings"].get("mix") or {}).get("kind", "scalar") == "scalar"
