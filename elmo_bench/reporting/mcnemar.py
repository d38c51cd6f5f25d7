"""McNemar's test, exact: for one seed each, where an item is right or wrong."""

import numpy as np
from scipy.stats import binomtest


def mcnemar(ours: np.ndarray, theirs: np.ndarray) -> float:
    """The two-sided p-value for right (1) or wrong (0) [items] of two systems on the same items; 1 where they agree.

    Source: McNemar (1947), Psychometrika 12. Of the items that one system alone has right, were the systems alike,
    ours would have a number that is binomial with probability 1/2; what both have right or wrong says nothing.
    """
    if ours.shape != theirs.shape:
        raise ValueError(f"{ours.shape} outcomes against {theirs.shape}")
    won, lost = int(np.count_nonzero(ours > theirs)), int(np.count_nonzero(theirs > ours))
    return float(binomtest(won, won + lost).pvalue) if won + lost else 1.0
