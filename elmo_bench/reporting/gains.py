"""What a row gains over another, and the test of it if its outcomes allow one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from elmo_bench.base.errors import UserError
from elmo_bench.reporting.compare import Tested, paired_test, with_outcomes
from elmo_bench.reporting.rows import Row, baseline_of
from elmo_bench.reporting.significance import holm
from elmo_bench.reporting.statistics import Summary, difference, relative_reduction, summarise

ALPHA = 0.05
MARKS = {"ahead": "▲", "behind": "▼", "tie": "=", "": ""}


@dataclass(frozen=True)
class Gain:
    """Ours minus theirs on test, over the seeds that both have."""

    ours: Row
    theirs: Row
    summary: Summary
    test: Tested | None
    untested: str = ""  # the reason for a missing test
    p_holm: float | None = None  # adjusted for the tests of its family, after `holm_over`

    @property
    def seeds(self) -> list[int]:
        """The seeds that both have."""
        return sorted(self.ours.scores("test").keys() & self.theirs.scores("test").keys())

    @property
    def reduction(self) -> float | None:
        """Relative error reduction in percent, over the seeds that both have."""
        sides = [summarise(row.scores("test")[k] for k in self.seeds).mean for row in (self.ours, self.theirs)]
        return relative_reduction(*sides)

    @property
    def verdict(self) -> str:
        """ahead, behind or tie at α = 0.05, by the adjusted p if there is one; empty if it was not tested."""
        if self.test is None:
            return ""
        if (self.test.p if self.p_holm is None else self.p_holm) > ALPHA:
            return "tie"
        return "ahead" if self.summary.mean > 0 else "behind"

    @property
    def mark(self) -> str:
        return MARKS[self.verdict]


Gains = Callable[[Row, Row], Gain | None]


def gains_from(ledger: Path) -> Gains:
    """`gain(ours, theirs)`, None without a common seed. A pair that several tables show is tested once."""
    tested: dict[tuple[str, str], tuple[Tested | None, str]] = {}

    def test(ours: Row, theirs: Row) -> tuple[Tested | None, str]:
        try:
            return paired_test(*(with_outcomes(ledger, row.records) for row in (ours, theirs))), ""
        except UserError as error:
            return None, str(error).replace(f"{ledger}/", "").rstrip(".")  # the same page wherever the ledger is

    def gain(ours: Row, theirs: Row) -> Gain | None:
        gap = difference(ours.scores("test"), theirs.scores("test"))
        if gap is None:
            return None
        pair = ours.anchor, theirs.anchor
        if pair not in tested:
            tested[pair] = test(ours, theirs)
        return Gain(ours, theirs, gap, *tested[pair])

    return gain


def over_baseline(rows: Sequence[Row], gain: Gains) -> list[Gain]:
    """Each row against its baseline among these rows, if it has one; p is not adjusted yet."""
    pairs = [(row, other) for row in rows if (other := baseline_of(row, rows))]
    return [found for pair in pairs if (found := gain(*pair))]


def holm_over(family: Sequence[Gain]) -> list[Gain]:
    """The gains of one family, in the same order, each p adjusted for all tests in it."""
    after = iter(holm([gain.test.p for gain in family if gain.test]))
    return [replace(gain, p_holm=next(after)) if gain.test else gain for gain in family]
