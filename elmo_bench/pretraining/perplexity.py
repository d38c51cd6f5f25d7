"""Held-out perplexity of a biLM with its softmax: each sentence alone from zero state, over the whole vocabulary."""

import math
from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from elmo_bench.encoders.bilm import zero_states
from elmo_bench.encoders.pretrained import load_bilm
from elmo_bench.errors import UserError
from elmo_bench.pretraining.corpus import sentences
from elmo_bench.pretraining.model import LanguageModel
from elmo_bench.pretraining.vocabulary import MARKERS, UNKNOWN, TargetVocabulary
from elmo_bench.progress import progress
from elmo_bench.text.chars import SENTENCE_END, SENTENCE_START, words_ids

SENTENCES_AT_ONCE = 128


def load_language_model(folder: Path) -> tuple[LanguageModel, TargetVocabulary]:
    """The biLM of a folder with its `softmax.safetensors` and `vocabulary.txt`, as `pretrain` writes them.

    Raises UserError where there is no softmax: the published files have none.
    """
    bilm, _ = load_bilm(str(folder))
    for name in ("softmax.safetensors", "vocabulary.txt"):
        if not (folder / name).is_file():
            raise UserError(
                f"{folder}: no {name} here, and without it a biLM has no perplexity; "
                "give a folder that `pretrain` wrote"
            )
    vocabulary = TargetVocabulary.read(folder / "vocabulary.txt")
    try:
        softmax = {name: tensor.float() for name, tensor in load_file(folder / "softmax.safetensors").items()}
        model = LanguageModel(bilm.options, words=len(vocabulary), samples=1, dropout=0.0)
        model.softmax.load_state_dict(softmax)
    except (SafetensorError, RuntimeError) as error:
        file = folder / "softmax.safetensors"
        raise UserError(f"{file}: does not fit the vocabulary or the options ({error})") from None
    model.bilm = bilm
    return model.eval(), vocabulary


@torch.no_grad()
def perplexity(model: LanguageModel, vocabulary: TargetVocabulary, corpus: Path) -> dict[str, float]:
    """Forward, backward and average perplexity of a held-out file; the percentage of `<UNK>` targets; without them.

    Targets include `</S>` (forward) and `<S>` (backward). The average is exp of the mean of the two directions' losses.
    """
    lines = sorted(sentences(corpus), key=len)
    totals = torch.zeros(2, 2, dtype=torch.double)  # direction x (all, known): summed loss
    counts = torch.zeros(2, 2, dtype=torch.double)
    pools = [lines[start : start + SENTENCES_AT_ONCE] for start in range(0, len(lines), SENTENCES_AT_ONCE)]
    with progress("evaluate", total=len(pools)) as meter:
        for pool in pools:
            for direction, (losses, targets) in enumerate(_losses(model, vocabulary, pool[::-1])):
                known = targets != MARKERS.index(UNKNOWN)
                totals[direction] += torch.stack([losses.double().sum(), losses[known].double().sum()])
                counts[direction] += torch.tensor([len(losses), int(known.sum())], dtype=torch.double)
            meter.advance(sum(map(len, pool)))
    if not lines:
        raise UserError(f"{corpus}: no sentence in it")
    means = totals / counts
    return {
        "forward": math.exp(means[0, 0]),
        "backward": math.exp(means[1, 0]),
        "average": math.exp(means[:, 0].mean()),
        "unknown_percent": float(100 * (1 - counts[0, 1] / counts[0, 0])),
        "average_without_unknown": math.exp(means[:, 1].mean()),
        "sentences": len(lines),
        "targets": int(counts[0, 0]),
    }


def _losses(
    model: LanguageModel, vocabulary: TargetVocabulary, pool: Sequence[list[str]]
) -> list[tuple[Tensor, Tensor]]:
    """(losses [N], targets [N]) of the forward and of the backward direction; the pool stands by falling length."""
    ahead = [[SENTENCE_START, *sentence, SENTENCE_END] for sentence in pool]
    index: dict[str, int] = {}
    sides = []
    for rows in (ahead, [row[::-1] for row in ahead]):
        words = pad_sequence([torch.tensor([index.setdefault(word, len(index)) for word in row[:-1]]) for row in rows])
        targets = pad_sequence([torch.tensor(vocabulary.ids(row[1:])) for row in rows], padding_value=-1)
        sides.append((words, targets))
    vectors = model.bilm.characters(torch.from_numpy(words_ids(list(index))))
    lengths = torch.tensor([len(row) - 1 for row in ahead])
    sizes = [int((lengths > t).sum()) for t in range(int(lengths[0]))]
    words = torch.stack([words for words, _ in sides])
    outputs, _ = model.bilm.contextual(vectors, words, zero_states(model.bilm.options, len(pool), vectors), sizes)
    found = []
    for top, (_, targets) in zip(outputs[-1], sides, strict=True):
        inside = targets >= 0
        pieces = zip(top[inside].split(1024), targets[inside].split(1024), strict=True)
        found.append((torch.cat([model.softmax.full(x, y) for x, y in pieces]), targets[inside]))
    return found
