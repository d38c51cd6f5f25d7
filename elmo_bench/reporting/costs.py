"""Worth against cost: the gain of each encoder over static vectors by what the frozen encoder costs."""

from collections.abc import Iterable, Sequence
from math import nan
from statistics import fmean, median

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import EngFormatter, LogLocator, NullLocator

from elmo_bench.ledger.costs import SINGLE, EncoderCost, encoder_key
from elmo_bench.reporting.canvas import FAINT, SURFACE, Drawing, Made, look
from elmo_bench.reporting.encoders import picked
from elmo_bench.reporting.formats import markdown
from elmo_bench.reporting.gains import Gain, Gains
from elmo_bench.reporting.groups import Group
from elmo_bench.reporting.rows import BASELINE, DAGGER, Row
from elmo_bench.reporting.significance import mean_interval
from elmo_bench.reporting.table import Cell, Line, interval, make_table, number, words
from elmo_bench.spec.experiments import Experiment

TITLE = "Worth against cost"
ABOUT = (
    f"The gain over {BASELINE} on test, the mean over the tasks that all of these encoders have, against what the "
    "frozen encoder with its static vectors costs (elmo-bench cost). Costs are of the same weights as the runs. On the "
    "Pareto front: no other encoder gains as much for less; by the measured gains, which have the intervals shown."
)
SPEED, SIZE = "best tokens/s", "stored MiB"


def cost_cells(cost: EncoderCost) -> Line:
    """Medians over the rounds, with the range of rates."""
    rates = pd.DataFrame([each["tokens_per_second"] for each in cost["rounds"]]).rename(columns=int).sort_index(axis=1)
    best = int(rates.median().idxmax())  # of equal ones the smallest
    stored = None if cost["stored_bytes"] is None else cost["stored_bytes"] / 2**20
    return {
        "tokens/s, batch 1": _range(rates[int(SINGLE)]),
        SPEED: _range(rates[best]),
        "batch": number(best, ","),
        "load, s": number(median(each["load_seconds"] for each in cost["rounds"])),
        "peak MiB": number(median(each["memory_mib"] for each in cost["rounds"]), ",.0f"),
        SIZE: number(stored, ",.1f"),
        "frozen numbers": number(cost["parameters"], ","),
    }


def _range(rates: pd.Series) -> Cell:
    middle, low, high = rates.median(), rates.min(), rates.max()
    return Cell(f"{middle:,.0f} ({low:,.0f} to {high:,.0f})", {"": middle, "low": low, "high": high})


def console(costs: Sequence[EncoderCost]) -> str:
    """A table, and a line about the machine and the text."""
    lines = [{"encoder": words(cost["encoder"]), **cost_cells(cost)} for cost in costs]
    machines = dict.fromkeys(f"{machine_of(cost)}; {cost['text']['tokens']:,} tokens" for cost in costs)
    return "\n".join([markdown([*lines[0]], [[c.text for c in line.values()] for line in lines]), "", *machines])


def machine_of(cost: EncoderCost) -> str:
    """The processor and its threads, or the GPU."""
    machine, threads = cost["machine"], cost["machine"]["threads"]
    on_cpu = f"{machine['cpu']}, {threads} thread{'s' if threads != 1 else ''}"
    return on_cpu if machine["device"] == "cpu" else machine["device"]


def costs_of(rows: Iterable[Row], costs: Iterable[EncoderCost]) -> dict[str, EncoderCost]:
    """The costs of the frozen encoders of these rows, by anchor: with the same weights, of one machine and text.

    Of several machines the one that has most of the rows.
    """
    keys = {row.anchor: encoder_key(row.spec.settings, row.spec.contents) for row in rows}
    places: dict[tuple[str, str], dict[str, EncoderCost]] = {}
    for cost in sorted(costs, key=lambda cost: cost["created"]):
        own = places.setdefault((machine_of(cost), cost["text"]["digest"]), {})
        own[encoder_key(cost["settings"], cost["contents"])] = cost
    by_place = [{a: own[key] for a, key in keys.items() if key in own} for _, own in sorted(places.items())]
    return max(by_place, key=len, default={})


