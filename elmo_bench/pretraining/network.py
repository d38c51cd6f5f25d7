"""The bidirectional language model over batches of whole sentences, with a time loop for training.

Shape letters: W distinct words, C characters, T steps, B sentences, M rows, P projection, H cell, F filters; the
leading 2 is the direction.
"""

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from elmo_bench.base.errors import UserError
from elmo_bench.base.int8 import read_tensors
from elmo_bench.base.progress import progress
from elmo_bench.elmo.frozen import frozen, moved
from elmo_bench.elmo.kernels.batched import convolve
from elmo_bench.elmo.kernels.graphs import Graphs
from elmo_bench.elmo.kernels.steps import lstm_step, lstm_step_backward
from elmo_bench.elmo.model import BiLM, CharacterEncoder, ProjectedLstm
from elmo_bench.elmo.options import BiLMOptions
from elmo_bench.elmo.pretrained import locate_with_softmax
from elmo_bench.elmo.weights import initialise, load_files
from elmo_bench.pretraining.encode import MARKERS, OUTSIDE, UNKNOWN, Batch, Batches, Encoded, TargetVocabulary
from elmo_bench.text.chars import WORD_LENGTH

CUTS = (0, 12, WORD_LENGTH)  # words up to these lengths share a trimmed convolution; each piece costs kernel launches
LEAST_ROOM = 2**17  # rows of the buffers on a GPU, in both directions
CELLS = 2048  # targets of a batch in each direction, where perplexity is measured
LOGITS = 2**24  # of them in memory at once
SIDES = ("forward", "backward", "average")
Perplexity = dict[str, Any]  # figures by name, see `perplexity`


class LanguageModel(nn.Module):
    """Forward and backward language model with shared characters and softmax (Peters et al. 2018, section 3.1)."""

    def __init__(self, bilm: BiLM, *, words: int, dropout: float = 0.0, tensors: Mapping[str, Tensor] | None = None):
        """`tensors` are the softmax's `weight` [words, P] and `bias` [words]; without them its numbers are random."""
        super().__init__()
        self.bilm, self.dropout = bilm, dropout
        self.softmax = nn.Linear(bilm.options.projection_dim, words, device="meta").to_empty(device="cpu")
        if tensors is None:
            nn.init.normal_(self.softmax.weight, std=1 / math.sqrt(self.softmax.in_features))
            nn.init.zeros_(self.softmax.bias)
        else:
            self.softmax.load_state_dict({name: tensor.float() for name, tensor in tensors.items()})


def new_language_model(options: BiLMOptions, *, words: int, dropout: float, seed: int) -> LanguageModel:
    """A model with the initial values of a seed."""
    torch.manual_seed(seed)
    bilm = BiLM(options)
    initialise(bilm)
    return LanguageModel(bilm, words=words, dropout=dropout)


def load_language_model(weights: str) -> tuple[LanguageModel, TargetVocabulary]:
    """The language model that `weights` (as of `pretrained.locate`) names, in evaluation mode, and its vocabulary.

    Raises UserError if no softmax is next to the weights, or if it does not fit them or its vocabulary.
    """
    options, file, softmax, words = locate_with_softmax(weights)
    bilm, _ = load_files(options, file)
    vocabulary = TargetVocabulary.read(words)
    shape = (len(vocabulary), bilm.options.projection_dim)
    tensors = read_tensors(softmax)
    shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    if shapes != {"weight": shape, "bias": shape[:1]}:
        raise UserError(
            f"{softmax}: has {shapes}; {words.name} and {options.name} need weight {shape} and bias {shape[:1]}. "
            "Give files of one training."
        )
    return LanguageModel(bilm, words=len(vocabulary), tensors=tensors).eval(), vocabulary


def features(model: LanguageModel, batch: Batch, *, bfloat16: bool) -> tuple[Tensor, Tensor]:
    """The top layer [M, P] of a batch and its targets [M], forward rows first, on the model's device.

    Products have the type that autocast gives; every sentence starts from zero state.
    """
    device = model.softmax.weight.device
    arrays = batch.ids, batch.words, batch.targets
    ids, words, targets = (moved(device, torch.from_numpy(array))[0] for array in arrays)
    with torch.autocast(device.type, torch.bfloat16, enabled=bfloat16):
        x = functional.embedding(words, characters(model.bilm.characters, ids, batch.lengths))  # 2TBP
        for index, lstm in enumerate(model.bilm.lstms):
            x = functional.dropout(x, model.dropout, model.training)
            y = layer(lstm, x)
            x = y + x if index else y
        x = functional.dropout(x, model.dropout, model.training)
    return x.flatten(0, 2), targets.flatten()


