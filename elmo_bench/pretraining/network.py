"""The bidirectional language model over batches of whole sentences.

Shape letters: W distinct words, C characters, T steps, B sentences, M rows, P
projection, F filters; the leading 2 is the direction.
"""

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from elmo_bench.base.errors import UserError
from elmo_bench.base.int8 import read_tensors
from elmo_bench.base.progress import progress
from elmo_bench.elmo.frozen import frozen, moved
from elmo_bench.elmo.kernels.batched import convolve
from elmo_bench.elmo.model import BiLM, CharacterEncoder
from elmo_bench.elmo.options import BiLMOptions
from elmo_bench.elmo.pretrained import locate_with_softmax
from elmo_bench.elmo.weights import initialise, load_files
from elmo_bench.pretraining.batches import OUTSIDE, Batch, Batches
from elmo_bench.pretraining.encode import Encoded
from elmo_bench.pretraining.timeloop import layer
from elmo_bench.pretraining.tokenisation import note_tokenizer
from elmo_bench.pretraining.vocabulary import MARKERS, UNKNOWN, TargetVocabulary
from elmo_bench.text.chars import WORD_LENGTH

# Words up to these lengths share a trimmed convolution; each piece costs kernel
# launches.
CUTS = (0, 12, WORD_LENGTH)
CELLS = 2048  # targets of a batch in each direction, where perplexity is measured
LOGITS = 2**24  # of them in memory at once
SIDES = ("forward", "backward", "average")
Perplexity = dict[str, Any]  # figures by name, see `perplexity`


class LanguageModel(nn.Module):
    """Forward and backward language model with shared characters and softmax.

    Source: Peters et al. 2018, sections 3.1 and 3.4.
    """

    def __init__(
        self,
        bilm: BiLM,
        *,
        words: int,
        dropout: float = 0.0,
        tensors: Mapping[str, Tensor] | None = None,
    ):
        """`tensors` are the softmax's `weight` [words, P] and `bias` [words].

        Without them its numbers are random.
        """
        super().__init__()
        self.bilm = bilm
        self.dropout = dropout
        features = bilm.options.projection_dim
        softmax = nn.Linear(features, words, device="meta")
        self.softmax = softmax.to_empty(device="cpu")
        if tensors is None:
            nn.init.normal_(self.softmax.weight, std=1 / math.sqrt(features))
            nn.init.zeros_(self.softmax.bias)
        else:
            state = {name: tensor.float() for name, tensor in tensors.items()}
            self.softmax.load_state_dict(state)


def new_language_model(
    options: BiLMOptions, *, words: int, dropout: float, seed: int
) -> LanguageModel:
    """A model with the initial values of a seed."""
    torch.manual_seed(seed)
    bilm = BiLM(options)
    initialise(bilm)
    return LanguageModel(bilm, words=words, dropout=dropout)


def load_language_model(
    weights: str, *, tokenizer: str | None = None
) -> tuple[LanguageModel, TargetVocabulary]:
    """The language model that `weights` names, in evaluation mode, and its vocabulary.

    `weights` is as of `pretrained.locate`. With `tokenizer`, the tokeniser of the text
    to read, a note says if the weights were trained with another one. Raises UserError
    if no softmax is next to the weights, or if it does not fit them or its vocabulary.
    """
    options, file, softmax, words = locate_with_softmax(weights)
    if tokenizer is not None:
        note_tokenizer(weights, softmax, tokenizer)
    bilm, _ = load_files(options, file)
    vocabulary = TargetVocabulary.read(words)
    shape = (len(vocabulary), bilm.options.projection_dim)
    tensors = read_tensors(softmax)
    shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    if shapes != {"weight": shape, "bias": shape[:1]}:
        raise UserError(
            f"{softmax}: has {shapes}; {words.name} and {options.name} need weight "
            f"{shape} and bias {shape[:1]}. Give files of one training."
        )
    model = LanguageModel(bilm, words=len(vocabulary), tensors=tensors)
    return model.eval(), vocabulary


