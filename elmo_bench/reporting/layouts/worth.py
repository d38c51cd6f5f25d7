"""Worth against cost: the gain of each encoder over static vectors by its speed and by its size on disk."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, LogLocator, NullLocator

from elmo_bench.ledger.costs import SINGLE, EncoderCost, best_batch, middle, rates
from elmo_bench.reporting.canvas import FAINT, SURFACE, Drawing, look
from elmo_bench.reporting.costs import Costs, best_rate, ranged, stored_mib
from elmo_bench.reporting.gains import Gain, Gains
from elmo_bench.reporting.groups import Group
from elmo_bench.reporting.layouts import Made
from elmo_bench.reporting.layouts.encoders import picked
from elmo_bench.reporting.rows import BASELINE, DAGGER
from elmo_bench.reporting.significance import mean_interval
from elmo_bench.reporting.table import Cell, Column, Line, Table, interval_cell, make_table, number, words
from elmo_bench.reporting.tasks import task_info
from elmo_bench.spec.experiments import Experiment

TITLE = "Worth against cost"
ABOUT = (
    f"The gain over {BASELINE} on test, the mean over the tasks that all of these encoders have, against what the "
    "frozen encoder with its static vectors costs (elmo-bench cost). Costs are of the same weights as the runs. On the "
    "Pareto front: no other encoder gains as much for less; by the measured gains, which have the intervals shown."
)
SPEED, SIZE = "tokens/s", "stored MiB"
_FRONT: dict[str, Any] = {"linestyle": (0, (4, 3)), "linewidth": 1.2, "marker": "o", "mfc": "none", "mew": 1.2}


@dataclass(frozen=True)
class Point:
    """An encoder: the baseline has no gains."""

    cost: EncoderCost
    gains: tuple[Gain, ...]  # one for each task

    @property
    def gain(self) -> float:
        return fmean(gain.mean for gain in self.gains) if self.gains else 0.0

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 % of the mean; None if a task was not tested."""
        tested = [gain.difference for gain in self.gains if gain.difference]
        return mean_interval(tested) if tested and len(tested) == len(self.gains) else None

    @property
    def converged(self) -> bool:
        return all(gain.converged for gain in self.gains)

    @property
    def said(self) -> str:
        """Why nothing is shown; empty for the baseline and where the interval has no zero."""
        if not self.gains:
            return ""
        if not self.converged:
            return "not converged"
        return "no difference shown" if self.interval is None or self.interval[0] <= 0 <= self.interval[1] else ""


def made(main: Experiment, suite: str, groups: Sequence[Group], gain: Gains, costs: Sequence[Costs]) -> Made:
    """A table for each machine with costs of these encoders, and figures; nothing if it has less than two of them."""
    by_task: dict[str, dict[str, Gain]] = {}
    for one in picked(main, groups, gain):
        by_task.setdefault(one.group.task, one.gains)
    tables, drawings = list[Table](), list[Drawing | None]()
    for own in costs:
        tasks, points = found(by_task, own)
        if len(points) < 2:
            continue
        stem, more = f"{suite}-worth", f"-{len(tables) + 1}" if tables else ""
        tables.append(_table(f"{stem}{more}", suite, tasks, own, points))
        drawings.append(_figure(f"{stem}-speed{more}", suite, tasks, points, SPEED, machine=own.machine))
        if not more:
            drawings.append(_figure(f"{stem}-size", suite, tasks, points, SIZE))
    return tables, [drawing for drawing in drawings if drawing]


def found(by_task: dict[str, dict[str, Gain]], costs: Costs) -> tuple[list[str], dict[str, Point]]:
    """The tasks that all encoders have, and a point for each encoder whose cost was measured, the baseline first.

    If no task has all of them, the encoder with fewest tasks is left out, until one does.
    """
    measured: dict[str, EncoderCost] = {}
    own: dict[str, dict[str, Gain]] = {}
    for task, gains in by_task.items():
        for name, gain in gains.items():
            ours, theirs = costs.of(gain.ours), costs.of(gain.theirs)
            if ours and theirs:
                own.setdefault(name, {})[task] = gain
                measured.setdefault(name, ours)
                measured.setdefault(BASELINE, theirs)
    while own and not (common := [task for task in by_task if all(task in gains for gains in own.values())]):
        del own[min(own, key=lambda name: (len(own[name]), name))]
    if not own:
        return [], {}
    points = {name: Point(measured[name], tuple(gains[task] for task in common)) for name, gains in own.items()}
    return common, {BASELINE: Point(measured[BASELINE], ())} | points


def front(points: dict[str, Point], cost: Callable[[EncoderCost], float | None]) -> list[str]:
    """The encoders than which no other one gains at least as much at no higher cost, cheapest first.

    Of two with equal gain and cost both are on it. An encoder without this cost is not.
    """
    known = {name: (price, -point.gain) for name, point in points.items() if (price := cost(point.cost)) is not None}
    best = [
        name
        for name, own in known.items()
        if not any(other != own and other[0] <= own[0] and other[1] <= own[1] for other in known.values())
    ]
    return sorted(best, key=lambda name: known[name])


def _costs(axis: str) -> Callable[[EncoderCost], float | None]:
    """What there should be little of."""
    return stored_mib if axis == SIZE else lambda cost: -best_rate(cost)


