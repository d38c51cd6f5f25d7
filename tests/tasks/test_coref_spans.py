"""Spans: the best that do not cross, and their vectors, against plain loops."""

import itertools
import random

import pytest
import torch

from elmo_bench.tasks.coref.spans import SpanVectors, enumerate_spans, keep_best_spans


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
