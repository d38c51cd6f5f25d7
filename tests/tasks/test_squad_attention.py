"""Trilinear attention against plain loops over tokens; padding is never read, memory is bounded."""

import math

import pytest
import torch

from elmo_bench.tasks.squad import head as attention
from elmo_bench.tasks.squad.head import SelfAttention

DIM = 4


@pytest.fixture
def texts():
    """Passages [3, 6, 4] and questions [3, 3, 4] with their masks; the padding holds numbers that would show."""
    torch.manual_seed(0)
    made = []
    for longest, lengths in ((6, (6, 1, 4)), (3, (1, 3, 2))):
        x, mask = torch.randn(3, longest, DIM), torch.arange(longest)[None] < torch.tensor(lengths)[:, None]
        x[~mask] = 50.0
        made += [x, mask]
    return made


def similarity(module, x, y):
    """Of one token to another, number by number."""
    first, second, product = module.first.weight[0], module.second.weight[0], module.product[0]
    return sum((first[d] * x[d] + second[d] * y[d] + product[d] * x[d] * y[d]).item() for d in range(DIM))


def shares(scores, nothing=None):
    total = sum(map(math.exp, scores)) + (0 if nothing is None else math.exp(nothing))
    return [math.exp(score) / total for score in scores]


def weighted(weights, tokens):
    return sum((w * token for w, token in zip(weights, tokens, strict=True)), torch.zeros(DIM))


@pytest.mark.parametrize("at_once", [None, 1, 40], ids=["whole", "row by row", "two rows"])
def test_self_attention(texts, monkeypatch, at_once):
    x, mask, *_ = texts
    module = SelfAttention(DIM)
    assert module.nothing.item() == -1
    if at_once:
        monkeypatch.setattr(attention, "SCORES_AT_ONCE", at_once)
    with torch.set_grad_enabled(at_once is None):
        found = module(x, mask)
    for row in range(3):
        tokens = x[row][mask[row]]
        for place, token in enumerate(tokens):
            others = [number for number in range(len(tokens)) if number != place]
            weights = shares([similarity(module.similarity, token, tokens[n]) for n in others], nothing=-1.0)
            torch.testing.assert_close(found[row, place], weighted(weights, tokens[others]), atol=1e-5, rtol=1e-5)


def test_a_text_of_one_token_attends_to_nothing_and_has_gradients():
    module, x = SelfAttention(DIM), torch.randn(1, 1, DIM, requires_grad=True)
    found = module(x, torch.ones(1, 1, dtype=torch.bool))
    assert found.tolist() == [[[0.0] * DIM]]
    found.sum().backward()
    assert all(torch.isfinite(p.grad).all() for p in (x, *module.parameters()))
