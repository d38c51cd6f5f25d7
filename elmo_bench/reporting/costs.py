"""What frozen encoders cost: formats of a table, and which measurement belongs to which
system.
"""

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

import pandas as pd

from elmo_bench.ledger.costs import EncoderCost, encoder_key
from elmo_bench.reporting.formats import number
from elmo_bench.reporting.published import processor
from elmo_bench.reporting.rows import rows_of
from elmo_bench.reporting.tables import Format, Line, present

SINGLE, SPEED = "tokens/s, batch 1", "best tokens/s"


def cost_columns(costs: Sequence[EncoderCost | None]) -> pd.DataFrame:
    """A row for each measurement, empty for None: medians over the passes, with the
    range of rates.
    """
    table = pd.DataFrame([{} if cost is None else _columns(cost) for cost in costs])
    return (
        table.astype({"batch": "Int64", "frozen_numbers": "Int64"})
        if "batch" in table
        else table
    )


def _columns(cost: EncoderCost) -> dict[str, Any]:
    rates: Mapping[str, Any] = cost.tokens_per_second
    # of equal ones the smallest
    best = max(rates, key=lambda batch: median(rates[batch]))
    columns: dict[str, Any] = {}
    for heading, batch in ((SINGLE, "1"), (SPEED, best)):
        columns[heading] = median(rates[batch])
        columns[f"{heading} low"] = min(rates[batch])
        columns[f"{heading} high"] = max(rates[batch])
    columns["batch"] = int(best)
    columns["load"] = cost.load_seconds
    columns["peak"] = cost.memory_mib
    columns["frozen_numbers"] = cost.parameters
    return columns


def rate(heading: str) -> Format:
    """Tokens a second with their range."""

    def text(line: Line) -> str:
        middle = present(line.get(heading))
        if middle is None:
            return ""
        low = line[f"{heading} low"]
        high = line[f"{heading} high"]
        return f"{middle:,.0f} ({low:,.0f} to {high:,.0f})"

    return Format(
        heading, text, {"": heading, "low": f"{heading} low", "high": f"{heading} high"}
    )


def cost_formats() -> list[Format]:
    """Of the columns of `cost_columns`."""
    return [
        rate(SINGLE),
        rate(SPEED),
        number("batch", "batch", ","),
        number("load, s", "load"),
        number("peak MiB", "peak", ",.0f"),
        number("frozen numbers", "frozen_numbers", ","),
    ]


def costs_of(
    systems: pd.DataFrame, costs: Iterable[EncoderCost]
) -> dict[str, EncoderCost]:
    """The costs of the frozen encoders of these systems, by hash: with the same
    weights, of one machine and text.

    Of several machines the one that has most of the systems.
    """
    keys = {
        row.hash: encoder_key(row.spec.settings, row.spec.contents)
        for row in rows_of(systems)
    }
    machines: dict[tuple[str, str], dict[str, EncoderCost]] = {}
    for cost in sorted(costs, key=lambda cost: cost.created):
        key = encoder_key(cost.settings, cost.contents)
        measured = machines.setdefault((processor(cost.environment), cost.text), {})
        for run_hash, its_key in keys.items():
            if its_key == key:
                measured[run_hash] = cost
    return max(
        (measured for _, measured in sorted(machines.items())), key=len, default={}
    )
