"""A new softmax for a biLM whose own is not there (the published files): trained with the encoder frozen."""

import random
from collections.abc import Iterator
from itertools import chain, islice

import torch
from torch import Tensor

from elmo_bench.base.progress import console, progress
from elmo_bench.elmo.model import BiLM
from elmo_bench.pretraining.alone import Alone, pooled
from elmo_bench.pretraining.corpus import Corpus
from elmo_bench.pretraining.load import SAMPLES, with_softmax
from elmo_bench.pretraining.model import LanguageModel
from elmo_bench.pretraining.shuffle import BUFFER, Reader
from elmo_bench.pretraining.vocabulary import TargetVocabulary
from elmo_bench.text.tokenisers import tokeniser

BATCH = 2048  # targets of each direction in a step
LEARNING_RATE = 0.01  # falls linearly to zero


def fit_softmax(
    bilm: BiLM,
    corpus: Corpus,
    vocabulary: TargetVocabulary,
    *,
    steps: int,
    samples: int = SAMPLES,
    dropout: float = 0.0,
    learning_rate: float = LEARNING_RATE,
    seed: int = 0,
    device: str = "cpu",
) -> LanguageModel:
    """A language model of this biLM, which stays as it is, and a softmax that learned `steps` batches of the text.

    Every sentence is read alone from zero state, as perplexity is measured; sampled loss, AdamW. Batches have BATCH
    targets of each direction; the text begins again where it ends. `dropout` is that of the model that comes back, not
    of the fitting. Raises UserError where the text has no sentence.
    """
    torch.manual_seed(seed)
    model = with_softmax(bilm, words=len(vocabulary), samples=samples, dropout=dropout)
    softmax = model.softmax.to(device)
    with torch.no_grad():  # from the log-uniform distribution, which words by falling frequency nearly have
        softmax.weight.zero_()
        softmax.bias.copy_(torch.arange(1, len(vocabulary) + 1).reciprocal().log1p().log())
    optimizer = torch.optim.AdamW(softmax.parameters(), lr=learning_rate, betas=(0.9, 0.98), weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / steps)
    console.print(
        f"these weights have no softmax: fitting one of {len(vocabulary):,} words, with the encoder frozen, "
        f"{steps:,} steps of {BATCH:,} targets in each direction",
        highlight=False,
    )
    alone = Alone(bilm, vocabulary, device=device)
    mean = 0.0
    with progress("fit softmax", total=steps) as meter:
        for step, (tops, targets) in enumerate(islice(_batches(alone, corpus, seed), steps)):
            loss = softmax.sampled(tops, targets).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            mean += (loss.item() - mean) / min(step + 1, 100)
            meter.advance(targets.shape[1], f"loss {mean:.3f}")
    return model.eval()


def _batches(alone: Alone, corpus: Corpus, seed: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Top layers [2, BATCH, P] and targets [2, BATCH] of passes over the text without end, in random order."""
    rng = random.Random(seed)
    lines = Reader(corpus, seed=f"fit {seed}", buffer=BUFFER, rank=0, world=1)
    kept: list[tuple[Tensor, Tensor]] = []
    for stretch in pooled(filter(None, map(tokeniser(corpus.tokenizer), lines))):
        rng.shuffle(stretch)  # pools stand by length
        for part in chain.from_iterable(map(alone.tops, stretch)):
            kept.append(part)
            if sum(targets.shape[1] for _, targets in kept) < BATCH:
                continue
            tops, targets = (torch.cat(some, dim=1) for some in zip(*kept, strict=True))
            whole = targets.shape[1] // BATCH * BATCH
            yield from zip(tops[:, :whole].split(BATCH, 1), targets[:, :whole].split(BATCH, 1), strict=True)
            kept = [(tops[:, whole:], targets[:, whole:])]
