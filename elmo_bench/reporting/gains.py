"""What a row gains over another, and whether that holds over seeds and items."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from elmo_bench.base.errors import UserError
from elmo_bench.reporting.compare import compare, with_outcomes
from elmo_bench.reporting.rows import BASELINE, Basis, Row, baseline_of
from elmo_bench.reporting.significance import Difference, OverItems, holm, over_seeds
from elmo_bench.reporting.statistics import relative_reduction

ALPHA = 0.05
MARKS = {"ahead": "▲", "behind": "▼", "tie": "=", "": ""}


@dataclass(frozen=True)
class Gain:
    """Ours minus theirs on one split, dev or test."""

    ours: Row
    theirs: Row
    split: str
    difference: Difference | None  # None: not tested
    untested: str = ""  # the reason
    p_holm: float | None = None  # adjusted for the tests of its family, after `family_of`

    @property
    def mean(self) -> float:
        """The difference of the means over all seeds."""
        return self.on(self.split)

    def on(self, split: str) -> float:
        """The difference of the means on a split."""
        return self.ours.summary(split).mean - self.theirs.summary(split).mean

    @property
    def reduction(self) -> float | None:
        """Relative error reduction in percent."""
        return relative_reduction(*(row.summary(self.split).mean for row in (self.ours, self.theirs)))

    @property
    def converged(self) -> bool:
        """Whether every run of both rows is; else there is no verdict, since training longer could change it."""
        return not (self.ours.mark or self.theirs.mark)

    @property
    def p(self) -> float | None:
        """Not adjusted; None if it was not tested, or if a run is not converged."""
        return self.difference.p if self.difference and self.converged else None

    @property
    def verdict(self) -> str:
        """ahead, behind or tie at α = 0.05, by the adjusted p if there is one; empty if there is no p."""
        p = self.p if self.p_holm is None else self.p_holm
        if p is None:
            return ""
        if p > ALPHA:
            return "tie"
        return "ahead" if self.mean > 0 else "behind"

    @property
    def said(self) -> str:
        """The verdict, or why there is none."""
        return self.verdict or ("not tested" if self.converged else "not converged")

    @property
    def mark(self) -> str:
        return MARKS[self.verdict]


Gains = Callable[..., Gain]  # (ours, theirs, *, split="test")
Pair = tuple[Row, Row | None]  # a row, and what it is compared with


def gains_from(ledger: Path) -> Gains:
    """`gain(ours, theirs, split="test")`, which computes the difference over items of a pair once."""
    known: dict[tuple[str, str, str], Gain] = {}

    def over_items(ours: Row, theirs: Row, split: str) -> OverItems:
        sides = (with_outcomes(ledger, row.records, split=split) for row in (ours, theirs))
        return compare(*sides, paired=_is_paired(ours, theirs))

    def test(ours: Row, theirs: Row, split: str) -> Gain:
        try:
            seeds = [over_seeds(scores) for scores in _over_what(ours, theirs, split)]
            items = over_items(ours, theirs, split)
            tested = tuple(own for own in seeds if own is not None)
            if len(tested) < len(seeds):
                raise UserError("a single seed")
            return Gain(ours, theirs, split, Difference.of(items, tested))
        except UserError as error:
            reason = str(error).replace(f"{ledger}/", "").rstrip(".")  # the same page wherever the ledger is
            return Gain(ours, theirs, split, None, reason)

    def gain(ours: Row, theirs: Row, *, split: str = "test") -> Gain:
        if _is_paired(ours, theirs):
            ours, theirs = _of_common_seeds(ours, theirs), _of_common_seeds(theirs, ours)
        pair = ours.anchor, theirs.anchor, split
        if pair not in known:
            known[pair] = test(ours, theirs, split)
        return replace(known[pair], ours=ours, theirs=theirs)  # tables label their rows

    return gain


def _is_paired(ours: Row, theirs: Row) -> bool:
    """Whether equal seeds trained on the same subset, which the seed draws; so they do wherever a fraction is taken."""
    return ours.by_seed and ours.basis == theirs.basis


def _of_common_seeds(row: Row, other: Row) -> Row:
    """The row without the seeds that the other does not have; all of it if they have none in common."""
    kept = tuple(record for record in row.records if record["seed"] in other.seeds)
    return replace(row, records=kept or row.records)


def _over_what(ours: Row, theirs: Row, split: str) -> list[list[float]]:
    """The scores of each row by seed or, of paired seeds, their differences. Raises UserError without a common seed."""
    one, other = (row.scores(split) for row in (ours, theirs))
    if not _is_paired(ours, theirs):
        return [[*one.values()], [*other.values()]]
    if one.keys() != other.keys():
        raise UserError("no seed in common")
    return [[one[seed] - other[seed] for seed in one]]


def over_baseline(rows: Sequence[Row]) -> list[Pair]:
    """Each row with its baseline among these rows."""
    baselines: dict[Basis, list[Row]] = defaultdict(list)
    for row in rows:
        if row.spec.encoder == BASELINE:
            baselines[row.basis].append(row)
    return [(row, baseline_of(row, baselines[row.basis])) for row in rows]


def family_of(pairs: Iterable[Pair], gain: Gains, *, split: str = "test") -> dict[str, Gain]:
    """The gains of one family, by the anchor of ours; each p is adjusted for all tests of the family."""
    family = [gain(ours, theirs, split=split) for ours, theirs in pairs if theirs]
    return {found.ours.anchor: found for found in adjusted(family)}


def adjusted(family: Sequence[Gain]) -> list[Gain]:
    """The same gains, each p adjusted for all of their tests."""
    after = iter(holm([found.p for found in family if found.p is not None]))
    return [replace(found, p_holm=next(after)) if found.p is not None else found for found in family]
