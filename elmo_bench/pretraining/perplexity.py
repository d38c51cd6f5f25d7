"""Held-out perplexity of a biLM with its softmax: each sentence alone from zero state, over the whole vocabulary."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import torch
from torch import Tensor
from torch.nn import functional

from elmo_bench.base.errors import UserError
from elmo_bench.base.progress import progress
from elmo_bench.elmo.frozen import frozen
from elmo_bench.elmo.kernels.threads import parallel_map
from elmo_bench.pretraining.alone import Alone, pooled
from elmo_bench.pretraining.corpus import Corpus, Skipped
from elmo_bench.pretraining.model import LanguageModel
from elmo_bench.pretraining.vocabulary import MARKERS, UNKNOWN, TargetVocabulary

ROWS, COLUMNS = 1024, 1024  # of the logits in memory at once: 4 MiB, which stay in the cache


@dataclass(frozen=True)
class Perplexity:
    """What was measured. Targets are counted for one direction, `</S>` (forward) and `<S>` (backward) among them."""

    forward: float
    backward: float
    average: float  # exp of the mean of both directions' mean losses
    forward_without_unknown: float  # over the targets that are not <UNK>, with the same softmax
    backward_without_unknown: float
    average_without_unknown: float
    unknown_percent: float  # of the targets
    sentences: int
    skipped: int  # lines of the files that were too long to be sentences
    targets: int
    words: int  # of the softmax


def perplexity(
    model: LanguageModel, vocabulary: TargetVocabulary, corpus: Corpus, *, device: str = "cpu"
) -> Perplexity:
    """Perplexity of held-out files, which are read twice, as streams. Raises UserError where no sentence is in them."""
    skipped = Skipped()
    count = sum(1 for file in corpus.files for _ in corpus.lines(file, skipped))
    if not count:
        raise UserError(f"{', '.join(map(str, corpus.files))}: no sentence in it")
    alone = Alone(model.bilm, vocabulary, device=device)
    weight, bias = (parameter.detach().float().to(device) for parameter in (model.softmax.weight, model.softmax.bias))
    unknown = MARKERS.index(UNKNOWN)

    @frozen
    def sums(pool: Sequence[list[str]]) -> Tensor:
        """[2, 2, 2]: direction x (all, without <UNK>) x (loss, targets)."""
        total = torch.zeros(2, 2, 2, dtype=torch.double)
        for top, targets in alone.tops(pool):
            for d in (0, 1):
                found, known = losses(top[d], targets[d], weight, bias).double(), targets[d] != unknown
                for kind, some in enumerate((found, found[known])):
                    total[d, kind] += torch.tensor([some.sum(), len(some)], dtype=torch.double)
        return total

    total = torch.zeros(2, 2, 2, dtype=torch.double)
    threads = torch.get_num_threads() if torch.device(device).type == "cpu" else 1
    with progress("evaluate", total=count) as meter:
        if skipped.lines:
            meter.say(str(skipped))
        for stretch in pooled(chain.from_iterable(map(corpus.sentences, corpus.files))):
            found = (parallel_map if threads > 1 and len(stretch) > 1 else map)(sums, stretch)
            for pool, part in zip(stretch, found, strict=True):
                total += part
                meter.advance(sum(map(len, pool)), steps=len(pool))
    return _figures(total, sentences=count, skipped=skipped.lines, words=len(vocabulary))


def losses(x: Tensor, targets: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Cross-entropy [N] of features [N, P] against softmax weights [V, P] and bias [V]; float32, logits in blocks."""
    found = []
    for some, wanted in zip(x.split(ROWS), targets.split(ROWS), strict=True):
        blocks = zip(weight.split(COLUMNS), bias.split(COLUMNS), strict=True)
        total = torch.stack([torch.logsumexp(functional.linear(some, *block), dim=1) for block in blocks])
        found.append(torch.logsumexp(total, dim=0) - (some * weight[wanted]).sum(dim=1) - bias[wanted])
    return torch.cat(found)


def _figures(total: Tensor, *, sentences: int, skipped: int, words: int) -> Perplexity:
    means = total[:, :, 0] / total[:, :, 1]  # direction x (all, without <UNK>)
    (forward, forward_known), (backward, backward_known) = _exp(means)
    average, average_known = _exp(means.mean(dim=0)[None])[0]
    targets, known = total[0, :, 1].tolist()
    return Perplexity(
        forward=forward,
        backward=backward,
        average=average,
        forward_without_unknown=forward_known,
        backward_without_unknown=backward_known,
        average_without_unknown=average_known,
        unknown_percent=100 * (1 - known / targets),
        sentences=sentences,
        skipped=skipped,
        targets=int(targets),
        words=words,
    )


def _exp(means: Tensor) -> list[list[float]]:
    return means.exp().tolist()
