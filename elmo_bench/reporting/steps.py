"""The gain of an encoder in steps: what a better word vector adds, its trained layers,
and context.
"""

from typing import Any

import pandas as pd

from elmo_bench.reporting.layouts.encoders import CONTROLS, Pair
from elmo_bench.reporting.names import BASELINE
from elmo_bench.reporting.rows import rows_of
from elmo_bench.reporting.tables import with_gains
from elmo_bench.spec.experiments import Experiment

WHOLE = "gain"
WORD, LAYERS, CONTEXT = "word vector", "layers", "context"
UNSPLIT = "layers and context"  # the sum of the two, with a test of its own
OTHERS = 3  # how many other encoders are shown
UNTRAINED = "random"  # the control that is shown, too


def steps(experiment: Experiment, name: str) -> dict[str, Pair]:
    """By step, the two encoders whose difference it is; the whole gain first.

    An encoder other than the experiment's has the gain alone.
    """
    pairs = {WHOLE: (name, BASELINE)}
    between = [word for word in experiment.references(name) if word != BASELINE]
    if len(between) == 2:
        word, alone = between
        pairs[WORD] = (word, BASELINE)
        pairs[UNSPLIT] = (name, word)
        pairs[LAYERS] = (alone, word)
        pairs[CONTEXT] = (name, alone)
    return pairs


def gains_of(
    systems: pd.DataFrame, comparisons: pd.DataFrame, pair: Pair
) -> pd.DataFrame:
    """The systems of the first encoder of a pair that are compared with the second, in
    the order of tasks.
    """
    ours, theirs = pair
    tests = comparisons[
        (comparisons.our_name == ours) & (comparisons.their_name == theirs)
    ]
    table = with_gains(systems[systems.name == ours], tests)
    return table[table.gain.notna()]


def step_gains(
    systems: pd.DataFrame, comparisons: pd.DataFrame, experiment: Experiment, name: str
) -> dict[str, pd.DataFrame]:
    """By step, the gains of the tasks with this step, by basis; the whole gain first.

    A task has both parts of the unsplit step or neither.
    """
    gains = {}
    for step, pair in steps(experiment, name).items():
        gains[step] = gains_of(systems, comparisons, pair).set_index("basis")
    if UNSPLIT in gains:
        split = gains[LAYERS].index.intersection(gains[CONTEXT].index)
        for step in (LAYERS, CONTEXT):
            gains[step] = gains[step].loc[split]
    return gains


def others_shown(systems: pd.DataFrame, experiment: Experiment, lead: str) -> list[str]:
    """The encoders in the position of the experiment's that are shown beside `lead`.

    Those with most tasks first; the network before training is the last.
    """
    named = {variant.key for variant in experiment.variants}
    counts: dict[str, int] = {}
    for row in rows_of(systems[["name"]]):
        if row.name not in named:
            counts[row.name] = counts.get(row.name, 0) + 1

    def order(name: str) -> tuple[Any, ...]:
        return -counts[name], experiment.position(name)

    names = sorted(counts, key=order)
    shown = [name for name in names if name not in (*CONTROLS, lead)][:OTHERS]
    return [*shown, *(name for name in names if name == UNTRAINED)]