def features(
    model: LanguageModel, batch: Batch, *, bfloat16: bool
) -> tuple[Tensor, Tensor]:
    """The top layer [M, P] of a batch and its targets [M], forward rows first.

    They are on the model's device. Products have the type that autocast gives; every
    sentence starts from zero state.
    """
    device = model.softmax.weight.device
    ids = _on(device, batch.ids)
    words = _on(device, batch.words)
    targets = _on(device, batch.targets)
    with torch.autocast(device.type, torch.bfloat16, enabled=bfloat16):
        vectors = characters(model.bilm.characters, ids, batch.lengths)  # WP
        x = functional.embedding(words, vectors)  # 2TBP
        for index, lstm in enumerate(model.bilm.lstms):
            x = functional.dropout(x, model.dropout, model.training)
            y = layer(lstm, x)
            x = y + x if index > 0 else y
        x = functional.dropout(x, model.dropout, model.training)
    return x.flatten(0, 2), targets.flatten()


def _on(device: torch.device, array: np.ndarray) -> Tensor:
    [tensor] = moved(device, torch.from_numpy(array))
    return tensor


def characters(encoder: CharacterEncoder, ids: Tensor, lengths: np.ndarray) -> Tensor:
    """Spellings [W, C] with rising lengths [W] -> [W, P].

    As `CharacterEncoder` does, without waiting for the GPU.
    """
    stops = [int((lengths <= cut).sum()) for cut in CUTS]
    parts = []
    for (start, stop), longest in zip(pairwise(stops), CUTS[1:], strict=True):
        if stop > start:
            parts.append(convolve(encoder, ids[start:stop], longest))
    x = torch.cat(parts)  # WF
    for highway in encoder.highways:
        x = highway(x)
    return encoder.projection(x)  # WP


@frozen
def perplexity(
    model: LanguageModel, text: Encoded, *, device: str = "cpu"
) -> Perplexity:
    """Figures of a held-out text, in float32 (docs/pretraining.md).

    The text is encoded with the vocabulary of the model's softmax.

    `forward`, `backward`, `average` (exp of the mean of both directions' mean losses),
    each also `…_without_unknown`: over the targets that are not <UNK>, with the same
    softmax; `unknown_percent` of the targets; numbers of `sentences`, of `targets` of
    one direction, and of `words` of the softmax.
    """
    model = model.to(device).eval()
    batches = Batches(text, cells=CELLS)
    unknown = MARKERS.index(UNKNOWN)
    # By (all targets, all but <UNK>) and direction.
    losses = torch.zeros(2, 2, dtype=torch.double)
    counts = torch.zeros(2, 2, dtype=torch.double)
    with progress("evaluate", total=text.sentences) as meter:
        for sentences in batches.plan(0):
            x, targets = features(model, batches.batch(sentences), bfloat16=False)
            loss = _losses(model, x, targets).double()
            inside = targets != OUTSIDE
            for kind, counted in enumerate((inside, inside & (targets != unknown))):
                losses[kind] += _by_direction(loss * counted)
                counts[kind] += _by_direction(counted)
            cells = int(batches.sizes[sentences].sum())
            meter.advance(cells, steps=len(sentences))
    means = losses / counts
    means = torch.cat([means, means.mean(dim=1, keepdim=True)], dim=1)
    figures: Perplexity = {}
    for ending, values in zip(("", "_without_unknown"), means.exp(), strict=True):
        for side, value in zip(SIDES, values.tolist(), strict=True):
            figures[f"{side}{ending}"] = value
    share = counts[1, 0].item() / counts[0, 0].item()
    figures["unknown_percent"] = 100 * (1 - share)
    figures["sentences"] = text.sentences
    figures["targets"] = int(counts[0, 0])
    figures["words"] = len(text.vocabulary)
    return figures


def _losses(model: LanguageModel, x: Tensor, targets: Tensor) -> Tensor:
    """The loss [M] at features [M, P]; any number where the target is OUTSIDE."""
    size = max(1, LOGITS // model.softmax.out_features)
    parts = []
    for some, y in zip(x.split(size), targets.clamp(min=0).split(size), strict=True):
        logits = model.softmax(some)
        parts.append(functional.cross_entropy(logits, y, reduction="none"))
    return torch.cat(parts)


def _by_direction(values: Tensor) -> Tensor:
    """The sums [2] of values [M], forward rows first."""
    return values.view(2, -1).sum(dim=1).cpu()
