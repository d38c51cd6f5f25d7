"""Whether one system is better than another: would it be with other seeds, and on other test items?

Both questions have one answer here. A difference of two mean scores is uncertain because each arm was trained with a
few seeds, and because it was scored on some items of many. The variances of the two add up, and their sum gives one
standard error, one interval and one p-value, by Student's t.

- Seeds: the sample variance over the seeds of each arm, divided by their number. Seeds of two arms are not paired: two
  runs with seed 0 have nothing else in common. On a fraction of the training data they have their subset in common,
  which the seed draws; there it is the sample variance of the differences of equal seeds, divided by their number.
  Other runs lend no variance: whether they vary alike can hardly be tested with three seeds, and a pool of the runs
  that pass such a test is too small (benchmarks/README.md).
- Items: the paired delete-one jackknife of the difference, over clusters of items that were drawn together, such as
  the questions about a passage. It holds for any figure of sums (`base/metric.py`). What single seeds did with single
  items is in the variance over seeds already, and is taken off here.
- Degrees of freedom: Satterthwaite (1946), An approximate distribution of estimates of variance components, Biometrics
  Bulletin 2; without items this is Welch's test (1947).

`benchmarks/verdicts.py` simulates how often a verdict errs.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import inf, sqrt
from statistics import fmean, stdev, variance

import numpy as np

LEVEL = 0.95  # of intervals
POWER = 0.8  # of the smallest difference that could have been detected

Score = Callable[[np.ndarray], np.ndarray]  # sums [..., K] to scores [...]


@dataclass(frozen=True)
class Summary:
    """Mean and sample standard deviation (n - 1) of n numbers; a single number has no deviation."""

    n: int
    mean: float
    sd: float | None

    def __str__(self) -> str:
        return f"{self.mean:.2f}" + ("" if self.sd is None else f" ± {self.sd:.2f}")


@cache
def t_quantile(level: float, df: float) -> float:
    """Of Student's t with `df` degrees of freedom."""
    from scipy.special import stdtrit  # scipy.stats has it too, and takes 50 MiB more

    return float(stdtrit(df, level))


def summarise(numbers: Iterable[float]) -> Summary:
    """Raises ValueError if there are no numbers."""
    numbers = list(numbers)
    return Summary(len(numbers), fmean(numbers), stdev(numbers) if len(numbers) > 1 else None)


def relative_reduction(ours: float, baseline: float) -> float | None:
    """The share, in percent, of what the baseline lacks to 100: 100 · (ours - baseline) / (100 - baseline).

    Source: Peters et al. (2018), Deep contextualized word representations, table 1 ("increase, absolute/relative").
    Scores are in percent. Of an accuracy these are errors; of F1 they are no count. Negative for a loss; None for a
    baseline of 100.
    """
    return 100 * (ours - baseline) / (100 - baseline) if baseline < 100 else None


@dataclass(frozen=True)
class Variance:
    """An estimate of a variance with its degrees of freedom."""

    value: float
    df: float


CERTAIN = Variance(0.0, inf)  # over seeds, of a run whose seeds all have one score


@dataclass(frozen=True)
class Difference:
    """A difference of two means, and what its uncertainty consists of."""

    mean: float
    seeds: tuple[Variance, ...]  # of the mean of each arm, or, with paired seeds, of the mean difference
    items: Variance  # without what differs between seeds

    @property
    def error(self) -> float:
        """The standard error."""
        return sqrt(sum(part.value for part in self._parts))

    @property
    def df(self) -> float:
        """Satterthwaite's degrees of freedom."""
        return _satterthwaite(self._parts)

    @property
    def p(self) -> float:
        """Two-sided."""
        from scipy.special import (
            stdtr,  # scipy.stats has the same functions, and takes 50 MiB more
        )

        if not self.error:
            return 1.0 if self.mean == 0 else 0.0
        return float(2 * stdtr(self.df, -abs(self.mean) / self.error))

    @property
    def interval(self) -> tuple[float, float]:
        """At 95 % confidence."""
        return mean_interval([self])

    @property
    def detectable(self) -> float:
        """The smallest true difference that one such test finds (p <= 0.05) in 80 % of repetitions."""
        return self.error * (t_quantile((1 + LEVEL) / 2, self.df) + t_quantile(POWER, self.df))

    @property
    def _parts(self) -> tuple[Variance, ...]:
        return *self.seeds, self.items


