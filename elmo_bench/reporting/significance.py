"""Whether one system is better than another: with other seeds, and on other items?

Both questions have one answer here. A difference of two mean scores is uncertain
because each arm was trained with a few seeds, and because it was scored on some items
of many. The variances of the two add up, and their sum gives one standard error, one
interval and one p-value, by Student's t.

- Seeds: the sample variance over the seeds of each arm, divided by their number. Two
  runs with seed 0 read their batches in one order, and initial weights of equal shapes
  are equal. Seeds are not paired for that: in the published runs, scores of equal
  seeds are no more alike than others. On a
  fraction of the training data they have their subset in common, which the seed draws;
  there it is the sample variance of the differences of equal seeds, divided by their
  number. Other runs lend no variance: whether they vary alike can hardly be tested with
  three seeds, and a pool of the runs that pass such a test is too small
  (benchmarks/README.md).
- Items: the paired delete-one jackknife of the difference, over clusters of items that
  were drawn together, such as the questions about a passage. It holds for any figure of
  sums (`base/metric.py`). What single seeds did with single items is in the variance
  over seeds already, and is subtracted here.
- Degrees of freedom: Satterthwaite (1946), An approximate distribution of estimates of
  variance components, Biometrics Bulletin 2; without items this is Welch's test (1947).

`benchmarks/verdicts.py` simulates how often a verdict errs.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import inf, sqrt
from statistics import fmean, stdev, variance

import numpy as np

LEVEL = 0.95  # of intervals
POWER = 0.8  # of the smallest difference that could have been detected
MANY = 1e6  # degrees of freedom that are as good as infinitely many
DIGITS = 12  # of a difference of scores, which has rounding errors
ROUNDING = 1e-9  # points
REFINED = 50  # rounds of an iteration that ends within a thousandth in ten

Score = Callable[[np.ndarray], np.ndarray]  # sums [..., K] to scores [...]


@dataclass(frozen=True)
class Summary:
    """Mean and sample standard deviation (n - 1) of n numbers.

    A single number has no deviation.
    """

    n: int
    mean: float
    sd: float | None

    def __str__(self) -> str:
        if self.sd is None:
            return f"{self.mean:.2f}"
        return f"{self.mean:.2f} ± {self.sd:.2f}"


@cache
def t_quantile(level: float, df: float) -> float:
    """The quantile of Student's t with `df` degrees of freedom."""
    # scipy.stats offers this too, but takes 50 MiB more.
    from scipy.special import stdtrit

    return float(stdtrit(df, level))


def summarise(numbers: Iterable[float]) -> Summary:
    """The summary of these numbers. Raises ValueError if there are none."""
    numbers = list(numbers)
    sd = stdev(numbers) if len(numbers) > 1 else None
    return Summary(len(numbers), fmean(numbers), sd)


def relative_reduction(ours: float, baseline: float) -> float | None:
    """The gain in percent of what the baseline lacks to 100.

    100 · (ours - baseline) / (100 - baseline), with scores in percent. What an accuracy
    lacks to 100 are errors; for F1 it is not a count. Negative for a loss; None for a
    baseline of 100. Source: Peters et al. (2018), Deep contextualized word
    representations, table 1 ("increase, absolute/relative").
    """
    if baseline < 100:
        return 100 * (ours - baseline) / (100 - baseline)
    return None


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
    # Of the mean of each arm or, with paired seeds, of the mean difference.
    seeds: tuple[Variance, ...]
    # Without what differs between seeds.
    items: Variance

    @property
    def error(self) -> float:
        """The standard error; 0 where it is a rounding error."""
        error = sqrt(sum(part.value for part in self._parts))
        return error if error > ROUNDING else 0.0

    @property
    def df(self) -> float:
        """Satterthwaite's degrees of freedom."""
        return _satterthwaite(self._parts)

    @property
    def p(self) -> float:
        """The two-sided p-value."""
        # scipy.stats offers this too, but takes 50 MiB more.
        from scipy.special import stdtr

        if not self.error:
            return 1.0 if self.mean == 0 else 0.0
        return float(2 * stdtr(self.df, -abs(self.mean) / self.error))

    @property
    def interval(self) -> tuple[float, float]:
        """The interval at 95 % confidence."""
        return mean_interval([self])

    @property
    def detectable(self) -> float:
        """The smallest true difference that a single test at 0.05 detects."""
        return self.detectable_at(1 - LEVEL)

    def interval_at(self, alpha: float) -> tuple[float, float]:
        """The interval at the confidence 1 - alpha: without 0 if p < alpha."""
        reach = self.error * t_quantile(1 - alpha / 2, self.df)
        return self.mean - reach, self.mean + reach

    def detectable_at(self, alpha: float) -> float:
        """The true difference that a test at this level finds in 80 % of repetitions.

        The mean over its error then follows Student's noncentral t distribution.
        """
        return self.error * _detected(alpha, self.df)

    def repeats_for(self, difference: float, alpha: float) -> float:
        """How many times as many seeds and items it takes to detect this difference.

        The squared error falls with their number, and the degrees of freedom rise. At
        most 1 if it is detected already.
        """
        times = (self.detectable_at(alpha) / difference) ** 2
        if times <= 1:
            return times
        for _ in range(REFINED):
            detected = _detected(alpha, self.df * max(1, times))
            times = (self.error * detected / difference) ** 2
        return times

    @property
    def _parts(self) -> tuple[Variance, ...]:
        return *self.seeds, self.items


