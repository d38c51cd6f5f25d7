"""Means over seeds: their spread and their interval."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from math import sqrt
from statistics import fmean, stdev

LEVEL = 0.95  # of intervals

Scores = Mapping[int, float]  # by seed


@dataclass(frozen=True)
class Summary:
    """Mean and sample standard deviation (n - 1) of n numbers; a single number has no deviation."""

    n: int
    mean: float
    sd: float | None

    def __str__(self) -> str:
        return f"{self.mean:.2f}" + ("" if self.sd is None else f" ± {self.sd:.2f}")

    @property
    def interval(self) -> tuple[float, float] | None:
        """Student's interval of the mean at 95 % confidence: mean ± t(0.975, n - 1) · sd / √n; None for one number.

        Source: Student (1908), The probable error of a mean, Biometrika 6. It covers the seeds alone, not other test
        items. With three seeds it is wide (t = 4.30), because three seeds say little.
        """
        if self.sd is None:
            return None
        reach = t_quantile((1 + LEVEL) / 2, self.n - 1) * self.sd / sqrt(self.n)
        return self.mean - reach, self.mean + reach


@cache
def t_quantile(level: float, df: float) -> float:
    """Of Student's t with `df` degrees of freedom."""
    from scipy.special import stdtrit  # scipy.stats has it too, and takes 50 MiB more

    return float(stdtrit(df, level))


def summarise(numbers: Iterable[float]) -> Summary:
    """Raises ValueError if there are no numbers."""
    numbers = list(numbers)
    return Summary(len(numbers), fmean(numbers), stdev(numbers) if len(numbers) > 1 else None)


def ahead(ours: Scores, theirs: Scores) -> bool:
    """Whether ours are ahead by more than the spread.

    That is: over the common seeds, of which there are at least two, the means differ by more than the larger of the two
    standard deviations.
    """
    seeds = sorted(ours.keys() & theirs.keys())
    if len(seeds) < 2:
        return False
    one, other = (summarise(scores[seed] for seed in seeds) for scores in (ours, theirs))
    return one.mean - other.mean > max(one.sd or 0.0, other.sd or 0.0)


def relative_reduction(ours: float, baseline: float) -> float | None:
    """The share, in percent, of the baseline's errors that ours avoids: 100 · (ours - baseline) / (100 - baseline).

    Source: Peters et al. (2018), Deep contextualized word representations, table 1 ("increase, absolute/relative").
    Scores are in percent. Negative if ours makes more errors; None for a baseline without errors.
    """
    return 100 * (ours - baseline) / (100 - baseline) if baseline < 100 else None
