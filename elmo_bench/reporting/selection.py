"""Which systems belong to an experiment, as which of its variants, and what each is
compared with.
"""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from elmo_bench.reporting.columns import variation_of
from elmo_bench.reporting.frame import rows_where
from elmo_bench.reporting.names import is_probe
from elmo_bench.spec.experiments import Experiment
from elmo_bench.spec.settings import RATE
from elmo_bench.spec.tuning import TUNE


def candidates(systems: pd.DataFrame, experiment: Experiment) -> pd.DataFrame:
    """The systems of one suite that an experiment may show, all of the newest training
    protocol that it has.
    """
    tasks = experiment.values("task")
    may_show = (task in tasks or not is_probe(task) for task in systems.task)
    possible = rows_where(systems, may_show)
    if experiment.layout == "weights":
        belonging = possible[learned_weights(possible)]
    else:
        variants = map(experiment.variant_of, possible.spec)
        belonging = rows_where(possible, (variant is not None for variant in variants))
    return of_newest_protocol(possible, belonging if len(belonging) else possible)


def of_newest_protocol(systems: pd.DataFrame, like: pd.DataFrame) -> pd.DataFrame:
    """The systems of the newest training protocol that is in `like`: systems of two
    protocols are not comparable.
    """
    return systems[systems.protocol == like.protocol.max()]


def learned_weights(systems: pd.DataFrame) -> pd.Series:
    """Whether each system learned weights of frozen layers and changes nothing but its
    encoder.
    """
    learned = []
    for spec in systems.spec:
        is_frozen = TUNE not in spec.settings
        learned.append(is_frozen and spec.settings.get("mix") == "scalar")
    return pd.Series(learned, systems.index, bool) & (systems.variation == "")


def with_variants(systems: pd.DataFrame, experiment: Experiment) -> pd.DataFrame:
    """The systems that are variants of the experiment, with four more columns.

    `variant`; `rest`, the changes of a run on an axis that are not on it, such as
    another dropout with each learning rate; `alone`, whether the variant alone says
    what was run, as it has the experiment's encoder or a fixed one; and `row_order`, by
    which the rows of the table are sorted.
    """
    table = systems.assign(
        variant=[experiment.variant_of(spec) for spec in systems.spec]
    )
    table = table[table.variant.notna()]
    rest, alone, row_order = [], [], []
    for spec, variant, encoder in zip(
        table.spec, table.variant, table.encoder_label, strict=True
    ):
        options = (*variant.options, RATE)
        rest.append(
            [
                f"{key}={value}"
                for key, value in variation_of(spec).items()
                if key not in options
            ]
        )
        alone.append(variant.encoder is not None or encoder == experiment.encoder)
        row_order.append(experiment.row_order(variant))
    return table.assign(
        rest=pd.Series(rest, table.index, object),
        alone=pd.Series(alone, table.index, bool),
        row_order=pd.Series(row_order, table.index, float),
    )


# The columns that `references` reads, and those who call it: rows of all columns take
# longer.
COMPARED = [
    "hash",
    "anchor",
    "spec",
    "variant",
    "rest",
    "alone",
    "encoder_label",
    "variation",
]


def references(system: Any, group: Sequence[Any], experiment: Experiment) -> list[Any]:
    """The systems of a group that one of them is compared with, in their order.

    They have the same encoder, unless the reference's variant has a fixed one. An
    encoder in another's position is compared with the first reference alone.
    """
    keys = experiment.references(
        "" if system.rest else system.variant.key
    )  # a system with another change is never a reference
    if not system.alone:
        keys = keys[:1]
    fitting = []
    for other in group:
        same_encoder = (
            other.variant.encoder is not None
            or other.encoder_label == system.encoder_label
        )
        is_named = other.variant.key in keys and not other.rest
        is_default = experiment.reference is None and not other.variation
        if (is_named or is_default) and same_encoder and other.hash != system.hash:
            fitting.append(other)
    return fitting
