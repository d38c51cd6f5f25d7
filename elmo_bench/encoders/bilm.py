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

from elmo_bench.encoders import recurrence
from elmo_bench.encoders.options import BiLMOptions
from elmo_bench.text.chars import CHARACTERS, PAD_CHARACTER

State = tuple[Tensor, Tensor]  # h [2, B, P], c [2, B, H]
WORDS_AT_ONCE = 512  # words of similar length share a trimmed convolution


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
        lengths = (ids != PAD_CHARACTER).sum(dim=1)
        order = torch.argsort(lengths)
        parts = [self._convolve(ids[rows], int(lengths[rows[-1]])) for rows in order.split(WORDS_AT_ONCE)]
        x = torch.cat(parts)[torch.argsort(order)]  # NF
        for highway in self.highways:
            x = highway(x)
        return self.projection(x)  # NP

    def _convolve(self, ids: Tensor, longest: int) -> Tensor:
        # A window of nothing but pad characters takes part in the max, so one must remain for every width: exact.
        ids = ids[:, : longest + self.widest]  # NC
        x = functional.embedding(ids - 1, self.embedding).transpose(1, 2)  # N(char dim)C
        return self.activation(torch.cat([convolution(x).amax(dim=2) for convolution in self.convolutions], dim=1))


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

    def forward(self, x: Tensor, state: State, sizes: list[int], keep: Tensor | None = None) -> tuple[Tensor, State]:
        """x [2, T, B, P], rows by falling length, `sizes[t]` rows alive at step t -> [2, T, B, P] and the last states.

        `keep` [T, B] of 0 and 1 resets a row's state before a step (training on concatenated sentences).
        """
        _, steps, batch, projection = x.shape
        weight_in, weight_h = self.weight.split(projection, dim=1)
        inputs = torch.baddbmm(self.bias[:, None], x.flatten(1, 2), weight_in).unflatten(1, (steps, batch))  # 2TB(4H)
        clips = (self.cell_clip, self.projection_clip)
        if torch.is_grad_enabled():
            if sizes[-1] != batch:
                raise NotImplementedError("gradients need rows of one length")
            y, h, c = recurrence.Recurrence.apply(inputs, weight_h, self.projection, *state, keep, *clips)
            return y, (h, c)
        return recurrence.run(inputs, weight_h, self.projection, state, sizes=sizes, clips=clips)


class BiLM(nn.Module):
    """Character encoder and LSTM layers; knows nothing of sentences, markers or padding (see `elmo.py`)."""

    def __init__(self, options: BiLMOptions):
        super().__init__()
        self.options = options
        self.characters = CharacterEncoder(options)
        self.lstms = cast("list[ProjectedLstm]", nn.ModuleList(ProjectedLstm(options) for _ in range(options.layers)))

    def zero_states(self, batch: int, like: Tensor) -> list[State]:
        """A state of zeros for every layer."""
        shapes = ((2, batch, self.options.projection_dim), (2, batch, self.options.lstm_dim))
        return [(like.new_zeros(shapes[0]), like.new_zeros(shapes[1])) for _ in self.lstms]

    def contextual(
        self, x: Tensor, states: list[State], sizes: list[int], keep: Tensor | None = None, dropout: float = 0.0
    ) -> tuple[list[Tensor], list[State]]:
        """Word vectors [2, T, B, P] (backward row reversed) -> every layer's output [2, T, B, P], and the last states.

        From the second layer on the layer's (dropped) input is added to its output; the carried h is the un-summed one.
        """
        outputs, last = [], []
        for index, (lstm, state) in enumerate(zip(self.lstms, states, strict=True)):
            x = functional.dropout(x, dropout, self.training)
            y, state_after = lstm(x, state, sizes, keep)
            x = y + x if index else y
            outputs.append(x)
            last.append(state_after)
        return outputs, last
