"""Worth against cost: the gain of each encoder over static vectors by what the frozen encoder costs."""

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
from elmo_bench.reporting.rows import BASELINE, DAGGER, Row
from elmo_bench.reporting.significance import mean_interval
from elmo_bench.reporting.table import Cell, Line, interval, make_table, number, words
from elmo_bench.spec.experiments import Experiment

TITLE = "Worth against cost"
ABOUT = (
    f"The gain over {BASELINE} on test, the mean over the tasks that all of these encoders have, against what the "
    "frozen encoder with its static vectors costs (elmo-bench cost). Costs are of the same weights as the runs."
)
SPEED = "best tokens/s"


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
        "stored MiB": number(stored, ",.1f"),
        "frozen numbers": number(cost["parameters"], ","),
    }


def _range(rates: pd.Series) -> Cell:
    middle, low, high = rates.median(), rates.min(), rates.max()
    return Cell(f"{middle:,.0f} ({low:,.0f} to {high:,.0f})", {"": middle, "low": low, "high": high})


def console(costs: Sequence[EncoderCost]) -> str:
    """A table, and a line about the machine and the text."""
    lines = [{"encoder": words(cost["encoder"]), **cost_cells(cost)} for cost in costs]
    machines = dict.fromkeys(f"{machine_of(cost)}; {cost['text']['tokens']:,} tokens" for cost in costs)
    return "\n".join([fitted([*lines[0]], [[c.text for c in line.values()] for line in lines]), "", *machines])


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
        own |= {anchor: cost for anchor, key in keys.items() if key == encoder_key(cost["settings"], cost["contents"])}
    return max((own for _, own in sorted(places.items())), key=len, default={})


def worth(main: Experiment, suite: str, groups: Sequence[Group], gain: Gains, costs: Sequence[EncoderCost]) -> Made:
    """A table, the baseline first, and a figure; nothing without costs of two encoders that were compared.

    If no task has all encoders, the one with fewest tasks is left out, until one does.
    """
    gains = {(name, one.group.task): each for one in picked(main, groups, gain) for name, each in one.gains.items()}
    known = costs_of((row for each in gains.values() for row in (each.ours, each.theirs)), costs)
    gains = {key: each for key, each in gains.items() if {each.ours.anchor, each.theirs.anchor} <= known.keys()}
    by_task = pd.Series(gains, dtype=object).unstack(sort=False) if gains else pd.DataFrame()
    while len(by_task) and not by_task.notna().all().any():
        by_task = by_task.drop(index=min(by_task.index, key=lambda name: (by_task.loc[name].notna().sum(), name)))
    if by_task.empty:
        return [], []
    by_task = by_task.dropna(axis=1)
    measured, tasks, over = known[by_task.iloc[0, 0].theirs.anchor], list(by_task), f"gain over {BASELINE}"
    names = ["encoder", "tokens/s, best batch", f"points over {BASELINE} on test", "sd"]
    lines: list[Line] = [{"encoder": words(BASELINE), over: Cell(), "95 %": Cell(), **cost_cells(measured)}]
    points = [(BASELINE, lines[0][SPEED].values[""], 0.0, 0.0)]
    for name, own in by_task.iterrows():
        mean, tested = fmean(each.mean for each in own), [each.difference for each in own if each.difference]
        mark = "" if all(each.converged for each in own) else f" {DAGGER}"
        bounds = mean_interval(tested) if len(tested) == len(own) else None
        line = {"encoder": words(name), over: number(mean, "+.2f", suffix=mark)}
        line |= {"95 %": interval(bounds) if bounds else Cell(), **cost_cells(known[own.iloc[0].ours.anchor])}
        lines.append(line)
        points.append((name, line[SPEED].values[""], mean, (bounds[1] - bounds[0]) / 2 if bounds else nan))
    of = next(g.info.title for g in groups if g.task == tasks[0]) if len(tasks) == 1 else f"mean of {', '.join(tasks)}"
    stem, title = f"{suite}-worth", f"{TITLE}: {of}, suite {suite}"
    note = (
        f"Costs: {machine_of(measured)}; median (and range) of {len(measured['rounds'])} processes that read "
        f"{measured['text']['tokens']:,} tokens. load: processor seconds, with the libraries that the encoder imports. "
        "peak: above a process without encoder."
    )
    table = make_table(stem, title, lines, tasks=tasks[0] if len(tasks) == 1 else "", notes=[note])
    return [table], [chart(f"{stem}-speed", title, pd.DataFrame(points, columns=names))]
