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
    module = SpanVectors(context=6, lexical=5, longest=4, feature=3, dropout=0.2).double()
    return module, tokens, {"starts": starts, "ends": ends}


def test_a_span_is_its_ends_its_width_and_its_head(vectors):
    module, tokens, spans = vectors
    starts, ends = spans.values()
    found = module.eval()(**tokens, **spans, widths=module.width_vectors(**spans))
    assert found.shape == (len(starts), module.dim) == (len(starts), 6 + 6 + 3 + 5)
    context, lexical = tokens["context"], tokens["lexical"]
    for vector, start, end in zip(found, starts.tolist(), ends.tolist(), strict=True):
        scores = [context[token].dot(module.score.weight[0]).exp() for token in range(start, end + 1)]
        head = sum(score / sum(scores) * lexical[start + place] for place, score in enumerate(scores))
        plain = torch.cat([context[start], context[end], module.widths.weight[end - start], head])
        torch.testing.assert_close(vector, plain)


def test_vectors_of_widths_are_dropped_span_by_span_in_training(vectors):
    module, _, spans = vectors
    nn.init.ones_(module.widths.weight)
    torch.manual_seed(0)
    dropped = torch.stack([module.train().width_vectors(**spans) for _ in range(200)])
    torch.testing.assert_close(dropped.unique(), torch.tensor([0.0, 1.25], dtype=torch.float64), atol=1e-4, rtol=0)
    assert (dropped == 0).double().mean().item() == pytest.approx(0.2, abs=0.01)
    assert (dropped[0] != dropped[0, :1]).any()
    assert (module.eval().width_vectors(**spans) == 1).all()
