"""Soft alignment of two texts."""

from torch import Tensor
from torch.nn import functional


def align(x: Tensor, other: Tensor, mask: Tensor) -> Tensor:
    """softmax(x otherᵀ) other: for each token the other sentence's tokens, weighted by their dot products with it.

    x [S, T, D], other [S, U, D], mask bool [S, U] of the other's tokens -> [S, T, D].
    """
    # With a dimension of (one) heads torch does it in blocks, so that no [S, T, U] lies in memory.
    found = functional.scaled_dot_product_attention(
        x[:, None], other[:, None], other[:, None], attn_mask=mask[:, None, None], scale=1.0
    )
    return found[:, 0]
