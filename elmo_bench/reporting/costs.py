"""What encoders are worth: the gains of the main experiment against what the frozen encoder costs."""

from collections.abc import Iterable, Sequence
from math import nan
from statistics import fmean, median

import pandas as pd

from elmo_bench.ledger.costs import SINGLE, EncoderCost, encoder_key
from elmo_bench.reporting.canvas import Made, chart
from elmo_bench.reporting.console import fitted
from elmo_bench.reporting.encoders import picked
from elmo_bench.reporting.gains import Gains
from elmo_bench.reporting.groups import Group
from elmo_bench.reporting.rows import BASELINE, Row
from elmo_bench.reporting.significance import mean_interval
from elmo_bench.reporting.table import Cell, Line, interval, make_table, number
from elmo_bench.spec.experiments import Experiment

TITLE = "Worth against cost"
ABOUT = (
    f"The gain over {BASELINE} on test, the mean over the tasks that all of these encoders have, against what the "
    "frozen encoder with its static vectors costs (elmo-bench cost). Costs are of the same weights as the runs."
)
SPEED = "best tokens/s"
NOTE = (
    "Costs: {}; median (and range) of {} processes that read {} tokens. load: processor seconds, with the libraries "
    "that the encoder imports. peak: above a process without encoder."
)


def cost_cells(cost: EncoderCost) -> Line:
    """Medians over the rounds, with the range of rates."""
    rates = pd.DataFrame([each["tokens_per_second"] for each in cost["rounds"]]).rename(columns=int).sort_index(axis=1)
    best = int(rates.median().idxmax())  # of equal ones the smallest
    return {
        "tokens/s, batch 1": _range(rates[int(SINGLE)]),
        SPEED: _range(rates[best]),
        "batch": number(best, ","),
        "load, s": number(median(each["load_seconds"] for each in cost["rounds"])),
        "peak MiB": number(median(each["memory_mib"] for each in cost["rounds"]), ",.0f"),
        "stored MiB": number(cost["stored_bytes"] and cost["stored_bytes"] / 2**20, ",.1f"),
        "frozen numbers": number(cost["parameters"], ","),
    }


def _range(rates: pd.Series) -> Cell:
    middle, low, high = rates.median(), rates.min(), rates.max()
    return Cell(f"{middle:,.0f} ({low:,.0f} to {high:,.0f})", {"": middle, "low": low, "high": high})


def console(costs: Sequence[EncoderCost]) -> str:
    """A table, and a line about the machine and the text."""
    lines = [cost_cells(cost) for cost in costs]
    body = [[cost["encoder"], *(c.text for c in line.values())] for cost, line in zip(costs, lines, strict=True)]
    machines = dict.fromkeys(f"{machine_of(cost)}; {cost['text']['tokens']:,} tokens" for cost in costs)
    return "\n".join([fitted(["encoder", *lines[0]], body), "", *machines])


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
        key = encoder_key(cost["settings"], cost["contents"])
        own = places.setdefault((machine_of(cost), cost["text"]["digest"]), {})
        own |= {anchor: cost for anchor, its in keys.items() if its == key}
    return max((own for _, own in sorted(places.items())), key=len, default={})


def worth(main: Experiment, suite: str, groups: Sequence[Group], gain: Gains, costs: Sequence[EncoderCost]) -> Made:
    """A table, the baseline first, and a figure; nothing without costs of two encoders that share a task."""
    every = {(name, one.group.task): each for one in picked(main, groups, gain) for name, each in one.gains.items()}
    stuck = {name for (name, _), each in every.items() if not each.converged}  # these enter no mean
    every = {(name, task): each for (name, task), each in every.items() if name not in stuck}
    known = costs_of((row for each in every.values() for row in (each.ours, each.theirs)), costs)
    every = {key: each for key, each in every.items() if {each.ours.anchor, each.theirs.anchor} <= known.keys()}
    names = dict.fromkeys(name for name, _ in every)
    tasks = [task for task in dict.fromkeys(task for _, task in every) if all((name, task) in every for name in names)]
    if not tasks:
        return [], []
    start = known[every[next(iter(names)), tasks[0]].theirs.anchor]
    over, points = f"gain over {BASELINE}", [(BASELINE, 0.0, 0.0)]
    lines: list[Line] = [{"encoder": BASELINE, over: None, "95 %": None, **cost_cells(start)}]
    for name in names:
        own = [every[name, task] for task in tasks]
        mean, tested = fmean(each.mean for each in own), [each.difference for each in own if each.difference]
        bounds = mean_interval(tested) if len(tested) == len(own) else None
        line = {"encoder": name, over: number(mean, "+.2f"), "95 %": interval(bounds) if bounds else None}
        lines.append(line | cost_cells(known[own[0].ours.anchor]))
        points.append((name, mean, (bounds[1] - bounds[0]) / 2 if bounds else nan))
    frame = pd.DataFrame(points, columns=["encoder", f"points over {BASELINE} on test", "sd"])
    frame.insert(1, "tokens/s, best batch", [line[SPEED].order for line in lines])
    of = next(g.info.title for g in groups if g.task == tasks[0]) if len(tasks) == 1 else f"mean of {', '.join(tasks)}"
    stem, title = f"{suite}-worth", f"{TITLE}: {of}, suite {suite}"
    (first, speed, *_), (name, own, mean, _) = frame.iloc[0], frame.loc[frame.iloc[:, 2].idxmax()]
    over_what = of if len(tasks) == 1 else f"the mean of {len(tasks)} tasks"
    message = (
        f"{name} gains most, {mean:.1f} points on {over_what}, and reads {speed / own:,.0f} times slower than {first}"
    )
    note = NOTE.format(machine_of(start), len(start["rounds"]), f"{start['text']['tokens']:,}")
    return [make_table(stem, title, lines, notes=[note])], [chart(f"{stem}-speed", title, frame, message=message)]