def _detected(alpha: float, df: float) -> float:
    """The true difference, in standard errors, that a test at this level finds in 80 %
    of repetitions: whose noncentral t is beyond the quantile so often."""
    from scipy.special import nctdtrinc

    df = min(df, MANY)
    return float(nctdtrinc(df, 1 - POWER, t_quantile(1 - alpha / 2, df)))


def mean_interval(differences: Sequence[Difference]) -> tuple[float, float]:
    """The interval of the mean of differences, at 95 % confidence.

    The differences were measured on independent data, with different runs.
    """
    parts = []
    for measured in differences:
        for part in measured._parts:
            value = part.value / len(differences) ** 2
            parts.append(replace(part, value=value))
    error = sqrt(sum(part.value for part in parts))
    reach = error * t_quantile((1 + LEVEL) / 2, _satterthwaite(parts))
    mean = fmean(measured.mean for measured in differences)
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
    """The difference of the mean scores over seeds, from counts of the same items.

    ours: [seeds, items, K]. theirs: [other seeds, items, K]. score: from the sums of
    the counts over items. seeds: the variance over seeds (`over_seeds`) of each mean
    or, if paired, of the mean of the differences; it is raised to what single items
    show, as by chance three seeds may score closer together than that allows.
    clusters: [items] whole numbers, equal for items that were drawn together, and at
    least two; by default every item is a cluster. paired: both have the same seeds in
    the same order, trained on the same subsets.

    Source: Efron and Stein (1981), The jackknife estimate of variance, Annals of
    Statistics 9.
    """
    our_scores = _without_each(ours, score, clusters)
    their_scores = _without_each(theirs, score, clusters)
    varied = [our_scores - their_scores] if paired else [our_scores, their_scores]
    noise = [_noise(left_out) for left_out in varied]
    our_means = our_scores.mean(axis=1, keepdims=True)
    their_means = their_scores.mean(axis=1, keepdims=True)
    items = max(0.0, _spread(our_means - their_means) - sum(noise))
    raised = tuple(
        replace(estimate, value=max(estimate.value, least))
        for estimate, least in zip(seeds, noise, strict=True)
    )
    mean = score(ours.sum(axis=1)).mean() - score(theirs.sum(axis=1)).mean()
    # Two means that should be equal differ by a rounding error, such as -1e-14, which
    # an error of zero would make certain.
    rounded = round(float(mean), DIGITS)
    return Difference(rounded, raised, Variance(items, len(our_scores) - 1))


def _noise(left_out: np.ndarray) -> float:
    """The part that single items have in the variance of a mean over seeds.

    left_out: scores without a cluster [clusters, seeds].
    """
    seeds = left_out.shape[1]
    deviations = left_out - left_out.mean(axis=1, keepdims=True)
    return _spread(deviations) / seeds / max(1, seeds - 1)


def _spread(left_out: np.ndarray) -> float:
    """The jackknife's variance of n scores, summed over them.

    left_out: the scores without a cluster [clusters, n].
    """
    return float((len(left_out) - 1) * left_out.var(axis=0).sum())


def _without_each(
    counts: np.ndarray, score: Score, clusters: np.ndarray | None
) -> np.ndarray:
    """The score of each seed without each of the clusters [clusters, seeds]."""
    parts = counts.transpose(1, 0, 2)  # [items, seeds, K]
    if clusters is not None:
        parts = _summed(parts, clusters)
    return score(parts.sum(axis=0) - parts)


def _summed(parts: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    """The sums [clusters, seeds, K] of parts [items, seeds, K], in the items' order."""
    _, number = np.unique(clusters, return_inverse=True)
    of_item = math.prod(parts.shape[1:])
    columns = parts.reshape(len(parts), of_item).T
    # Several times as fast as np.add.at, in the same order.
    sums = [np.bincount(number, column) for column in columns]
    return np.stack(sums, axis=1).reshape(-1, *parts.shape[1:])


def over_seeds(scores: Sequence[float], *, is_drawn: bool = True) -> Variance | None:
    """The variance of the mean of one system's scores, one for each seed.

    None for a single seed, which tells nothing about others; unless nothing is drawn,
    so that all seeds have one score.
    """
    if not is_drawn:
        return CERTAIN
    if len(scores) < 2:
        return None
    return Variance(variance(scores) / len(scores), len(scores) - 1)


def _satterthwaite(parts: Iterable[Variance]) -> float:
    """The degrees of freedom of a sum of variances."""
    parts = list(parts)
    below = sum(part.value**2 / part.df for part in parts)
    if not below:
        return inf
    # Not the square of the sum, which may differ in the last bit.
    return sqrt(sum(part.value for part in parts)) ** 4 / below


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values adjusted for the number of tests, in the same order.

    Reject those that are at most α: the chance of even one false rejection in the
    family is then at most α. The k-th smallest of m is multiplied by m + 1 - k, raised
    to the largest value before it, and cut at 1. (scipy has the false discovery rate,
    not this.) Source: Holm (1979), A simple sequentially rejective multiple test
    procedure, Scandinavian Journal of Statistics 6.
    """
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p, kind="stable")
    raised = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(raised, 1.0)
    return adjusted.tolist()
