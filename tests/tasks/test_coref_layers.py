"""Parts of the head: spans and the coupled biLSTM, against plain loops."""

import itertools
import random
from types import SimpleNamespace

import pytest
import torch

from elmo_bench.nn.dropout import dropout_mask
from elmo_bench.tasks.coref import antecedents, spans
from elmo_bench.tasks.coref.antecedents import Antecedents, distance_buckets, marginal_loss
from elmo_bench.tasks.coref.head import CoupledBiLstm
from elmo_bench.tasks.coref.head import Head as CorefHead
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


def test_the_means_of_spans_are_float32_under_autocast():
    """On a GPU the operator has no gradient in bfloat16."""
    values, weights = torch.randn(4, 3).bfloat16().requires_grad_(), torch.rand(2, 2).bfloat16()
    means = spans._means(values, torch.tensor([[0, 1], [2, 3]]), weights)
    assert means.dtype == torch.float32
    means.sum().backward()
    torch.testing.assert_close(values.grad, weights.flatten()[:, None].expand(4, 3))


def plainly(module, sentence, direction, keep=1.0):
    """[T, H] of one sentence [T, D], step by step."""
    layer, recurrent = module.inputs[direction], module.recurrent[direction]
    h, c = module.first[0, direction], module.first[1, direction]
    outputs = {}
    for place in range(len(sentence)) if direction == 0 else reversed(range(len(sentence))):
        j, i, o = (layer(sentence[place]) + recurrent @ (keep * h)).chunk(3)
        c = (1 - torch.sigmoid(i)) * c + torch.sigmoid(i) * torch.tanh(j)
        h = torch.sigmoid(o) * torch.tanh(c)
        outputs[place] = h
    return torch.stack([outputs[place] for place in range(len(sentence))])


def module(dropout=0.0):
    torch.manual_seed(0)
    lstm = CoupledBiLstm(5, 4, dropout=dropout).double()
    torch.nn.init.normal_(lstm.first)
    return lstm


def test_equals_a_plain_loop_and_never_reads_padding():
    lstm, lengths = module(), torch.tensor([3, 7, 1, 6])
    mask = torch.arange(7)[None] < lengths[:, None]
    x = torch.randn(4, 7, 5, dtype=torch.float64)
    y = lstm(x, mask)
    assert y.shape == (4, 7, lstm.dim)
    for row, length in enumerate(lengths.tolist()):
        sentence = x[row, :length]
        plain = torch.cat([plainly(lstm, sentence, 0), plainly(lstm, sentence, 1)], dim=1)
        torch.testing.assert_close(y[row, :length], plain)
        assert not y[row, length:].any()
        x[row, length:] = torch.nan
    torch.testing.assert_close(lstm(x.nan_to_num(1e6), mask), y)


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_gradients_equal_those_of_the_plain_loop(dropout):
    lstm, x = module(dropout), torch.randn(3, 6, 5, dtype=torch.float64, requires_grad=True)
    lengths, weights = (6, 1, 4), torch.randn(3, 6, 8, dtype=torch.float64)
    mask = torch.arange(6)[None] < torch.tensor(lengths)[:, None]
    inputs = [x, *lstm.parameters()]
    torch.manual_seed(5)
    ours = torch.autograd.grad((lstm(x, mask) * weights).sum(), inputs)
    torch.manual_seed(5)
    keep = dropout_mask((3, 2, 4), dropout, x)
    total = 0
    for row, length in enumerate(lengths):
        both = [plainly(lstm, x[row, :length], direction, keep[row, direction]) for direction in (0, 1)]
        total = total + (torch.cat(both, dim=1) * weights[row, :length]).sum()
    torch.testing.assert_close(ours, torch.autograd.grad(total, inputs), atol=1e-10, rtol=1e-10)


def test_blocks_that_are_computed_twice_have_the_same_dropout_and_gradients(monkeypatch):
    torch.manual_seed(0)
    module = Antecedents(4, most=9, genres=1, feature=3, hidden=[6, 5], dropout=0.3).double()
    vectors, mentions = torch.randn(40, 4, dtype=torch.double, requires_grad=True), torch.randn(40, dtype=torch.double)
    speakers, clusters, found = torch.arange(40) % 3, torch.arange(40) % 4, []
    for kept in (antecedents.KEPT, 0):
        monkeypatch.setattr(antecedents, "KEPT", kept)
        torch.manual_seed(5)
        loss = marginal_loss(module(vectors, mentions, speakers, torch.tensor(1)), clusters)
        found.append([loss, *torch.autograd.grad(loss, [vectors, *module.parameters()])])
    torch.testing.assert_close(*found)


def test_distances_have_the_buckets_of_lee():
    ends = [0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 31, 32, 63, 64, 999]
    assert distance_buckets(torch.tensor(ends)).tolist() == [0, 1, 2, 3, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9]


def test_every_window_of_a_document_can_be_drawn():
    document = SimpleNamespace(sentences=torch.tensor([0, 0, 1, 2, 3]), window=lambda first, number: (first, number))
    torch.manual_seed(0)
    drawn = {CorefHead._window(SimpleNamespace(window=2), document) for _ in range(60)}
    assert drawn == {(0, 2), (1, 2), (2, 2)}


def test_widths_have_dropout_in_training_a_mask_for_each_span():
    module = SpanVectors(context=2, lexical=2, longest=4, feature=50, dropout=0.5)
    starts, ends = torch.zeros(200, dtype=torch.int64), torch.arange(200) % 4
    kept, dropped = module.eval().width_vectors(starts, ends), module.train().width_vectors(starts, ends)
    assert kept.all()
    assert (dropped == 0).float().mean().item() == pytest.approx(0.5, abs=0.05)
    assert not torch.equal(dropped[0] == 0, dropped[4] == 0)
