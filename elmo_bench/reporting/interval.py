"""What the mean over seeds is known to, and a gain as the ELMo paper counts it."""

from math import sqrt

from scipy.stats import t

from elmo_bench.reporting.statistics import Summary

LEVEL = 0.95


def interval(summary: Summary) -> tuple[float, float] | None:
    """Student's interval of the mean at 95 % confidence: mean ± t(0.975, n - 1) · sd / √n; None for one figure.

    Source: Student (1908), The probable error of a mean, Biometrika 6. It covers the seeds alone: other test items
    would move it further. With three seeds it is wide (t = 4.30), which is how little three seeds say.
    """
    if summary.sd is None:
        return None
    reach = float(t.ppf((1 + LEVEL) / 2, summary.n - 1)) * summary.sd / sqrt(summary.n)
    return summary.mean - reach, summary.mean + reach


def relative_reduction(ours: float, baseline: float) -> float | None:
    """The share, in percent, of the baseline's errors that are gone: 100 · (ours - baseline) / (100 - baseline).

    Source: Peters et al. (2018), Deep contextualized word representations, table 1 ("increase, absolute/relative").
    Scores are in percent; below 0 where errors were added; None for a baseline without errors.
    """
    return 100 * (ours - baseline) / (100 - baseline) if baseline < 100 else None
