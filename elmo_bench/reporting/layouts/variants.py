"""A table a task: the variants of an experiment, each compared with its reference."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from elmo_bench.ledger.formulas import formula
from elmo_bench.reporting.canvas import Drawing, label, line, look, small
from elmo_bench.reporting.controls import Controls, selectivity
from elmo_bench.reporting.gains import Gain, Gains, family_of
from elmo_bench.reporting.groups import Group
from elmo_bench.reporting.layouts import Made
from elmo_bench.reporting.rows import Row
from elmo_bench.reporting.statistics import summarise
from elmo_bench.reporting.table import (
    SPREAD,
    Cell,
    Column,
    Line,
    Table,
    gain_cells,
    make_table,
    number,
    printed,
    scores,
    spread,
    words,
)
from elmo_bench.spec.experiments import Experiment, Variant

EXPLORATORY_ON_DEV = "Exploratory, and judged on dev, as the paper's ablations are."

VariantRow = tuple[Variant, Row]


def made(experiment: Experiment, suite: str, groups: Sequence[Group], gain: Gains) -> Made:
    """A table for each group that has enough rows and, for the layout `line`, a figure."""
    picked = [(group, found) for group in groups if (found := rows(experiment, group))]
    drawn = [_figure(experiment, group, pairs) for group, pairs in picked] if experiment.layout == "line" else []
    return tables(experiment, picked, gain, Controls.of(groups)), drawn


def rows(experiment: Experiment, group: Group) -> list[VariantRow]:
    """The rows of the table in order, other encoders last; empty if the group has too few of them.

    An encoder needs `least` variants, counting those that have an encoder of their own; rows of these are shown if
    any encoder has enough. At least one row of the table needs a reference.
    """
    found = [(variant, row) for row in group.rows if (variant := experiment.variant_of(row.spec))]
    fixed = {variant.key for variant, _ in found if variant.encoder}
    own = {row.encoder: {v.key for v, other in found if other.encoder == row.encoder} | fixed for _, row in found}
    enough = {encoder for encoder, keys in own.items() if len(keys) >= experiment.least}
    kept = [(v, row) for v, row in found if row.encoder in enough or (v.encoder and enough)]
    if not any(reference(experiment, pair, kept) for pair in kept):
        return []
    return sorted(kept, key=lambda pair: ("" if _own(experiment, pair) else pair[1].encoder, experiment.rank(pair[0])))


def _own(experiment: Experiment, pair: VariantRow) -> bool:
    """Whether the variant alone says what was run, as it has the experiment's encoder or a fixed one."""
    variant, row = pair
    return variant.encoder is not None or row.encoder == experiment.encoder


def reference(experiment: Experiment, pair: VariantRow, among: Sequence[VariantRow]) -> Row | None:
    """The row that a row is compared with: on the same basis and, unless its variant has a fixed encoder, with the same
    encoder. None for the reference itself, or if the row is missing."""
    variant, row = pair
    keys = experiment.references(variant.key)
    for other_variant, other in among:
        fits = other_variant.key in keys if experiment.reference is not None else not other.variation
        same = other_variant.encoder or other.encoder == row.encoder
        if fits and same and other is not row and other.basis == row.basis:
            return other
    return None


def tables(
    experiment: Experiment,
    picked: Sequence[tuple[Group, Sequence[VariantRow]]],
    gain: Gains,
    controls: Controls | None = None,
) -> list[Table]:
    """A table for each group and its `rows`; the tests of all of them are one family, judged on dev.

    `controls`: runs on control labels, which give a column of selectivity.
    """
    pairs = [(pair[1], reference(experiment, pair, own)) for _, own in picked for pair in own]
    gains = family_of(pairs, gain, split="dev")
    return [_table(experiment, group, pairs, gains, controls or Controls({})) for group, pairs in picked]


def _table(
    experiment: Experiment, group: Group, pairs: Sequence[VariantRow], gains: dict[str, Gain], controls: Controls
) -> Table:
    paper = experiment.paper.get(group.task)
    over = experiment.over or str(experiment.reference)
    lines: list[Line] = []
    for variant, row in pairs:
        gain = gains.get(row.anchor)
        fixed, own = _own(experiment, (variant, row)), selectivity(row, controls)
        name = ", ".join(filter(None, [variant.name if fixed else f"{row.encoder}: {variant.name}", row.note]))
        lines.append(
            {
                Column(experiment.heading, words=True): words(name, run=row.anchor),
                **scores(row, group.metric),
                **_pooled(experiment, row),
                Column("selectivity", SPREAD): spread(own, run=row.anchor) if own else Cell(""),
                **gain_cells(gain, over, split="dev"),
                Column("test gain"): number(gain.on("test") if gain else None, "+.2f", run=row.anchor),
                **printed(paper, variant.key if fixed else None, task=group.task, suite=group.suite),
            }
        )
    title = f"{experiment.caption}: {group.heading}, suite {group.suite}"
    stem, mine = f"{group.stem}-{experiment.name}", [gains.get(row.anchor) for _, row in pairs]
    return make_table(stem, title, lines, tasks=[group.task] * len(lines), gains=mine, notes=[EXPLORATORY_ON_DEV])


def _pooled(experiment: Experiment, row: Row) -> Line:
    """The score on dev and test together, from the counts in the scores of both."""
    if not experiment.pooled:
        return {}
    how = formula(row.newest["formula"], row.spec.task)
    found = []
    for record in row.records:
        dev, test = (record["scores"][split]["overall"] for split in ("dev", "test"))  # type: ignore[literal-required]
        if not {*how.outcomes} <= dev.keys() & test.keys():
            return {Column(experiment.pooled, SPREAD): Cell("")}
        found.append(how.score_of({name: np.array([dev[name], test[name]]) for name in how.outcomes}))
    return {Column(experiment.pooled, SPREAD): spread(summarise(found), run=row.anchor)}


def _figure(experiment: Experiment, group: Group, pairs: Sequence[VariantRow]) -> Drawing:
    """Scores over the values of an option, for runs that differ in it alone."""
    by_encoder: dict[str, list[tuple[float, Row]]] = {}
    for variant, row in pairs:
        by_encoder.setdefault(row.encoder, []).append((experiment.rank(variant), row))
    looks, name, title = look(list(by_encoder)), experiment.heading, label(group)
    values = [value for points in by_encoder.values() for value, _ in points]

    def paint(axes: Axes) -> None:
        for encoder, points in by_encoder.items():
            xs, rows = zip(*sorted(points, key=lambda point: point[0]), strict=True)
            line(axes, xs, rows, looks[encoder], f"{encoder}, test")
            dev = [row.summary("dev").mean for row in rows]
            style: dict[str, Any] = {"color": looks[encoder][0], "linewidth": 1, "linestyle": (0, (3, 2))}
            axes.plot(xs, dev, label=f"{encoder}, dev", **style)
        if 0 in values:
            axes.set_xscale("symlog", linthresh=min((value for value in values if value > 0), default=1.0))
        else:
            axes.set_xscale("log")
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set(title=title, xlabel=name, ylabel=group.metric)
        axes.figure.legend(loc="outside lower left", ncols=2)

    said = "; ".join(f"{row.encoder} {name} = {v.key}: {row.summary('test').mean:.2f}" for v, row in pairs)
    alt = f"Test {group.metric} by {name}. {said}."
    heading = f"{name}: {group.heading}, suite {group.suite}"
    return Drawing(f"{group.stem}-{experiment.name}", heading, alt, paint, size=small(title), task=group.task)
