"""A floor without vectors: TF-IDF of two texts, and logistic regression."""

from collections.abc import Sequence
from typing import Any

from scipy import sparse

from elmo_bench.tasks.classification.floor import Head as OfOneText


class Head(OfOneText):
    """[u; v; |u - v|; u ∘ v] of the vectors u and v of both texts."""

    vectors = 4

    def joined(self, sides: Sequence[Any]) -> Any:
        """csr [N, F] of each side -> csr [N, 4F]."""
        first, second = sides
        return sparse.hstack(
            [first, second, abs(first - second), first.multiply(second)], format="csr"
        )
