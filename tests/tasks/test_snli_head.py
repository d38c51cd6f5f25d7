"""The head against a plain computation of one pair at a time; shapes and memory."""

from functools import partial

import torch

from elmo_bench.tasks.snli.data import Pair
from tests import heads
from tests.heads import linear

build = partial(heads.build, "snli")


def aligned(x, other):
    """For each token the mean of the other side's tokens, weighted by the softmax of their dot products."""
    found = []
    for token in x:
        weights = [token.dot(there).exp() for there in other]
        found.append(sum(weight * there for weight, there in zip(weights, other, strict=True)) / sum(weights))
    return torch.stack(found)


def plainly(head, pair, index):
    """The scores of one pair, token by token."""
    sides = []
    for tokens in pair.texts:
        text = index([tokens])
        x = heads.both_ways(head.embedder(text)[0], head.encode)
        sides.append(torch.cat([x, head.embedder.output(text)[0]], dim=1))
    pooled = []
    for own, other in (sides, sides[::-1]):
        found = aligned(own, other)
        x = linear(torch.cat([own, found, own - found, own * found], dim=1), head.reduce[0]).clamp(min=0)
        y = heads.both_ways(x, head.infer)
        pooled += [y.sum(dim=0) / len(y), y.max(dim=0).values]
    return linear(linear(torch.cat(pooled), head.classify[0]).clamp(min=0), head.scores)


WIDTHS = ("task.sizes.cpu.reduced=7", "task.sizes.cpu.hidden=[5,3]", "task.sizes.cpu.classifier=6")


def test_scores_equal_a_plain_computation_of_each_pair():
    def prepare(head):
        for matrix in (p for layer in (head.encode, head.infer) for p in layer.parameters()):
            matrix.data *= 3  # so that the alignment is far from the mean of all tokens

    made = heads.check_scores("snli", plainly, "data.max_train=12", *WIDTHS, prepare=prepare)
    head = made.head
    assert head.scores.weight.shape == (3, 6)
    swapped = [Pair(pair.hypothesis, pair.premise, pair.label) for pair in made.train]
    with torch.no_grad():
        one, other = (head(head.collate(pairs, made.index)) for pairs in (made.train, swapped))
    assert (one - other).abs().max() > 1e-3


def test_loss_is_cross_entropy_and_the_squares_of_the_weight_matrices_alone():
    _, train, head, index = build("encoder=none", "data.max_train=9", "task.head.l2=0.5", *WIDTHS)
    batch = head.eval().collate(train, index)
    names = {name for name, p in head.named_parameters() if "weight" in name and not name.startswith("embedder.")}
    assert len(names) == 2 * 4 + 3  # of two biLSTMs and three layers
    squares = sum(p.square().sum() for name, p in head.named_parameters() if name in names)
    chosen = head(batch).log_softmax(dim=1)[range(9), [head.labels.index(pair.label) for pair in train]]
    torch.testing.assert_close(head.loss(batch), 0.5 * squares - chosen.mean())


def test_a_pair_without_a_gold_label_can_be_predicted():
    _, train, head, index = build("encoder=none", "data.max_train=4", *WIDTHS)
    pairs = [Pair(pair.premise, pair.hypothesis, "-") for pair in train]
    with torch.no_grad():
        head.eval()
        assert head.predict(head.collate(pairs, index)) == head.predict(head.collate(train, index))
        assert set(head.predict(head.collate(pairs, index))) <= {"entailment", "neutral", "contradiction"}
