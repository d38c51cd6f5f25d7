"""Worth against cost: what encoders gain over the baseline, and what they cost."""

from math import nan
from statistics import fmean

import pandas as pd

from elmo_bench.reporting.charts import chart
from elmo_bench.reporting.costs import SPEED, cost_formats
from elmo_bench.reporting.figures import Drawing
from elmo_bench.reporting.formats import interval, joined, number, signed, words
from elmo_bench.reporting.layouts.encoders import CONTROLS, over_baseline
from elmo_bench.reporting.names import BASELINE, SEEN, task_title
from elmo_bench.reporting.published import processor
from elmo_bench.reporting.significance import mean_interval
from elmo_bench.reporting.tables import Table, make_table, with_gains

TITLE = "Worth against cost"
NOTE = "Costs: {}; median (and range) of {} passes over {:,} tokens in all. {}"
ON_CPU = (
    "One thread. load: processor seconds, with the libraries that the encoder imports. "
    "peak: above the process without encoder."
)
ON_GPU = "load: seconds of wall time. peak: of the GPU's memory."


def worth(
    systems: pd.DataFrame, comparisons: pd.DataFrame, encoders: pd.DataFrame
) -> tuple[list[Table], list[Drawing]]:
    """A table, the baseline first, and a figure, of the encoders that have most tasks;
    then, if others have fewer, a table and a figure of all on the tasks that they
    share. Nothing without costs of two encoders that share a task.

    An encoder that is not converged on a task is in neither, nor is a control: nobody
    chooses between it and another.
    """
    if encoders.empty or BASELINE not in set(encoders[encoders.cost.notna()].name):
        return [], []
    gains = with_gains(systems, over_baseline(comparisons))
    gains = gains[gains.gain.notna()]
    converged = gains.groupby("name").both_converged.all()
    costly = encoders[encoders.cost.notna() & encoders.name.map(converged).eq(True)]
    costly = costly[~costly.name.isin(CONTROLS)]
    if costly.empty:
        return [], []
    baseline = encoders[encoders.name == BASELINE]
    breadth = gains[gains.name.isin(costly.name)].groupby("name").basis.nunique()
    widest = costly[costly.name.isin(breadth[breadth == breadth.max()].index)]
    of_widest = _on_shared_groups(gains, widest)
    of_all = _on_shared_groups(gains, costly)
    parts = {"worth": (widest, of_widest), "worth-shared": (costly, of_all)}
    if set(of_widest.basis) == set(of_all.basis):
        parts = {"worth": (costly, of_all)}
    tables, drawings = [], []
    for name, (chosen, of_chosen) in parts.items():
        if len(of_chosen):
            stem = f"{systems.suite.iloc[0]}-{name}"
            table, drawing = _on_groups(stem, baseline, chosen, of_chosen)
            tables.append(table)
            drawings.append(drawing)
    return tables, drawings


def _on_shared_groups(gains: pd.DataFrame, encoders: pd.DataFrame) -> pd.DataFrame:
    """The gains of these encoders in the groups where each has one."""
    theirs = gains[gains.name.isin(encoders.name)]
    encoders_of = theirs.groupby("basis").name.nunique()
    shared = encoders_of[encoders_of == len(encoders)].index
    return theirs[theirs.basis.isin(shared)]


def _on_groups(
    stem: str, baseline: pd.DataFrame, encoders: pd.DataFrame, gains: pd.DataFrame
) -> tuple[Table, Drawing]:
    """The table and the figure of these encoders.

    gains: of each encoder over the baseline, on the same groups.
    """
    mean_gains = [_mean_gain(gains[gains.name == name]) for name in encoders.name]
    nothing = {"gain": 0.0, "low": nan, "high": nan}
    frame = pd.concat([baseline, encoders]).assign(
        **pd.DataFrame([nothing, *mean_gains]).to_dict("list")
    )
    titles = [task_title(task) for task in gains.drop_duplicates("basis").task]
    of = titles[0] if len(titles) == 1 else f"mean of {len(titles)} tasks"
    title = f"{TITLE}: {of}, suite {gains.suite.iloc[0]}"
    cost = baseline.cost.iloc[0]
    passes = len(cost.tokens_per_second["1"])
    environment = cost.environment
    measured = ON_CPU if environment.device == "cpu" else ON_GPU
    costs = NOTE.format(processor(environment), passes, cost.tokens, measured)
    note = f"Gains: {', '.join(titles)}, each interval of one test alone. {costs}"
    seen = set(gains[gains.seen.ne("")].name)
    shown = frame.drop(columns="anchor").assign(
        gain=frame.gain.where(frame.name != BASELINE),
        name=[joined(name, SEEN if name in seen else "") for name in frame.name],
    )
    formats = [
        words("encoder", "name"),
        number(f"gain over {BASELINE}", "gain", "+.2f"),
        interval(),
        *cost_formats(),
    ]
    table = make_table(stem, title, shown, formats, notes=[note])
    return table, _against_cost(f"{stem}-speed", title, frame, of)


def _mean_gain(gains: pd.DataFrame) -> dict[str, float]:
    """The mean over tasks with its interval; without one if a task was not tested."""
    tested = [difference for difference in gains.difference if difference is not None]
    low, high = mean_interval(tested) if len(tested) == len(gains) else (nan, nan)
    return {"gain": fmean(gains.gain), "low": low, "high": high}


def _against_cost(stem: str, title: str, frame: pd.DataFrame, of: str) -> Drawing:
    """Gains over speed, the baseline first."""
    points = pd.DataFrame({
        "encoder": frame.name,
        "tokens/s, best batch": frame[SPEED],
        f"points over {BASELINE} on test": frame.gain,
        "sd": ((frame.high - frame.low) / 2).where(frame.name != BASELINE, 0.0),
    })  # fmt: skip
    best = frame.iloc[1:].sort_values("gain", ascending=False, kind="stable").iloc[0]
    gains_most = f"{best['name']} gains most, {best.gain:.1f} points ({of})"
    if best.gain <= 0:
        gains_most = (
            f"no encoder gains over {BASELINE}; {best['name']} comes nearest, "
            f"{signed(best.gain)} points ({of})"
        )
    message = (
        f"{gains_most}, and reads {best[SPEED]:,.0f} tokens/s; "
        f"{BASELINE} reads {frame[SPEED].iloc[0]:,.0f}"
    )
    bars = "95 % interval of each test alone"
    return chart(stem, title, points, message=message, bars=bars)