def characters(encoder: CharacterEncoder, ids: Tensor, lengths: np.ndarray) -> Tensor:
    """Spellings [W, C] with rising lengths [W] -> [W, P], as `CharacterEncoder` does, without waiting for the GPU."""
    stops = [int((lengths <= cut).sum()) for cut in CUTS]
    pieces = [(ids[start:stop], cut) for (start, stop), cut in zip(pairwise(stops), CUTS[1:], strict=True)]
    x = torch.cat([convolve(encoder, some, cut) for some, cut in pieces if len(some)])  # WF
    for highway in encoder.highways:
        x = highway(x)
    return encoder.projection(x)  # WP


def layer(lstm: ProjectedLstm, x: Tensor) -> Tensor:
    """x [2, T, B, P] -> [2, T, B, P] from zero state: `ProjectedLstm.forward` without its masks."""
    kind = x.device.type
    x = x.to(torch.get_autocast_dtype(kind)) if torch.is_autocast_enabled(kind) else x
    loop = _LOOPS.get(lstm)
    if loop is None or not loop.fits(x):
        loop = _LOOPS[lstm] = TimeLoop(lstm, x)
    return _Layer.apply(x, lstm.weight, lstm.gate_bias(), lstm.projection, loop)


@frozen
def perplexity(model: LanguageModel, text: Encoded, *, device: str = "cpu") -> Perplexity:
    """Figures of a held-out text, encoded with the vocabulary of the model's softmax, in float32 (docs/pretraining.md).

    `forward`, `backward`, `average` (exp of the mean of both directions' mean losses), each also `…_without_unknown`:
    over the targets that are not <UNK>, with the same softmax; `unknown_percent` of the targets; numbers of
    `sentences`, of `targets` of one direction, and of `words` of the softmax.
    """
    model, batches = model.to(device).eval(), Batches(text, cells=CELLS)
    sums = torch.zeros(2, 2, 2, dtype=torch.double)  # loss and targets, by all and those but <UNK>, by direction
    with progress("evaluate", total=text.sentences) as meter:
        for sentences in batches.plan(0):
            x, targets = features(model, batches.batch(sentences), bfloat16=False)
            size = max(1, LOGITS // len(text.vocabulary))
            rows = zip(x.split(size), targets.clamp(min=0).split(size), strict=True)
            inside = targets != OUTSIDE
            loss = torch.cat([functional.cross_entropy(model.softmax(some), y, reduction="none") for some, y in rows])
            for kind, counted in enumerate((inside, inside & (targets != MARKERS.index(UNKNOWN)))):
                sums[0, kind] += (loss.double() * counted).view(2, -1).sum(dim=1).cpu()
                sums[1, kind] += counted.view(2, -1).sum(dim=1).cpu()
            meter.advance(int(batches.sizes[sentences].sum()), steps=len(sentences))
    means = sums[0] / sums[1]  # (all, without <UNK>) x direction
    every, known = torch.cat([means, means.mean(dim=1, keepdim=True)], dim=1).exp().tolist()
    return {
        **dict(zip(SIDES, every, strict=True)),
        **{f"{name}_without_unknown": value for name, value in zip(SIDES, known, strict=True)},
        "unknown_percent": 100 * (1 - sums[1, 1, 0].item() / sums[1, 0, 0].item()),
        "sentences": text.sentences,
        "targets": int(sums[1, 0, 0]),
        "words": len(text.vocabulary),
    }


class TimeLoop:
    """The steps of one layer, forward and backward, on buffers with fixed addresses (see `Graphs`)."""

    def __init__(self, lstm: ProjectedLstm, x: Tensor):
        _, steps, rows, features = x.shape
        cell = lstm.projection.shape[1]
        self.cell_clip, self.projection_clip = lstm.cell_clip, lstm.projection_clip
        least = LEAST_ROOM if x.is_cuda else 0
        self.features, self.cell, self.room = features, cell, max(2 * rows * (steps + 1), least)
        sizes = {"both": 2 * features, "gates": 4 * cell, "raw": cell, "d_both": 2 * features, "d_y": features}
        self.flat = {name: x.new_empty(self.room * size) for name, size in sizes.items()}
        self.flat["inside"], self.flat["d_raw"] = torch.empty_like(self.flat["d_y"]), torch.empty_like(self.flat["raw"])
        self.flat["cells"] = x.new_empty(self.room * cell, dtype=torch.float32)
        self.flat["d_c"] = torch.empty_like(self.flat["cells"])
        self.weight, self.projection = (x.new_empty(part.shape) for part in (lstm.weight, lstm.projection))
        self.weight_t, self.projection_t = (
            x.new_empty(part.transpose(1, 2).shape) for part in (lstm.weight, lstm.projection)
        )
        self.bias = x.new_empty(lstm.bias.shape, dtype=torch.float32)
        self.graphs = Graphs(x.device)

    def fits(self, x: Tensor) -> bool:
        """Whether the buffers can hold this input."""
        kept = self.flat["both"]
        return 2 * x.shape[2] * (x.shape[1] + 1) <= self.room and (x.dtype, x.device) == (kept.dtype, kept.device)

    def view(self, name: str, *shape: int) -> Tensor:
        """A buffer's beginning in this shape."""
        return self.flat[name][: math.prod(shape)].view(shape)

    def run(self, name: str, steps: int, rows: int) -> None:
        """Run `forward` or `backward`."""
        self.graphs.run((name, steps, rows), lambda: getattr(self, name)(steps, rows))

    def forward(self, steps: int, rows: int) -> None:
        """The equations of the reference cell: `both` holds the input and h before each step."""
        both = self.view("both", 2, steps + 1, rows, 2 * self.features)
        gates, raw = self.view("gates", 2, steps, rows, 4 * self.cell), self.view("raw", 2, steps, rows, self.cell)
        states = self.view("cells", steps + 1, 2, rows, self.cell).unbind(0)
        states[0].zero_()
        both[:, 0, :, self.features :].zero_()
        for t in range(steps):
            h = both[:, t + 1, :, self.features :]
            torch.bmm(both[:, t], self.weight, out=gates[:, t])
            lstm_step(gates[:, t], self.bias, states[t], states[t + 1], raw[:, t], self.cell_clip)
            torch.bmm(raw[:, t], self.projection, out=h)
            h.clamp_(-self.projection_clip, self.projection_clip)

    def backward(self, steps: int, rows: int) -> None:
        """Gradients of the gates (written over them), of `both`, and of the outputs, later steps included."""
        features, cell = self.features, self.cell
        gates, states = self.view("gates", 2, steps, rows, 4 * cell), self.view("cells", steps + 1, 2, rows, cell)
        d_y, inside = (self.view(name, 2, steps, rows, features) for name in ("d_y", "inside"))
        d_both = self.view("d_both", 2, steps, rows, 2 * features)
        d_raw, d_c = self.view("d_raw", 2, rows, cell), self.view("d_c", 2, rows, cell)
        d_c.zero_()
        for t in range(steps - 1, -1, -1):
            if t + 1 < steps:
                d_y[:, t].addcmul_(d_both[:, t + 1, :, features:], inside[:, t])
            torch.bmm(d_y[:, t], self.projection_t, out=d_raw)
            lstm_step_backward(d_raw, d_c, gates[:, t], states[t], states[t + 1], self.cell_clip)
            torch.bmm(gates[:, t], self.weight_t, out=d_both[:, t])


_LOOPS: WeakKeyDictionary[ProjectedLstm, TimeLoop] = WeakKeyDictionary()


class _Layer(torch.autograd.Function):
    """x 2TBP, weight 2(2P)(4H), bias 2(4H), projection 2HP -> outputs 2TBP. One backward pass for each forward pass."""

    @staticmethod
    @torch.amp.custom_fwd(device_type="cuda")
    def forward(ctx, x, weight, bias, projection, loop):  # noqa: PLR0917
        _, steps, rows, features = x.shape
        loop.weight.copy_(weight)
        loop.projection.copy_(projection)
        loop.bias.copy_(bias)
        both = loop.view("both", 2, steps + 1, rows, 2 * features)
        both[:, :-1, :, :features] = x
        loop.run("forward", steps, rows)
        ctx.loop = loop
        return both[:, 1:, :, features:].contiguous()

    @staticmethod
    @torch.amp.custom_bwd(device_type="cuda")
    def backward(ctx, d_outputs):
        loop, (_, steps, rows, features) = ctx.loop, d_outputs.shape
        loop.weight_t.copy_(loop.weight.transpose(1, 2))
        loop.projection_t.copy_(loop.projection.transpose(1, 2))
        both = loop.view("both", 2, steps + 1, rows, 2 * features)
        inside, d_y = (loop.view(name, 2, steps, rows, features) for name in ("inside", "d_y"))
        torch.lt(both[:, 1:, :, features:].abs(), loop.projection_clip, out=inside)
        torch.mul(d_outputs, inside, out=d_y)
        loop.run("backward", steps, rows)
        flat = loop.view("gates", 2, steps * rows, 4 * loop.cell)
        raw = loop.view("raw", 2, steps * rows, loop.cell)
        d_weight = torch.bmm(both[:, :-1].reshape(2, steps * rows, 2 * features).transpose(1, 2), flat).float()
        d_projection = torch.bmm(raw.transpose(1, 2), d_y.flatten(1, 2)).float()
        d_bias = torch.bmm(flat.new_ones(2, 1, flat.shape[1]), flat)[:, 0].float()
        d_x = loop.view("d_both", 2, steps, rows, 2 * features)[..., :features].clone()
        return d_x, d_weight, d_bias, d_projection, None
