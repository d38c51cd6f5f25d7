"""Training weights further on your text, most often the text of a task (Peters et al. 2018, appendix A.1).

Weights without a softmax (the published files) get a new one first, trained with the encoder frozen.
"""

import random
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path

import torch
from omegaconf import DictConfig
from torch import Tensor

from elmo_bench.base.errors import UserError
from elmo_bench.base.progress import console, progress
from elmo_bench.elmo.model import BiLM
from elmo_bench.elmo.pretrained import NoSoftmax, checksum_of, load_bilm, locate, locate_with_softmax
from elmo_bench.pretraining.corpus import Corpus, Counts, count_words, shard_files
from elmo_bench.pretraining.model import SAMPLES, LanguageModel, load_language_model, with_softmax
from elmo_bench.pretraining.perplexity import Alone, Perplexity, perplexity, pooled
from elmo_bench.pretraining.shuffle import BUFFER, Reader
from elmo_bench.pretraining.trainer import TextSize, Trained, first_process, train
from elmo_bench.pretraining.training import check_numbers
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
    learning_rate: float = LEARNING_RATE,
    seed: int = 0,
) -> LanguageModel:
    """A language model of this biLM, which does not change, and a softmax trained on `steps` batches of the text.

    Every sentence is read alone from zero state, as perplexity is measured; sampled loss, AdamW. Batches have BATCH
    targets of each direction; the text is read as often as needed. Raises UserError if the text has no sentence.
    """
    torch.manual_seed(seed)
    model = with_softmax(bilm, words=len(vocabulary), samples=samples)
    softmax = model.softmax
    with torch.no_grad():  # the log-uniform distribution, close to the frequencies of sorted words
        softmax.weight.zero_()
        softmax.bias.copy_(torch.arange(1, len(vocabulary) + 1).reciprocal().log1p().log())
    optimizer = torch.optim.AdamW(softmax.parameters(), lr=learning_rate, betas=(0.9, 0.98), weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / steps)
    console.print(
        f"these weights have no softmax: fitting one of {len(vocabulary):,} words, with the encoder frozen, "
        f"{steps:,} steps of {BATCH:,} targets in each direction",
        highlight=False,
    )
    alone = Alone(bilm, vocabulary)
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
    """Top layers [2, BATCH, P] and targets [2, BATCH] from endless passes over the text, in random order."""
    rng = random.Random(seed)
    lines = Reader(corpus, seed=f"fit {seed}", buffer=BUFFER, rank=0, world=1)
    kept: list[tuple[Tensor, Tensor]] = []
    for stretch in pooled(filter(None, map(tokeniser(corpus.tokenizer), lines))):
        rng.shuffle(stretch)  # pools are sorted by length
        for part in chain.from_iterable(map(alone.tops, stretch)):
            kept.append(part)
            if sum(targets.shape[1] for _, targets in kept) < BATCH:
                continue
            tops, targets = (torch.cat(some, dim=1) for some in zip(*kept, strict=True))
            whole = targets.shape[1] // BATCH * BATCH
            yield from zip(tops[:, :whole].split(BATCH, 1), targets[:, :whole].split(BATCH, 1), strict=True)
            kept = [(tops[:, whole:], targets[:, whole:])]


def finetune(config: DictConfig) -> tuple[Trained, list[Perplexity]]:
    """Train `config.weights` further on `config.corpus`, with the vocabulary of their softmax.

    Weights without a softmax get one first, for the most frequent words of the corpus. Also returns the perplexity of
    the held-out text before and after, in the first process; an empty list without held-out text.
    """
    check_numbers(config)
    if Path(str(config.weights)).resolve() == Path(config.out).resolve():
        raise UserError(f"out={config.out}: the folder of the weights, which stay as they are. Give another folder.")
    corpus = Corpus(tuple(shard_files(config.corpus)), config.tokenizer)
    heldout = Corpus(tuple(shard_files(config.heldout)), config.tokenizer) if config.heldout else None
    counts = count_words(corpus)
    model, vocabulary = _load(config, corpus, counts)
    before = perplexity(model, vocabulary, heldout) if heldout and first_process() else None
    model.dropout, model.softmax.samples = config.recipe.dropout, min(config.recipe.samples, len(vocabulary))
    for parameter in model.parameters():
        parameter.requires_grad_(True)
    text = TextSize(counts.words.total(), counts.sentences)
    begun = checksum_of(*locate(str(config.weights)))
    trained = train(model.train(), vocabulary, corpus, config, text=text, title="finetune", weights=begun)
    if before is None or heldout is None:
        return trained, []
    return trained, [before, perplexity(trained.model.eval(), vocabulary, heldout)]


def _load(config: DictConfig, corpus: Corpus, counts: Counts) -> tuple[LanguageModel, TargetVocabulary]:
    weights = str(config.weights)
    try:
        locate_with_softmax(weights)
    except NoSoftmax:
        bilm, _ = load_bilm(weights)
        vocabulary = TargetVocabulary.of(counts.words, config.recipe.vocabulary, sentences=counts.sentences)
        model = fit_softmax(
            bilm, corpus, vocabulary, steps=config.fit_steps, samples=config.recipe.samples, seed=config.seed
        )
        return model, vocabulary
    return load_language_model(weights)
