"""The head against a plain computation of one proposition at a time, and Viterbi against brute force."""

import itertools
from functools import partial

import pytest
import torch

from elmo_bench.tasks.srl.columns import Proposition, Sentence
from elmo_bench.tasks.srl.head import best_paths
from elmo_bench.text.tags import allowed_transitions
from tests import heads
from tests.runs import first_ones
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
    heads.check_scores("srl", plainly, "data.max_train=10", NARROW)


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


LABELS = ["O", "B-A", "I-A", "B-B", "I-B"]
STARTS, TRANSITIONS, _ = (torch.from_numpy(table) for table in allowed_transitions(LABELS))
LENGTHS = (5, 4, 3, 2, 1)
MASK = torch.arange(5)[None] < torch.tensor(LENGTHS)[:, None]


def valid(path):
    """BIO, by rules of this test."""
    labels = ["O", *(LABELS[label] for label in path)]
    return all(b[0] != "I" or a in (f"B{b[1:]}", b) for a, b in itertools.pairwise(labels))


@pytest.mark.parametrize("seed", first_ones(range(6), 2))
def test_it_finds_the_best_of_all_valid_sequences(seed):
    torch.manual_seed(seed)
    scores = torch.randn(len(LENGTHS), 5, len(LABELS), dtype=torch.double)
    scores[..., [2, 4]] += 1  # so that the constraints matter
    scores[~MASK] = torch.nan  # padding is never read
    differs = 0
    for row, (length, found) in enumerate(
        zip(LENGTHS, best_paths(scores, MASK, starts=STARTS, transitions=TRANSITIONS), strict=True)
    ):
        paths = list(itertools.product(range(len(LABELS)), repeat=length))
        worth = {path: sum(scores[row, t, label].item() for t, label in enumerate(path)) for path in paths}
        assert tuple(found) == max(filter(valid, paths), key=worth.get)
        differs += tuple(found) != max(paths, key=worth.get)
    assert differs
