"""The sparse alignment of CEAF equals the dense one."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array

from elmo_bench.tasks.coref.metric import best_alignment


@pytest.mark.parametrize("kind", ["any", "fractions", "ties"])
def test_it_equals_the_dense_assignment(kind):
    rng = np.random.default_rng(0)
    for _ in range(300):
        shape = rng.integers(0, 12, 2)
        weights = {
            "any": rng.random,
            "fractions": lambda shape: rng.integers(1, 4, shape) / rng.integers(1, 5, shape),
            "ties": lambda shape: rng.integers(1, 3, shape).astype(float),
        }[kind](shape)
        weights *= rng.random(shape) < rng.random()
        best = weights[linear_sum_assignment(weights, maximize=True)].sum()
        assert best_alignment(csr_array(weights)) == pytest.approx(best, abs=1e-9)
