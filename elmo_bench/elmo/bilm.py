"""The biLM of Peters et al. 2018 (section 3.1): a character CNN and two layers of projected LSTMs in each direction.

Sources: the layout and the equations of bilm-tf (allenai/bilm-tf), checked against recorded figures of AllenNLP 2.10.1.
Parameters keep the published layout, (in, out) and gates i, j, f, o, so that loading and exporting are plain copies.

Shape letters: N words, B batch, T tokens, C characters, F filters, P projection, H cell, L layers; the leading 2 is
the direction (forward, backward): both run as one batched product.
"""

from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from elmo_bench.elmo import recurrence
from elmo_bench.elmo.options import BiLMOptions
from elmo_bench.nn.fused import fused
from elmo_bench.text.chars import CHARACTERS, PAD_CHARACTER

State = tuple[Tensor, Tensor]  # h [2, B, P], c [2, B, H]
WORDS_AT_ONCE = 512  # words of similar length share a trimmed convolution
ROWS_AT_ONCE = 1024  # rows times steps whose gates are kept at once


def zero_states(options: BiLMOptions, rows: int, like: Tensor) -> list[State]:
    """A state of zeros for every layer, float32."""
    sizes = (options.projection_dim, options.lstm_dim)
    return [
        (like.new_zeros(2, rows, sizes[0], dtype=torch.float32), like.new_zeros(2, rows, sizes[1], dtype=torch.float32))
        for _ in range(options.layers)
    ]


class CharacterEncoder(nn.Module):
    """Words as characters to context-independent vectors: [N, C] -> [N, P]."""

    def __init__(self, options: BiLMOptions):
        super().__init__()
        features = sum(number for _, number in options.filters)
        self.embedding = nn.Parameter(torch.empty(CHARACTERS - 1, options.character_dim))  # id 0 has no row
        convolutions = (nn.Conv1d(options.character_dim, number, width) for width, number in options.filters)
        self.convolutions = cast("list[nn.Conv1d]", nn.ModuleList(convolutions))
        self.highways = cast("list[Highway]", nn.ModuleList(Highway(features) for _ in range(options.highways)))
        self.projection = nn.Linear(features, options.projection_dim)
        self.activation = torch.relu if options.activation == "relu" else torch.tanh
        self.widest = max(width for width, _ in options.filters)

    def forward(self, ids: Tensor) -> Tensor:
        """Ids [N, C], every row a word (no padded positions) -> [N, P]."""
        lengths, order = self.by_length(ids)
        parts = [self.convolve(ids[rows], int(lengths[rows[-1]])) for rows in order.split(WORDS_AT_ONCE)]
        x = torch.cat(parts)[torch.argsort(order)]  # NF
        for highway in self.highways:
            x = highway(x)
        return self.projection(x)  # NP

    def embeddings(self) -> Tensor:
        """[262, char dim]: a row for every id; that of 0, which no word has, is zeros, as in AllenNLP."""
        return functional.pad(self.embedding, (0, 0, 1, 0))

    @staticmethod
    def by_length(ids: Tensor) -> tuple[Tensor, Tensor]:
        """Ids [N, C] -> lengths [N], up to the last id but the pad character, and the order [N] in which they rise."""
        places = torch.arange(1, ids.shape[1] + 1, device=ids.device)
        lengths = torch.where(ids != PAD_CHARACTER, places, 0).amax(dim=1)
        return lengths, torch.argsort(lengths)

    def convolve(self, ids: Tensor, longest: int) -> Tensor:
        """Ids [N, C] of words of at most `longest` characters -> [N, F]."""
        # A window of nothing but pad characters takes part in the max, so one must remain for every width: exact.
        ids = ids[:, : longest + self.widest]  # NC
        x = functional.embedding(ids, self.embeddings())  # NC(char dim)
        return self.activation(torch.cat([_highest(x, convolution) for convolution in self.convolutions], dim=1))


def _highest(x: Tensor, convolution: nn.Conv1d) -> Tensor:
    """x NC(char dim) -> the highest value of each filter NF: one product over all windows, twice as fast to train."""
    width, columns = convolution.kernel_size[0], x.shape[1]
    x = torch.cat([x[:, start : columns - width + 1 + start] for start in range(width)], dim=2)
    weight = convolution.weight.permute(2, 1, 0).flatten(0, 1)  # (width char dim)F
    return MaxOverTime.apply(x @ weight) + convolution.bias


class MaxOverTime(torch.autograd.Function):
    """x NCF -> NF; the gradient goes in equal parts to all places of the maximum, as that of amax."""

    @staticmethod
    def forward(ctx, x):
        highest = x.amax(dim=1)
        ctx.save_for_backward(x, highest)
        return highest

    @staticmethod
    def backward(ctx, gradient):
        return _to_maxima(gradient, *ctx.saved_tensors)