def mean_interval(differences: Sequence[Difference]) -> tuple[float, float]:
    """At 95 % confidence, of the mean of differences that were measured on independent data with other runs."""
    parts = [replace(part, value=part.value / len(differences) ** 2) for each in differences for part in each._parts]
    reach = sqrt(sum(part.value for part in parts)) * t_quantile((1 + LEVEL) / 2, _satterthwaite(parts))
    mean = fmean(each.mean for each in differences)
    return mean - reach, mean + reach


def difference(
    ours: np.ndarray,
    theirs: np.ndarray,
    score: Score,
    seeds: Sequence[Variance],
    clusters: np.ndarray | None = None,
    *,
    paired: bool = False,
) -> Difference:
    """Of the mean scores over seeds, from counts of the same items and what the scores vary over seeds.

    `ours` is [seeds, items, K] and `theirs` [other seeds, items, K]; `paired`: the same seeds in the same order, which
    trained on the same subsets. `clusters` [items] are whole numbers, equal for items that were drawn together, and at
    least two; default: each item on its own. `seeds`: of each mean, or of the mean of paired differences
    (`over_seeds`); at least what single items show is taken, as by chance three seeds may score closer together than
    that allows. Source: Efron and Stein (1981), The jackknife estimate of variance, Annals of Statistics 9.
    """
    arms = [_without_each(counts, score, clusters) for counts in (ours, theirs)]  # [clusters, seeds] each
    gap = arms[0].mean(axis=1, keepdims=True) - arms[1].mean(axis=1, keepdims=True)
    varied = [arms[0] - arms[1]] if paired else arms
    noise = [
        _spread(each - each.mean(axis=1, keepdims=True)) / each.shape[1] / max(1, each.shape[1] - 1) for each in varied
    ]
    items = max(0.0, _spread(gap) - sum(noise))
    mean = float(score(ours.sum(axis=1)).mean() - score(theirs.sum(axis=1)).mean())
    raised = tuple(replace(own, value=max(own.value, least)) for own, least in zip(seeds, noise, strict=True))
    return Difference(mean, raised, Variance(items, len(arms[0]) - 1))


def _spread(left_out: np.ndarray) -> float:
    """The jackknife's variance of the scores that [clusters, n] are without a cluster, summed over n."""
    return float((len(left_out) - 1) * left_out.var(axis=0).sum())


def _without_each(counts: np.ndarray, score: Score, clusters: np.ndarray | None) -> np.ndarray:
    """The score of each seed without each of the clusters [clusters, seeds]."""
    parts = counts.transpose(1, 0, 2)  # [items, seeds, K]
    if clusters is not None:
        _, number = np.unique(clusters, return_inverse=True)
        grouped = np.zeros((number.max(initial=-1) + 1, *parts.shape[1:]))
        np.add.at(grouped, number, parts)
        parts = grouped
    return score(parts.sum(axis=0) - parts)


def over_seeds(scores: Sequence[float]) -> Variance | None:
    """Of the mean of one system's scores, one for each seed; None for a single seed, which says nothing of others."""
    if len(scores) < 2:
        return None
    return Variance(variance(scores) / len(scores), len(scores) - 1)


def _satterthwaite(parts: Iterable[Variance]) -> float:
    """The degrees of freedom of a sum of variances."""
    parts = list(parts)
    below = sum(part.value**2 / part.df for part in parts)
    return sqrt(sum(part.value for part in parts)) ** 4 / below if below else inf


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values adjusted for the number of tests, in the order given: reject those that are at most α.

    Source: Holm (1979), A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6.
    The k-th smallest of m is multiplied by m + 1 - k, raised to the largest value before it, and cut at 1. The chance
    of even one false rejection in the family is then at most α. (scipy has the false discovery rate, not this.)
    """
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p, kind="stable")
    raised = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(raised, 1.0)
    return adjusted.tolist()
