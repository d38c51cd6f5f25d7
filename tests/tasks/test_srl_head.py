"""The head against a plain computation of one proposition at a time, and its gradients."""

from functools import partial

import pytest
import torch

from elmo_bench.tasks.srl.columns import Proposition, Sentence
from elmo_bench.text.tags import to_bio
from tests import heads
from tests.runs import GOLDEN
from tests.tasks.test_srl_lstm import plainly as layer_plainly

build = partial(heads.build, "srl")


def plainly(head, example, index):
    """Tag scores [T, K] of one proposition, token by token."""
    text = index([example.sentence.tokens])
    marks = [head.indicator.weight[int(t == example.predicate)] for t in range(len(example.sentence.tokens))]
    x = torch.cat([head.embedder(text)[0], torch.stack(marks)], dim=1)
    for layer in head.encode.layers:
        x = layer_plainly(layer, x)
    x = torch.cat([x, head.embedder.output(text)[0]], dim=1)
    return x @ head.scores.weight.T + head.scores.bias


NARROW = "task.sizes.cpu.hidden=[7,5,6,5,4,5,6,7]"


@pytest.mark.parametrize("place", ["input", "output", "both"])
def test_scores_equal_a_plain_computation_of_each_proposition(place):
    _, train, head, index = build(
        "encoder=elmo", f"encoder.weights={GOLDEN}", f"place={place}", "data.max_train=10", NARROW
    )
    assert (head.embedder.output_dim > 0) == (place != "input")
    head.eval()
    with torch.no_grad():
        together = head(head.collate(train, index))
        assert len({len(example.sentence.tokens) for example in train}) > 3
        for scores, example in zip(together, train, strict=True):
            expected = plainly(head, example, index)
            torch.testing.assert_close(scores[: len(expected)], expected, atol=1e-5, rtol=1e-4)


@pytest.fixture
def small():
    _, train, head, index = build("encoder=none", "data.max_train=4", NARROW)
    return train, head.double(), index


def test_the_loss_by_hand(small):
    train, head, index = small
    sentence = Sentence(("Ada", "gave", "it"), 0)
    examples = [
        *train[:2],
        Proposition(sentence, 1, "give", ("B-ARG0", "B-V", "B-ARGM-PRX")),  # a role that training never saw
        Proposition(sentence, 1, "give", None),
    ]
    head.eval()
    expected = []
    for example in examples:
        told = [head.labels.index(tag) if tag in head.labels else None for tag in example.tags or ()]
        logs = torch.log_softmax(plainly(head, example, index), dim=1)
        losses = [-logs[t, label] for t, label in enumerate(told) if label is not None]
        expected.append(sum(losses) / len(example.sentence.tokens))
    loss = head.loss(head.collate(examples, index))
    assert loss.item() == pytest.approx(sum(expected).item() / len(examples), rel=1e-9)


def test_the_gradient_of_the_loss_agrees_with_finite_differences(small):
    """Along random directions of every parameter, in double precision."""
    train, head, index = small
    head.eval()
    batch = head.collate(train, index)
    gradients = torch.autograd.grad(head.loss(batch), list(head.parameters()))
    torch.manual_seed(3)
    for (name, parameter), gradient in zip(head.named_parameters(), gradients, strict=True):
        start = parameter.data.clone()
        for direction in torch.randn(2, *parameter.shape, dtype=torch.double):
            losses = []
            for step in (1e-5, -1e-5):
                parameter.data = start + step * direction
                losses.append(head.loss(batch).item())
            parameter.data = start
            slope = (losses[0] - losses[1]) / 2e-5
            assert slope == pytest.approx((gradient * direction).sum().item(), rel=1e-5, abs=1e-8), name


def test_predictions_are_valid_bio_from_random_parameters(small):
    train, head, index = small
    for parameter in head.parameters():
        torch.nn.init.normal_(parameter)
    predicted = head.eval().predict(head.collate(train, index))
    assert [len(tags) for tags in predicted] == [len(example.sentence.tokens) for example in train]
    assert all(to_bio(tags) == tags for tags in predicted)
    assert {"B", "I"} <= {tag[0] for tags in predicted for tag in tags}


def test_the_predicate_decides(small):
    train, head, index = small
    sentence = train[0].sentence
    assert len(sentence.tokens) > 4
    pair = [Proposition(sentence, predicate, "be", None) for predicate in (1, 3)]
    one, other = head.eval()(head.collate(pair, index))
    assert (one - other).abs().max() > 1e-4
