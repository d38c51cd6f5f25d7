"""The head against a plain computation of one proposition at a time."""

from functools import partial

import pytest
import torch

from elmo_bench.tasks.srl.columns import Proposition, Sentence
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


def test_scores_equal_a_plain_computation_of_each_proposition():
    _, train, head, index = build(
        "encoder=elmo", f"encoder.weights={GOLDEN}", "place=both", "data.max_train=10", NARROW
    )
    assert head.embedder.output_dim > 0
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
