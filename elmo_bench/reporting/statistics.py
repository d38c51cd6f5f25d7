"""Means over seeds, and which differences between them to believe."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean, stdev

Scores = Mapping[int, float]  # by seed


@dataclass(frozen=True)
class Summary:
    """Mean and sample standard deviation (n - 1) of n figures; one figure has no deviation."""

    n: int
    mean: float
    sd: float | None

    def __str__(self) -> str:
        return f"{self.mean:.2f}" + ("" if self.sd is None else f" ± {self.sd:.2f}")


def summarise(figures: Iterable[float]) -> Summary:
    """Raises ValueError where there are no figures."""
    figures = list(figures)
    return Summary(len(figures), fmean(figures), stdev(figures) if len(figures) > 1 else None)


def ahead(ours: Scores, theirs: Scores) -> bool:
    """Ahead by more than the spread.

    The difference of the two means over the same seeds is larger than the larger of the two standard deviations; never
    so with fewer than two common seeds.
    """
    seeds = ours.keys() & theirs.keys()
    if len(seeds) < 2:
        return False
    one, other = (summarise(scores[seed] for seed in sorted(seeds)) for scores in (ours, theirs))
    return one.mean - other.mean > max(one.sd or 0.0, other.sd or 0.0)


def difference(ours: Scores, theirs: Scores) -> Summary | None:
    """Ours minus theirs, paired over common seeds; None where there is no such seed."""
    seeds = sorted(ours.keys() & theirs.keys())
    return summarise(ours[seed] - theirs[seed] for seed in seeds) if seeds else None
