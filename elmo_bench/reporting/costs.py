"""The costs of frozen encoders (`elmo-bench cost`): which of them belong to a row, and how they are shown."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from elmo_bench.ledger.costs import SINGLE, EncoderCost, best_batch, encoder_key, middle, rates
from elmo_bench.reporting.formats import markdown
from elmo_bench.reporting.rows import Row

MIB = 2**20
HEADER = [
    "encoder", "tokens/s, batch 1", "best tokens/s", "batch", "load, s", "peak MiB", "stored MiB", "frozen numbers",
]  # fmt: skip


@dataclass(frozen=True)
class Costs:
    """Measurements that can be compared: on one machine, of one text."""

    machine: str
    text: str  # digest
    found: dict[str, EncoderCost]  # by `encoder_key`

    def of(self, row: Row) -> EncoderCost | None:
        """The cost of the frozen encoder of this row; None if it was not measured with the same weights."""
        return self.found.get(encoder_key(row.spec.settings, row.spec.contents))


def by_machine(costs: Iterable[EncoderCost]) -> list[Costs]:
    """One for each machine and text, the one with most encoders first."""
    found: dict[tuple[str, str], dict[str, EncoderCost]] = {}
    for cost in sorted(costs, key=lambda cost: (cost["encoder"], cost["created"])):
        key = machine_of(cost), cost["text"]["digest"]
        found.setdefault(key, {})[encoder_key(cost["settings"], cost["contents"])] = cost
    several = [Costs(*key, own) for key, own in found.items()]
    return sorted(several, key=lambda costs: (-len(costs.found), costs.machine, costs.text))


def most_of(costs: Iterable[EncoderCost], rows: Sequence[Row]) -> Costs | None:
    """The machine and text with the costs of most of these rows; None if no row has any."""
    found = by_machine(costs)
    best = max(found, key=lambda costs: sum(costs.of(row) is not None for row in rows), default=None)
    return best if best and any(map(best.of, rows)) else None


def stale(costs: Iterable[EncoderCost], rows: Iterable[Row]) -> list[str]:
    """The encoders whose costs are known, and none of them with the weights of these rows."""
    known: dict[str, set[str]] = {}
    for cost in costs:
        known.setdefault(cost["encoder"], set()).add(encoder_key(cost["settings"], cost["contents"]))
    wrong = {
        row.spec.encoder
        for row in rows
        if encoder_key(row.spec.settings, row.spec.contents) not in known.get(row.spec.encoder, set())
    }
    return sorted(wrong & known.keys())


def machine_of(cost: EncoderCost) -> str:
    """The processor and its threads, or the GPU."""
    machine = cost["machine"]
    if machine["device"] != "cpu":
        return machine["device"]
    return f"{machine['cpu']}, {machine['threads']} thread{'s' if machine['threads'] != 1 else ''}"


def best_rate(cost: EncoderCost) -> float:
    """Tokens a second with the best batch, median of the rounds."""
    return median(rates(cost, best_batch(cost)))


def stored_mib(cost: EncoderCost) -> float | None:
    """MiB of the files."""
    return None if cost["stored_bytes"] is None else cost["stored_bytes"] / MIB


def console(costs: Sequence[EncoderCost]) -> str:
    """A table with the range of the rounds, and a line about the machine and the text."""
    body = []
    for cost in costs:
        best, stored = best_batch(cost), stored_mib(cost)
        body.append([
            cost["encoder"], ranged(cost, SINGLE), ranged(cost, best), best, f"{middle(cost, 'load_seconds'):.2f}",
            f"{middle(cost, 'memory_mib'):,.0f}", "" if stored is None else f"{stored:,.1f}",
            f"{cost['parameters']:,}",
        ])  # fmt: skip
    machines = dict.fromkeys(f"{machine_of(cost)}; {cost['text']['tokens']:,} tokens" for cost in costs)
    return "\n".join([markdown(HEADER, body), "", *machines])


def ranged(cost: EncoderCost, batch: str) -> str:
    """Median, and the range of the rounds."""
    found = rates(cost, batch)
    return f"{median(found):,.0f} ({found[0]:,.0f} to {found[-1]:,.0f})"