@fused
def _to_maxima(gradient: Tensor, x: Tensor, highest: Tensor) -> Tensor:
    places = (x == highest[:, None]).float()  # NCF
    return (places * (gradient.float() / places.sum(dim=1))[:, None]).to(x.dtype)


class Highway(nn.Module):
    """[N, F] -> [N, F]: g * relu(transform(x)) + (1 - g) * x with g = sigmoid(carry(x)); "carry" is the file's name."""

    def __init__(self, features: int):
        super().__init__()
        self.carry = nn.Linear(features, features)
        self.transform = nn.Linear(features, features)

    def forward(self, x: Tensor) -> Tensor:
        gate = torch.sigmoid(self.carry(x))
        return gate * torch.relu(self.transform(x)) + (1 - gate) * x


class ProjectedLstm(nn.Module):
    """One LSTM layer of both directions: its cell is clipped before the output gate, its output after projection."""

    def __init__(self, options: BiLMOptions):
        super().__init__()
        projection, cell = options.projection_dim, options.lstm_dim
        self.weight = nn.Parameter(torch.empty(2, 2 * projection, 4 * cell))  # rows: input, then recurrent
        self.bias = nn.Parameter(torch.empty(2, 4 * cell))
        self.projection = nn.Parameter(torch.empty(2, cell, projection))
        self.cell_clip, self.projection_clip = options.cell_clip, options.projection_clip

    def gate_bias(self) -> Tensor:
        """[2, 4H]: the stored bias, and the 1 that TensorFlow adds to that of the forget gate at run time."""
        cell = self.projection.shape[1]
        extra = torch.zeros(4 * cell, device=self.bias.device, dtype=self.bias.dtype)
        extra[2 * cell : 3 * cell] = 1.0
        return self.bias + extra

    def forward(self, x: Tensor, state: State, sizes: list[int], keep: Tensor | None = None) -> tuple[Tensor, State]:
        """x [2, T, B, P], rows by falling length, `sizes[t]` rows alive at step t -> [2, T, B, P] and the last states.

        Outputs behind a row's end are zero, its last state is the one at its end. `keep` [2, T, B] of 0 and 1 resets
        a row's state before a step (training on concatenated sentences).
        """
        _, steps, batch, projection = x.shape
        clips = (self.cell_clip, self.projection_clip)
        if torch.is_grad_enabled():
            y, h, c = recurrence.Recurrence.apply(
                x, self.weight, self.gate_bias(), self.projection, *state, keep, sizes, *clips
            )
            if sizes[-1] < batch:
                alive = torch.arange(batch, device=x.device) < torch.tensor(sizes, device=x.device)[:, None]  # TB
                y = torch.where(alive[:, :, None], y, 0)
            return y, (h, c)
        if keep is not None:
            raise NotImplementedError("states are reset in training only")
        weight_in, weight_h = self.weight.split(projection, dim=1)
        bias = self.gate_bias()[:, None]
        y, (h, c) = torch.zeros_like(x), (part.clone() for part in state)
        at_once = max(1, ROWS_AT_ONCE // batch)
        for start in range(0, steps, at_once):
            part = x[:, start : start + at_once]  # the input's part of the gates, of no more rows than fit in memory
            inputs = torch.baddbmm(bias, part.flatten(1, 2), weight_in).unflatten(1, part.shape[1:3])
            recurrence.run(
                inputs,
                weight_h,
                self.projection,
                (h, c),
                outputs=y[:, start : start + at_once],
                sizes=sizes[start : start + at_once],
                clips=clips,
            )
        return y, (h, c)


class BiLM(nn.Module):
    """Character encoder and LSTM layers; knows nothing of sentences, markers or padding (see `elmo.py`)."""

    def __init__(self, options: BiLMOptions):
        super().__init__()
        self.options = options
        self.characters = CharacterEncoder(options)
        self.lstms = cast("list[ProjectedLstm]", nn.ModuleList(ProjectedLstm(options) for _ in range(options.layers)))

    def contextual(
        self,
        vectors: Tensor,
        words: Tensor,
        states: list[State],
        sizes: list[int],
        *,
        keep: Tensor | None = None,
        dropout: float = 0.0,
    ) -> tuple[list[Tensor], list[State]]:
        """Vectors [N, P], words [2, T, B] as rows of them -> every layer's output [2, T, B, P], and the last states.

        The backward row is reversed; rows stand by falling length, `sizes[t]` of them alive at step t. From the second
        layer on the layer's (dropped) input is added to its output; the carried h is the un-summed one.
        """
        x = functional.embedding(words, vectors)  # 2TBP
        outputs, last = [], []
        for index, (lstm, state) in enumerate(zip(self.lstms, states, strict=True)):
            x = functional.dropout(x, dropout, self.training)
            y, state_after = lstm(x, state, sizes, keep)
            x = y + x if index else y
            outputs.append(x)
            last.append(state_after)
        return outputs, last
