"""Several tests at once (scipy has the false discovery rate, not this)."""

from collections.abc import Sequence

import numpy as np


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values adjusted for the number of tests, in the order given: reject those that are at most α.

    Source: Holm (1979), A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6.
    The k-th smallest of m is multiplied by m + 1 - k, is no smaller than those before it, and at most 1; the chance of
    even one false rejection in the table is then at most α.
    """
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p, kind="stable")
    raised = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(raised, 1.0)
    return adjusted.tolist()
