"""Worth against cost: the gain of each encoder over static vectors by what the frozen encoder costs."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, median
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import EngFormatter, LogLocator, NullLocator

from elmo_bench.ledger.costs import SINGLE, EncoderCost, encoder_key
from elmo_bench.reporting.canvas import FAINT, SURFACE, Drawing, look
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
    rates = {int(batch): [each["tokens_per_second"][batch] for each in cost["rounds"]] for batch in _batches(cost)}
    best = max(sorted(rates), key=lambda batch: median(rates[batch]))
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


def _batches(cost: EncoderCost) -> Iterable[str]:
    return cost["rounds"][0]["tokens_per_second"]


def _range(rates: list[float]) -> Cell:
    middle, low, high = median(rates), min(rates), max(rates)
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


def worth(main: Experiment, suite: str, groups: Sequence[Group], gain: Gains, costs: Sequence[EncoderCost]) -> Any:
    """([table], [figure]), the baseline first; empty without costs of two encoders that were compared.

    If no task has all encoders, the one with fewest tasks is left out, until one does.
    """
    by_task: dict[str, dict[str, Gain]] = {}
    for one in picked(main, groups, gain):
        by_task.setdefault(one.group.task, one.gains)
    gains = [(task, name, gain) for task, own in by_task.items() for name, gain in own.items()]
    known = costs_of((row for *_, each in gains for row in (each.ours, each.theirs)), costs)
    gains = [each for each in gains if {each[2].ours.anchor, each[2].theirs.anchor} <= known.keys()]
    frame = pd.DataFrame(gains, columns=["task", "encoder", "gain"]).pivot(
        index="encoder", columns="task", values="gain"
    )
    while len(frame) and not frame.notna().all().any():
        frame = frame.drop(index=min(frame.index, key=lambda name: (frame.loc[name].notna().sum(), name)))
    if frame.empty:
        return [], []
    shared = [task for task in by_task if task in frame and frame[task].notna().all()]
    order = [name for name in dict.fromkeys(name for _, name, _ in gains) if name in frame.index]
    points: dict[str, list[Gain]] = {BASELINE: [], **{name: list(frame.loc[name, shared]) for name in order}}
    first = next(each for *_, each in gains)
    owned = {name: known[own[0].ours.anchor] if own else known[first.theirs.anchor] for name, own in points.items()}
    titles = {group.task: group.info.title for group in groups}
    of = titles[shared[0]] if len(shared) == 1 else f"mean of {', '.join(shared)}"
    lines = {name: _line(name, own, owned[name]) for name, own in points.items()}
    best = {axis: front(lines, axis) for axis in (SPEED, SIZE)}
    for name, line in lines.items():
        line["Pareto front"] = words(" and ".join(axis for axis, names in best.items() if name in names))
    title, rounds = f"{TITLE}: {of}, suite {suite}", sorted({len(cost["rounds"]) for cost in owned.values()})
    tokens = owned[BASELINE]["text"]["tokens"]
    notes = [
        f"Costs: {machine_of(owned[BASELINE])}; median (and range) of {' to '.join(map(str, rounds))} processes that read "
        f"{tokens:,} tokens. load: processor seconds, with the libraries that the encoder imports. peak: above a process "
        "without encoder."
    ]
    tasks = [shared[0] if len(shared) == 1 else ""] * len(lines)
    table = make_table(f"{suite}-worth", title, list(lines.values()), tasks=tasks, notes=notes)
    return [table], [_figure(f"{suite}-worth-speed", title, lines, best[SPEED])]


def _line(name: str, gains: Sequence[Gain], cost: EncoderCost) -> Line:
    """Of one encoder; the baseline has no gains. The interval is of the mean, if every task was tested."""
    tested = [each.difference for each in gains if each.difference]
    mean, dagger = fmean(each.mean for each in gains) if gains else None, not all(each.converged for each in gains)
    return {
        "encoder": words(name),
        f"gain over {BASELINE}": number(mean, "+.2f", suffix=f" {DAGGER}" if dagger else ""),
        "95 %": interval(mean_interval(tested)) if gains and len(tested) == len(gains) else Cell(),
        "Pareto front": Cell(),
        **cost_cells(cost),
    }


def front(lines: Mapping[str, Line], axis: str) -> list[str]:
    """The encoders than which no other one gains at least as much at no higher cost (or speed), cheapest first.

    Of two with equal gain and cost both are on it. An encoder without this cost is not.
    """
    sign = -1 if axis == SPEED else 1
    costs = {
        n: (sign * line[axis].order, -(line[f"gain over {BASELINE}"].order or 0))
        for n, line in lines.items()
        if line[axis].text
    }  # type: ignore[operator]
    beaten = {
        n for n, own in costs.items() if any(o != own and o[0] <= own[0] and o[1] <= own[1] for o in costs.values())
    }
    return sorted(costs.keys() - beaten, key=lambda name: (costs[name], list(lines).index(name)))


def _figure(stem: str, title: str, lines: Mapping[str, Line], best: Sequence[str]) -> Drawing:
    gain = f"gain over {BASELINE}"
    points = {name: (float(line[SPEED].order), float(line[gain].order or 0)) for name, line in lines.items()}  # type: ignore[arg-type]
    looks = look(list(points))

    def paint(axes: Axes) -> None:
        axes.axhline(0, color=FAINT, linewidth=1)
        axes.plot(
            *zip(*(points[name] for name in best), strict=True), color=FAINT, linestyle="--", label="Pareto front"
        )
        for name, (x, y) in points.items():
            colour, marker = looks[name]
            low, high = (lines[name]["95 %"].values.get(part) for part in ("low", "high"))
            shown = name == BASELINE or (DAGGER not in lines[name][gain].text and low and low * high > 0)  # type: ignore[operator]
            axes.plot((x, x), (low or y, high or y), color=colour, linewidth=1.6)
            axes.plot(x, y, marker, color=colour, mfc=colour if shown else SURFACE, mew=1.4, label=name)
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
        axes.margins(x=0.12, y=0.1)
        axes.set(xlabel="tokens/s, best batch: right is faster", ylabel=f"points over {BASELINE} on test")
        axes.figure.legend(loc="outside upper left", ncols=2)

    said = "; ".join(f"{name}: {x:,.0f} tokens/s, {y:+.2f} points" for name, (x, y) in points.items())
    alt = f"{title}, by speed. {said}. Pareto front: {', '.join(best)}. Hollow: no difference shown, or not converged."
    return Drawing(stem, title, alt, paint, size=(4.7, 3.1 + 0.085 * (len(points) + 2)))
