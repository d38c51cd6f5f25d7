"""A table a task: the variants of an experiment, each compared with its reference."""

from collections.abc import Sequence

from elmo_bench.reporting.gains import Gain, Gains, holm_over
from elmo_bench.reporting.groups import Group
from elmo_bench.reporting.rows import Row
from elmo_bench.reporting.table import (
    Cell,
    Column,
    Table,
    gain_cells,
    gain_columns,
    printed,
    score_columns,
    scores,
    untested,
    without_empty,
    words,
)
from elmo_bench.reporting.tasks import paper_heading
from elmo_bench.spec.experiments import Experiment, Variant

VariantRow = tuple[Variant, Row]


def rows(experiment: Experiment, group: Group) -> list[VariantRow]:
    """The rows of the table in order; empty if the group has too few of them.

    An encoder needs `least` variants, counting those that have an encoder of their own, and at least one row of the
    table needs a reference.
    """
    found = [(variant, row) for row in group.rows if (variant := experiment.variant_of(row.spec))]
    fixed = {variant.key for variant, _ in found if variant.encoder}
    own = {row.encoder: {v.key for v, other in found if other.encoder == row.encoder} | fixed for _, row in found}
    kept = [(v, row) for v, row in found if v.encoder or len(own[row.encoder]) >= experiment.least]
    if not any(reference(experiment, pair, kept) for pair in kept):
        return []
    return sorted(kept, key=lambda pair: (experiment.rank(pair[0]), pair[1].encoder))


def reference(experiment: Experiment, pair: VariantRow, among: Sequence[VariantRow]) -> Row | None:
    """The row that a row is compared with: on the same basis and, unless its variant has a fixed encoder, with the same
    encoder. None for the reference itself, or if the row is missing."""
    variant, row = pair
    wanted = experiment.reference
    key = wanted.get(variant.key) if isinstance(wanted, dict) else wanted
    for other_variant, other in among:
        fits = other_variant.key == key if wanted is not None else not other.variation
        same = other_variant.encoder or other.encoder == row.encoder
        if fits and same and other is not row and other.basis == row.basis:
            return other
    return None


def tables(
    experiment: Experiment, suite: str, picked: Sequence[tuple[Group, Sequence[VariantRow]]], gain: Gains
) -> list[Table]:
    """A table for each group and its `rows`; the tests of all of them are one family."""
    every = [(pair, pairs) for _, pairs in picked for pair in pairs]
    compared = [(pair[1], other) for pair, pairs in every if (other := reference(experiment, pair, pairs))]
    tested = holm_over([found for two in compared if (found := gain(*two))])
    gains = {found.ours.anchor: found for found in tested}
    return [_table(experiment, suite, group, pairs, gains) for group, pairs in picked]


def _table(
    experiment: Experiment, suite: str, group: Group, pairs: Sequence[VariantRow], gains: dict[str, Gain]
) -> Table:
    paper = experiment.paper.get(group.task)
    over = experiment.over or str(experiment.reference)
    columns = [Column(experiment.heading, words=True), *score_columns(group.metric), *gain_columns(over)]
    columns += [Column(paper_heading(paper, group.task, suite), ("mean", "sd"))] if paper else []
    body: list[list[Cell]] = []
    for variant, row in pairs:
        own = variant.encoder is not None or row.encoder == experiment.encoder
        name = ", ".join(filter(None, [variant.name if own else f"{row.encoder}: {variant.name}", row.note]))
        body.append([
            words(name, run=row.anchor),
            *scores(row),
            *gain_cells(gains.get(row.anchor)),
            *([printed(paper.figures.get(variant.key) if own else None)] if paper else []),
        ])  # fmt: skip
    return Table(
        f"{group.stem()}-{experiment.name}",
        f"{experiment.caption}: {group.heading()}, suite {suite}",
        *without_empty(columns, body),
        [group.task] * len(body),
        notes=untested(gains[row.anchor] for _, row in pairs if row.anchor in gains),
    )
