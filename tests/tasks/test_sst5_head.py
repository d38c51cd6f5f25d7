"""The head against a plain computation of one sentence at a time."""

from functools import partial

import torch

from tests import heads
from tests.heads import linear
from tests.runs import GOLDEN

build = partial(heads.build, "sst5")


def plainly(head, phrase, index):
    """The scores of one sentence, token by token."""
    text = index([phrase.tokens])
    x = linear(head.embedder(text)[0], head.reduce[0]).clamp(min=0)
    x = heads.both_ways(x, head.encode)
    context = []
    for token in x:
        weights = torch.stack([token.dot(other) for other in x]).exp()
        context.append(sum(weight * other for weight, other in zip(weights / weights.sum(), x, strict=True)))
    context = torch.stack(context)
    x = heads.both_ways(torch.cat([x, x - context, x * context], dim=1), head.integrate)
    x = torch.cat([x, head.embedder.output(text)[0]], dim=1)
    weights = torch.stack([token.dot(head.attentive_pool.score.weight[0]) for token in x]).exp()
    attended = sum(weight * token for weight, token in zip(weights / weights.sum(), x, strict=True))
    x = torch.cat([x.max(dim=0).values, x.min(dim=0).values, x.sum(dim=0) / len(x), attended])
    for layer in (head.classify[0], head.classify[3]):
        x = linear(x, layer).clamp(min=0)
    return linear(x, head.scores)


def test_scores_equal_a_plain_computation_of_each_sentence():
    widths = ("task.sizes.cpu.reduced=7", "task.sizes.cpu.hidden=[5,3]", "task.sizes.cpu.classifier=[6,4]")
    made = heads.check_scores("sst5", plainly, "data.max_train=12", *widths)
    assert made.head.scores.weight.shape == (5, 4)


def test_pooled_values_in_training_and_in_evaluation_agree():
    """Maxima and minima too: a mask for each token on what is pooled would make them larger in training."""
    torch.manual_seed(0)
    _, train, head, index = build("encoder=elmo", f"encoder.weights={GOLDEN}", "data.max_train=24")
    batch, seen = head.collate(train, index), []
    head.pooled_dropout.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    with torch.no_grad():
        head.eval()(batch)
        for _ in range(40):
            head.train()(batch)
    elmo = head.embedder.output_dim
    evaluated, trained = (x.unflatten(1, (4, -1))[:, :3, -elmo:] for x in (seen[0], torch.stack(seen[1:]).mean(dim=0)))
    ratios = trained.abs().mean(dim=(0, 2)) / evaluated.abs().mean(dim=(0, 2))  # of maximum, minimum and mean
    assert ratios.sub(1).abs().max() < 0.05, ratios
    assert head.output_dropout.rate > 0
