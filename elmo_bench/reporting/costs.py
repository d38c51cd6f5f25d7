"""What frozen encoders cost: cells of tables, and which measurement is of which run."""

from collections.abc import Iterable, Sequence
from statistics import median

import pandas as pd

from elmo_bench.ledger.costs import SINGLE, EncoderCost, encoder_key
from elmo_bench.reporting.console import fitted
from elmo_bench.reporting.rows import Row
from elmo_bench.reporting.table import Cell, Line, number

SPEED = "best tokens/s"


def cost_cells(cost: EncoderCost) -> Line:
    """Medians over the rounds, with the range of rates."""
    rates = pd.DataFrame([each["tokens_per_second"] for each in cost["rounds"]]).rename(columns=int).sort_index(axis=1)
    best = int(rates.median().idxmax())  # of equal ones the smallest
    ranges = {}
    for batch in (int(SINGLE), best):
        values = {"": rates[batch].median(), "low": rates[batch].min(), "high": rates[batch].max()}
        ranges[batch] = Cell("{:,.0f} ({:,.0f} to {:,.0f})".format(*values.values()), values)
    return {
        "tokens/s, batch 1": ranges[int(SINGLE)],
        SPEED: ranges[best],
        "batch": number(best, ","),
        "load, s": number(median(each["load_seconds"] for each in cost["rounds"])),
        "peak MiB": number(median(each["memory_mib"] for each in cost["rounds"]), ",.0f"),
        "stored MiB": number(cost["stored_bytes"] and cost["stored_bytes"] / 2**20, ",.1f"),
        "frozen numbers": number(cost["parameters"], ","),
    }


def console(costs: Sequence[EncoderCost]) -> str:
    """A table, and a line about the machine and the text."""
    lines = [{"encoder": Cell(cost["encoder"]), **cost_cells(cost)} for cost in costs]
    machines = dict.fromkeys(f"{machine_of(cost)}; {cost['text']['tokens']:,} tokens" for cost in costs)
    body = [[cell.text for cell in line.values()] for line in lines]
    return "\n".join([fitted([*lines[0]], body), "", *machines])


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
