"""Spans: all of them, the best that do not cross, their vectors, and classes of distances; each against plain loops."""

import itertools
import random

import pytest
import torch
from torch import nn

from elmo_bench.tasks.coref.antecedents import BUCKETS, distance_buckets
from elmo_bench.tasks.coref.spans import SpanVectors, enumerate_spans, keep_best_spans


@pytest.mark.parametrize("lengths", [[1], [3, 1, 7], [12, 2, 2, 5]])
@pytest.mark.parametrize("width", [1, 4, 10])
def test_every_span_within_a_sentence_and_no_other(lengths, width):
    sentences = [number for number, length in enumerate(lengths) for _ in range(length)]
    starts, ends = enumerate_spans(torch.tensor(sentences), width=width)
    assert list(zip(starts.tolist(), ends.tolist(), strict=True)) == [
        (start, end)
        for start in range(len(sentences))
        for end in range(start, min(start + width, len(sentences)))
        if sentences[start] == sentences[end]
    ]


def cross(one, other):
    (a, b), (c, d) = sorted([one, other])
    return a < c <= b < d


@pytest.mark.parametrize("seed", range(8))
def test_the_best_spans_that_do_not_cross_are_kept(seed):
    rng = random.Random(seed)
    spans = sorted({tuple(sorted((rng.randrange(25), rng.randrange(25)))) for _ in range(90)})
    scores = [rng.choice([0.0, 1.0, rng.random()]) for _ in spans]  # some are equal
    number = rng.choice([1, 5, 20, 200])
    wanted = []
    for place in sorted(range(len(spans)), key=lambda place: -scores[place]):
        if len(wanted) < number and not any(cross(spans[place], spans[other]) for other in wanted):
            wanted.append(place)
    starts, ends = torch.tensor(spans).unbind(1)
    kept = keep_best_spans(torch.tensor(scores, dtype=torch.float64), starts, ends, number=number).tolist()
    assert [spans[place] for place in kept] == sorted(spans[place] for place in wanted)
    assert not any(cross(spans[one], spans[other]) for one, other in itertools.combinations(kept, 2))


def test_ten_buckets_of_distances():
    wanted = {0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 7: 5, 8: 6, 15: 6, 16: 7, 31: 7, 32: 8, 63: 8, 64: 9, 5000: 9}
    found = distance_buckets(torch.tensor([list(wanted)]))
    assert found.tolist() == [list(wanted.values())]
    assert BUCKETS == 10


@pytest.fixture
def vectors():
    torch.manual_seed(0)
    tokens = {"context": torch.randn(30, 6, dtype=torch.float64), "lexical": torch.randn(30, 5, dtype=torch.float64)}
    starts, ends = enumerate_spans(torch.tensor([0] * 12 + [1] * 18), width=4)
    return SpanVectors(context=6, lexical=5, longest=4, feature=3).double(), tokens, starts, ends


def test_a_span_is_its_ends_its_width_and_its_head(vectors):
    module, tokens, starts, ends = vectors
    found = module(**tokens, starts=starts, ends=ends)
    assert found.shape == (len(starts), module.dim) == (len(starts), 6 + 6 + 3 + 5)
    context, lexical = tokens["context"], tokens["lexical"]
    for vector, start, end in zip(found, starts.tolist(), ends.tolist(), strict=True):
        scores = [context[token].dot(module.score.weight[0]).exp() for token in range(start, end + 1)]
        head = sum(score / sum(scores) * lexical[start + place] for place, score in enumerate(scores))
        plain = torch.cat([context[start], context[end], module.widths.weight[end - start], head])
        torch.testing.assert_close(vector, plain)


def test_projecting_all_spans_equals_a_layer_over_their_vectors(vectors):
    module, tokens, starts, ends = vectors
    layer = nn.Linear(module.dim, 7).double()
    whole, parts = (
        layer(module(**tokens, starts=starts, ends=ends)),
        module.project(layer, **tokens, starts=starts, ends=ends),
    )
    torch.testing.assert_close(parts, whole)
    weights = [layer.weight, module.score.weight, module.widths.weight]
    for one, other in zip(
        torch.autograd.grad(whole.tanh().sum(), weights), torch.autograd.grad(parts.tanh().sum(), weights), strict=True
    ):
        torch.testing.assert_close(one, other)
