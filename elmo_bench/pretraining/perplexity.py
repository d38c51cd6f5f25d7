"""Perplexity of held-out text, defined in docs/pretraining.md: each sentence alone from zero state, full softmax.

Shape letters: N targets, P projection, V vocabulary.
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from elmo_bench.base.progress import Meter, progress
from elmo_bench.elmo.frozen import frozen
from elmo_bench.pretraining.batches import OUTSIDE, Batches
from elmo_bench.pretraining.encode import MARKERS, UNKNOWN, Encoded
from elmo_bench.pretraining.model import LanguageModel
from elmo_bench.pretraining.network import features

CELLS = 2048  # targets of a batch in each direction
SIDES = ("forward", "backward", "average")
Perplexity = dict[str, Any]  # figures by name, see `perplexity`
BLOCK = 1024  # rows and columns of the logits in memory at once: 4 MiB, which stay in the cache


def perplexity(model: LanguageModel, text: Encoded, *, device: str = "cpu") -> Perplexity:
    """Figures of a held-out text, encoded with the vocabulary of the model's softmax, in float32.

    `forward`, `backward`, `average` (exp of the mean of both directions' mean losses), each also `…_without_unknown`:
    over the targets that are not <UNK>, with the same softmax; `unknown_percent` of the targets; numbers of
    `sentences`, of `targets` of one direction, and of `words` of the softmax.
    """
    batches = Batches(text, cells=CELLS)
    with progress("evaluate", total=text.sentences) as meter:
        sums = _loss_sums(model.to(device).eval(), batches, meter)
    means = sums[:, :, 0] / sums[:, :, 1]  # direction x (all, without <UNK>)
    rows = torch.cat([means, means.mean(dim=0, keepdim=True)]).exp().tolist()
    targets, known = sums[0, :, 1].tolist()
    return {
        **{name: row[0] for name, row in zip(SIDES, rows, strict=True)},
        **{f"{name}_without_unknown": row[1] for name, row in zip(SIDES, rows, strict=True)},
        "unknown_percent": 100 * (1 - known / targets),
        "sentences": text.sentences,
        "targets": int(targets),
        "words": len(text.vocabulary),
    }


@frozen
def _loss_sums(model: LanguageModel, batches: Batches, meter: Meter) -> Tensor:
    """Sums over one pass, float64 [2, 2, 2]: direction x (all, without <UNK>) x (loss, targets)."""
    weight, bias = model.softmax.weight.float(), model.softmax.bias.float()
    total = torch.zeros(2, 2, 2, dtype=torch.double)
    for sentences in batches.plan(0):
        x, targets = features(model, batches.batch(sentences), bfloat16=False)
        for d, (some, wanted) in enumerate(zip(x.chunk(2), targets.chunk(2), strict=True)):
            inside = wanted != OUTSIDE
            loss, known = losses(some[inside], wanted[inside], weight, bias), wanted[inside] != MARKERS.index(UNKNOWN)
            for kind, part in enumerate((loss, loss[known])):
                total[d, kind] += torch.tensor([part.double().sum(), len(part)], dtype=torch.double)
        meter.advance(int(batches.sizes[sentences].sum()), steps=len(sentences))
    return total


def losses(x: Tensor, targets: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Cross-entropy [N] of features [N, P] against softmax weights [V, P] and bias [V]; float32, logits in blocks."""
    parts = []
    for some, wanted in zip(x.split(BLOCK), targets.split(BLOCK), strict=True):
        blocks = zip(weight.split(BLOCK), bias.split(BLOCK), strict=True)
        total = torch.stack([torch.logsumexp(functional.linear(some, *block), dim=1) for block in blocks])
        parts.append(torch.logsumexp(total, dim=0) - (some * weight[wanted]).sum(dim=1) - bias[wanted])
    return torch.cat(parts)
