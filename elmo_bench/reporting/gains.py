"""What a row gains over another, with the test of it where its outcomes allow one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from elmo_bench.base.errors import UserError
from elmo_bench.reporting.compare import ALPHA, Comparison, adjusted, compare, with_outcomes
from elmo_bench.reporting.interval import interval, relative_reduction
from elmo_bench.reporting.select import Row, baseline_of
from elmo_bench.reporting.statistics import Summary, difference, summarise

MARKS = {"ahead": "▲", "behind": "▼", "tie": "=", "": ""}
LEGEND = (
    f"▲ ahead, ▼ behind: the paired test finds a difference, p ≤ {ALPHA} after Holm's adjustment for the tests that it "
    "stands among. = tie: it does not. No mark: not tested."
)


@dataclass(frozen=True)
class Gain:
    """Ours minus theirs on test, over the seeds that both have."""

    ours: Row
    theirs: Row
    summary: Summary
    comparison: Comparison | None
    untested: str = ""  # why there is no comparison

    @property
    def seeds(self) -> list[int]:
        """Those that both have."""
        return sorted(self.ours.scores("test").keys() & self.theirs.scores("test").keys())

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 %, over seeds; None for one seed."""
        return interval(self.summary)

    @property
    def reduction(self) -> float | None:
        """Relative error reduction in percent, over the seeds that both have."""
        return relative_reduction(
            *(summarise(row.scores("test")[k] for k in self.seeds).mean for row in (self.ours, self.theirs))
        )

    @property
    def verdict(self) -> str:
        """ahead, behind, tie, or empty where it was not tested."""
        return self.comparison.verdict if self.comparison else ""

    @property
    def mark(self) -> str:
        return MARKS[self.verdict]


Gains = Callable[[Row, Row], Gain | None]


def gains_from(ledger: Path) -> Gains:
    """`gain(ours, theirs)`, None without a common seed; a pair that several tables show is tested once."""

    @cache
    def tested(ours: _Key, theirs: _Key) -> tuple[Comparison | None, str]:
        try:
            return compare(*(with_outcomes(ledger, key.row.records) for key in (ours, theirs))), ""
        except UserError as error:
            return None, str(error).replace(f"{ledger}/", "")  # the same page wherever the ledger lies

    def gain(ours: Row, theirs: Row) -> Gain | None:
        gap = difference(ours.scores("test"), theirs.scores("test"))
        return None if gap is None else Gain(ours, theirs, gap, *tested(_Key(ours), _Key(theirs)))

    return gain


class _Key:
    """A row by its records: a label may change on the way."""

    def __init__(self, row: Row):
        self.row = row
        self.key = (row.place, row.newest["encoder"], row.newest["hash"])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


def over_baseline(rows: Sequence[Row], gain: Gains) -> list[Gain]:
    """Each row against its baseline among them, where it has one; p is not adjusted yet."""
    pairs = [(row, other) for row in rows if (other := baseline_of(row, rows))]
    return [found for pair in pairs if (found := gain(*pair))]


def holm_over(table: Sequence[Gain]) -> list[Gain]:
    """The gains of one table, in the same order, each p adjusted for all tests in it."""
    after = iter(adjusted([gain.comparison for gain in table if gain.comparison]))
    return [replace(gain, comparison=next(after)) if gain.comparison else gain for gain in table]
