"""The biLM's training step over whole sentences: the layers of `elmo.bilm`, with a time loop made for GPUs.

Shape letters: W distinct words, C characters, T steps, B sentences, P projection, H cell, F filters; the leading 2 is
the direction.
"""

from itertools import pairwise
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from elmo_bench.elmo.bilm import CharacterEncoder, ProjectedLstm
from elmo_bench.pretraining.model import LanguageModel
from elmo_bench.pretraining.resident.kernels import lstm_step, lstm_step_backward
from elmo_bench.text.chars import WORD_LENGTH

CUTS = (0, 8, 11, 15, 20, WORD_LENGTH)  # words of these lengths share a trimmed convolution


def top_layer(model: LanguageModel, ids: Tensor, pieces: list[tuple[int, int]], words: Tensor) -> Tensor:
    """Spellings [W, C] of distinct words, sorted by length, and their places [2, T, B] -> the top layer [2, T, B, P].

    `pieces` is `trimmed`'s. Products have the type that autocast gives; every sentence starts from zero state.
    """
    x = functional.embedding(words, characters(model.bilm.characters, ids, pieces))  # 2TBP
    for index, lstm in enumerate(model.bilm.lstms):
        x = functional.dropout(x, model.dropout, model.training)
        y = layer(lstm, x)
        x = y + x if index else y
    return functional.dropout(x, model.dropout, model.training)


def trimmed(lengths: Any) -> list[tuple[int, int]]:
    """Rising lengths [W] of words -> (number of words, columns that hold them) of pieces that cover all of them."""
    stops = [int((lengths <= cut).sum()) for cut in CUTS]
    return [(stop - start, cut) for (start, stop), cut in zip(pairwise(stops), CUTS[1:], strict=True) if stop > start]


def characters(encoder: CharacterEncoder, ids: Tensor, pieces: list[tuple[int, int]]) -> Tensor:
    """Spellings [W, C] -> [W, P], as `CharacterEncoder`, without a question to the GPU."""
    table = _autocast(encoder.embeddings())
    found = []
    for some, (_, columns) in zip(ids.split([count for count, _ in pieces]), pieces, strict=True):
        x = functional.embedding(some[:, : columns + encoder.widest], table)  # WC(char dim)
        parts = [_highest(x, convolution) for convolution in encoder.convolutions]
        found.append(encoder.activation(torch.cat(parts, dim=1)))
    x = torch.cat(found)  # WF
    for highway in encoder.highways:
        x = highway(x)
    return encoder.projection(x)  # WP


def _highest(x: Tensor, convolution: torch.nn.Conv1d) -> Tensor:
    """x WC(char dim) -> the highest value of each filter WF."""
    width, columns = convolution.kernel_size[0], x.shape[1]
    x = torch.cat([x[:, start : columns - width + 1 + start] for start in range(width)], dim=2)
    assert convolution.bias is not None
    weight = convolution.weight.permute(2, 1, 0).flatten(0, 1)  # (width char dim)F
    return (x @ weight).max(dim=1).values + convolution.bias


def layer(lstm: ProjectedLstm, x: Tensor) -> Tensor:
    """x [2, T, B, P] -> [2, T, B, P] from zero state: `ProjectedLstm.forward` without its masks."""
    return _Layer.apply(
        _autocast(x), lstm.weight, lstm.gate_bias(), lstm.projection, lstm.cell_clip, lstm.projection_clip
    )


def _autocast(x: Tensor) -> Tensor:
    kind = x.device.type
    return x.to(torch.get_autocast_dtype(kind)) if torch.is_autocast_enabled(kind) else x


class _Layer(torch.autograd.Function):
    """x 2TBP, weight 2(2P)(4H), bias 2(4H), projection 2HP -> outputs 2TBP; the equations of `elmo.recurrence`."""

    @staticmethod
    @torch.amp.custom_fwd(device_type="cuda")
    def forward(ctx, x, weight, bias, projection, cell_clip, projection_clip):  # noqa: PLR0917
        kind, (_, steps, rows, features), cell = x.dtype, x.shape, projection.shape[1]
        weight, projection, bias = weight.to(kind), projection.to(kind), bias.float().contiguous()
        both = x.new_empty(2, steps + 1, rows, 2 * features)  # the input, and h before the step
        both[:, :-1, :, :features] = x
        both[:, 0, :, features:] = 0
        gates, raw = x.new_empty(2, steps, rows, 4 * cell), x.new_empty(2, steps, rows, cell)
        cells = x.new_empty(steps + 1, 2, rows, cell, dtype=torch.float32)
        cells[0] = 0
        parts = zip(both.unbind(1), both[:, 1:, :, features:].unbind(1), gates.unbind(1), raw.unbind(1), strict=False)
        states = cells.unbind(0)
        for t, (inputs, h, gate, hidden) in enumerate(parts):
            torch.bmm(inputs, weight, out=gate)
            lstm_step(gate, bias, states[t], states[t + 1], hidden, cell_clip)
            torch.bmm(hidden, projection, out=h)
            h.clamp_(-projection_clip, projection_clip)
        ctx.clips = cell_clip, projection_clip
        ctx.kept = both, gates, cells, raw
        ctx.save_for_backward(weight, projection)
        return both[:, 1:, :, features:].contiguous()

    @staticmethod
    @torch.amp.custom_bwd(device_type="cuda")
    def backward(ctx, d_y):
        weight, projection = ctx.saved_tensors
        (both, gates, cells, raw), (cell_clip, projection_clip) = ctx.kept, ctx.clips
        ctx.kept = None  # the gates are written over: a second backward pass would be wrong
        features, steps = d_y.shape[3], d_y.shape[1]
        weight_t, projection_t = weight.transpose(1, 2).contiguous(), projection.transpose(1, 2).contiguous()
        inside = (both[:, 1:, :, features:].abs() < projection_clip).to(d_y.dtype)  # 2TBP
        d_projected = d_y.contiguous() * inside
        d_both = torch.empty_like(both[:, :-1])
        d_c, d_raw = torch.zeros_like(cells[0]), raw.new_empty(2, *raw.shape[2:])
        states = cells.unbind(0)
        outputs, masks, gate, d_input = (part.unbind(1) for part in (d_projected, inside, gates, d_both))
        for t in range(steps - 1, -1, -1):
            if t + 1 < steps:
                outputs[t].addcmul_(d_input[t + 1][..., features:], masks[t])
            torch.bmm(outputs[t], projection_t, out=d_raw)
            lstm_step_backward(d_raw, d_c, gate[t], states[t], states[t + 1], cell_clip)
            torch.bmm(gate[t], weight_t, out=d_input[t])
        flat = gates.flatten(1, 2)
        d_weight = torch.bmm(both[:, :-1].flatten(1, 2).transpose(1, 2), flat).float()
        d_projection = torch.bmm(raw.flatten(1, 2).transpose(1, 2), d_projected.flatten(1, 2)).float()
        d_bias = torch.bmm(flat.new_ones(2, 1, flat.shape[1]), flat)[:, 0].float()
        return d_both[..., :features].contiguous(), d_weight, d_bias, d_projection, None, None