def _figure(
    stem: str, suite: str, tasks: Sequence[str], points: dict[str, Point], axis: str, *, machine: str = ""
) -> Drawing | None:
    """None if no two encoders have this cost."""
    cost = _costs(axis)
    at = {name: abs(price) for name, point in points.items() if (price := cost(point.cost))}
    if len(at) < 2:
        return None
    looks, best = look(list(points)), [name for name in front(points, cost) if name in at]
    hollow = list(dict.fromkeys(points[name].said for name in at if points[name].said))
    of = _of(tasks, suite)

    def paint(axes: Axes) -> None:
        axes.axhline(0, color=FAINT, linewidth=1)
        line = [(at[name], points[name].gain) for name in best]
        axes.plot(*zip(*line, strict=True), color=FAINT, ms=13, **_FRONT)
        for name, x in at.items():
            point, (colour, marker) = points[name], looks[name]
            if point.interval:
                axes.plot((x, x), point.interval, color=colour, linewidth=1.6, solid_capstyle="butt")
            axes.plot(x, point.gain, marker, color=colour, mfc=SURFACE if point.said else colour, mew=1.4)
        axes.set_xscale("log")
        wide = max(at.values()) / min(at.values())
        axes.xaxis.set_major_locator(LogLocator(subs=(1,) if wide > 50 else (1, 3) if wide > 10 else (1, 1.5, 2, 3, 5)))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
        axes.margins(x=0.12, y=0.1)
        axes.set_xlabel("tokens/s, best batch: right is faster" if axis == SPEED else "MiB stored: left is smaller")
        axes.set_ylabel(f"points over {BASELINE} on test")
        keys = [Line2D([], [], color=looks[n][0], marker=looks[n][1], linestyle="", label=n) for n in at]
        keys.append(Line2D([], [], color=FAINT, ms=9, label="Pareto front", **_FRONT))
        if hollow:
            ring: dict[str, Any] = {"color": FAINT, "marker": "o", "mfc": SURFACE, "linestyle": ""}
            keys.append(Line2D([], [], label=f"hollow: {' or '.join(hollow)}", **ring))
        axes.figure.legend(handles=keys, loc="outside upper left", ncols=2)

    said = "; ".join(f"{name}: {at[name]:,.0f} {axis}, {points[name].gain:+.2f} points" for name in at)
    title = f"{TITLE}: {of}, suite {suite}" + (f" ({machine})" if machine else "")
    alt = f"Points over {BASELINE} on {of} by {axis}. {said}. Pareto front: {', '.join(best)}."
    return Drawing(stem, title, alt, paint, size=(4.7, 3.1 + 0.085 * (len(at) + 2)))


def _table(stem: str, suite: str, tasks: Sequence[str], costs: Costs, points: dict[str, Point]) -> Table:
    fronts = {axis: front(points, _costs(axis)) for axis in (SPEED, SIZE)}
    lines: list[Line] = []
    for name, point in points.items():
        cost, low_high = point.cost, point.interval
        on = [axis for axis, best in fronts.items() if name in best]
        lines.append(
            {
                Column("encoder", words=True): words(name),
                Column(f"gain over {BASELINE}"): _gain(point),
                Column("95 %", ("low", "high")): interval_cell(low_high) if low_high else Cell(""),
                Column("Pareto front", words=True): words(" and ".join(on)),
                Column("tokens/s, batch 1", ("", "low", "high")): _rate(cost, SINGLE),
                Column("best tokens/s", ("", "low", "high")): _rate(cost, best_batch(cost)),
                Column("batch"): number(int(best_batch(cost)), ","),
                Column("load, s"): number(middle(cost, "load_seconds"), ".2f"),
                Column("peak MiB"): number(middle(cost, "memory_mib"), ",.0f"),
                Column(SIZE): number(stored_mib(cost), ",.1f"),
                Column("frozen numbers"): number(cost["parameters"], ","),
            }
        )
    rounds = sorted({len(point.cost["rounds"]) for point in points.values()})
    notes = [
        f"Costs: {costs.machine}; median (and range) of {' to '.join(map(str, rounds[:: len(rounds) - 1 or 1]))} "
        "processes that read "
        f"{next(iter(points.values())).cost['text']['tokens']:,} tokens. "
        "load: processor seconds, with the libraries that the encoder imports. peak: above a process without encoder."
    ]
    title = f"{TITLE}: {_of(tasks, suite)}, suite {suite}"
    only = tasks[0] if len(tasks) == 1 else ""
    return make_table(stem, title, lines, tasks=[only] * len(lines), notes=notes)


def _gain(point: Point) -> Cell:
    return number(point.gain, "+.2f", suffix="" if point.converged else f" {DAGGER}") if point.gains else Cell("")


def _rate(cost: EncoderCost, batch: str) -> Cell:
    found = rates(cost, batch)
    return Cell(ranged(cost, batch), (median(found), found[0], found[-1]))


def _of(tasks: Sequence[str], suite: str) -> str:
    """`Named entities`, or of how many tasks the mean is."""
    if len(tasks) == 1:
        return task_info(tasks[0], suite).title
    return f"mean of {', '.join(tasks)}"