def worth(main: Experiment, suite: str, groups: Sequence[Group], gain: Gains, costs: Sequence[EncoderCost]) -> Made:
    """A table, the baseline first, and a figure; nothing without costs of two encoders that were compared.

    If no task has all encoders, the one with fewest tasks is left out, until one does.
    """
    gains = [(one.group.task, *pair) for one in picked(main, groups, gain) for pair in one.gains.items()]
    known = costs_of((row for *_, each in gains for row in (each.ours, each.theirs)), costs)
    gains = [each for each in gains if {each[2].ours.anchor, each[2].theirs.anchor} <= known.keys()]
    frame = pd.DataFrame(gains, columns=["task", "encoder", "gain"]).drop_duplicates(["task", "encoder"])
    by_task = frame.set_index(["encoder", "task"])["gain"].unstack(sort=False)
    while len(by_task) and not by_task.notna().all().any():
        by_task = by_task.drop(index=min(by_task.index, key=lambda name: (by_task.loc[name].notna().sum(), name)))
    if by_task.empty:
        return [], []
    by_task = by_task.dropna(axis=1)
    points = pd.DataFrame([_point(name, list(own)) for name, own in by_task.iterrows()]).set_index("encoder")
    theirs = by_task.iloc[0, 0].theirs.anchor
    anchors = [theirs, *(own.iloc[0].ours.anchor for _, own in by_task.iterrows())]
    points = pd.concat([pd.DataFrame({"gain": 0.0, "shown": True}, index=[BASELINE]), points])
    cells = [cost_cells(known[anchor]) for anchor in anchors]
    points = points.assign(**{axis: [line[axis].values[""] for line in cells] for axis in (SPEED, SIZE)})
    best = {SPEED: front(points["gain"], -points[SPEED]), SIZE: front(points["gain"], points[SIZE])}
    lines = [
        {
            "encoder": words(name),
            f"gain over {BASELINE}": number(point.gain, "+.2f", suffix=point.mark) if name != BASELINE else Cell(),
            "95 %": interval((point.low, point.high)) if point.low == point.low else Cell(),
            "Pareto front": words(" and ".join(axis for axis, names in best.items() if name in names)),
            **line,
        }
        for (name, point), line in zip(points.iterrows(), cells, strict=True)
    ]
    tasks = list(by_task)
    of = next(g.info.title for g in groups if g.task == tasks[0]) if len(tasks) == 1 else f"mean of {', '.join(tasks)}"
    title, measured = f"{TITLE}: {of}, suite {suite}", known[theirs]
    note = (
        f"Costs: {machine_of(measured)}; median (and range) of {len(measured['rounds'])} processes that read "
        f"{measured['text']['tokens']:,} tokens. load: processor seconds, with the libraries that the encoder imports. "
        "peak: above a process without encoder."
    )
    table = make_table(f"{suite}-worth", title, lines, tasks=tasks[0] if len(tasks) == 1 else "", notes=[note])
    return [table], [_figure(f"{suite}-worth-speed", title, points, best[SPEED])]


def _point(name: str, gains: list[Gain]) -> dict[str, object]:
    """The mean gain of an encoder over tasks, with its interval if every task was tested."""
    tested = [each.difference for each in gains if each.difference]
    low, high = mean_interval(tested) if len(tested) == len(gains) else (nan, nan)
    converged = all(each.converged for each in gains)
    shown = converged and (low > 0 or high < 0)  # a difference
    mark = "" if converged else f" {DAGGER}"
    return {
        "encoder": name,
        "gain": fmean(g.mean for g in gains),
        "low": low,
        "high": high,
        "shown": shown,
        "mark": mark,
    }


def front(gain: pd.Series, cost: pd.Series) -> list[str]:
    """The encoders than which no other one gains at least as much at no higher cost, cheapest first.

    Of two with equal gain and cost both are on it. An encoder without this cost is not.
    """
    points = pd.DataFrame({"cost": cost.astype(float), "loss": -gain}).dropna()
    no_worse = [(points <= own).all(axis=1) & (points != own).any(axis=1) for _, own in points.iterrows()]
    return list(points[[not better.any() for better in no_worse]].sort_values(["cost", "loss"], kind="stable").index)


def _figure(stem: str, title: str, points: pd.DataFrame, best: Sequence[str]) -> Drawing:
    looks = look(list(points.index))

    def paint(axes: Axes) -> None:
        axes.axhline(0, color=FAINT, linewidth=1)
        axes.plot(points.loc[best, SPEED], points.loc[best, "gain"], color=FAINT, linestyle="--", label="Pareto front")
        for name, point in points.iterrows():
            colour, marker = looks[name]
            axes.plot([point[SPEED]] * 2, (point.low, point.high), color=colour, linewidth=1.6)
            face = colour if point.shown else SURFACE
            axes.plot(point[SPEED], point.gain, marker, color=colour, mfc=face, mew=1.4, label=name)
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
        axes.margins(x=0.12, y=0.1)
        axes.set(xlabel="tokens/s, best batch: right is faster", ylabel=f"points over {BASELINE} on test")
        axes.figure.legend(loc="outside upper left", ncols=2)

    said = "; ".join(
        f"{name}: {point[SPEED]:,.0f} tokens/s, {point.gain:+.2f} points" for name, point in points.iterrows()
    )
    alt = f"{title}, by speed. {said}. Pareto front: {', '.join(best)}. Hollow: no difference shown, or not converged."
    return Drawing(stem, title, alt, paint, size=(4.7, 3.1 + 0.085 * (len(points) + 2)))
