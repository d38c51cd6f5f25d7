"""What a row gains over another, and the test of it if its outcomes allow one."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from elmo_bench.base.errors import UserError
from elmo_bench.base.json import digest
from elmo_bench.ledger import RunPaths
from elmo_bench.ledger.index import Index, code_of, state_of
from elmo_bench.reporting.compare import Tested, paired_test, with_outcomes
from elmo_bench.reporting.rows import BASELINE, Basis, Row, baseline_of
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
    p_holm: float | None = None  # adjusted for the tests of its family, after `family_of`

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
Pair = tuple[Row, Row | None]  # a row, and what it is compared with


def gains_from(ledger: Path) -> Gains:
    """`gain(ours, theirs)`, None without a common seed. A pair that several tables show is tested once.

    The index of the ledger keeps the results of tests for as long as the scores and outcomes stay the same.
    """
    known: dict[tuple[str, str], tuple[Tested | None, str]] = {}
    with Index(ledger) as index:
        stored = index.results()

    def test(ours: Row, theirs: Row) -> tuple[Tested | None, str]:
        key = _test_key(ledger, (ours, theirs), now=time.time_ns())
        if key in stored:
            return Tested(*stored[key]), ""
        try:
            result = paired_test(*(with_outcomes(ledger, row.records) for row in (ours, theirs)))
        except UserError as error:
            return None, str(error).replace(f"{ledger}/", "").rstrip(".")  # the same page wherever the ledger is
        if key is not None:
            with Index(ledger) as index:
                index.store_results({key: result})
        return result, ""

    def gain(ours: Row, theirs: Row) -> Gain | None:
        gap = difference(ours.scores("test"), theirs.scores("test"))
        if gap is None:
            return None
        pair = ours.anchor, theirs.anchor
        if pair not in known:
            known[pair] = test(ours, theirs)
        return Gain(ours, theirs, gap, *known[pair])

    return gain


def over_baseline(rows: Sequence[Row]) -> list[Pair]:
    """Each row with its baseline among these rows."""
    baselines: dict[Basis, list[Row]] = defaultdict(list)
    for row in rows:
        if row.spec.encoder == BASELINE:
            baselines[row.basis].append(row)
    return [(row, baseline_of(row, baselines[row.basis])) for row in rows]


def _test_key(ledger: Path, sides: Sequence[Row], *, now: int) -> str | None:
    """A key of everything that the test of two rows depends on; None if it cannot be known. `now`: see `state_of`."""
    known = [
        (state_of(RunPaths.of(ledger, r).outcomes, now=now), r["hash"], r["seed"], r["metric"], r["formula"])
        for row in sides
        for r in row.records
    ]
    if any(state is None for state, *_ in known):
        return None
    return digest(
        [
            code_of("base", "ledger", "reporting"),
            np.__version__,
            known,
            [sorted(row.scores("test").items()) for row in sides],
        ]
    )


def family_of(pairs: Iterable[Pair], gain: Gains) -> dict[str, Gain]:
    """The gains of one family, by the anchor of ours; each p is adjusted for all tests of the family."""
    family = [found for ours, theirs in pairs if theirs and (found := gain(ours, theirs))]
    after = iter(holm([found.test.p for found in family if found.test]))
    return {found.ours.anchor: replace(found, p_holm=next(after)) if found.test else found for found in family}
