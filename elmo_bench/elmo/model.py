"""The biLM of ELMo, as a reference: one sentence at a time, in plain torch.

It is obviously right, and slow.

Sources
  paper      Peters et al. 2018, "Deep contextualized word representations", sections
             3.1 (biLM), 3.2 (mix), 3.4 (sizes)
  char CNN   Jozefowicz et al. 2016, "Exploring the limits of language modeling",
             section 3.2; Kim et al. 2016
  highways   Srivastava et al. 2015, "Highway networks"
  LSTM       Sak et al. 2014 (projection); TensorFlow's `LSTMCell`, for the clips and
             the 1 of the forget gate
  details    allenai/bilm-tf, `bilm/model.py`: order of gates, what is clipped where,
             the residual connection

The same parameters run everywhere: `weights.py` reads and writes them, `pretraining/`
trains them, and `kernels/` computes this function fast for batches of sentences.
tests/elmo/test_model.py checks every kernel against this file. The mix of the layers,
γ · Σ softmax(w)_j · h_j (paper, equation 1), is `elmo_bench/nn/mix.py`.

Shape letters: N words, T tokens, C = 50 characters, D character embedding, F filters of
all widths, P projection, H cell, L layers (the characters' and one for each pair of
LSTMs). A leading 2 is the direction: forward, backward.
"""

from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from elmo_bench.elmo.options import BiLMOptions
from elmo_bench.text.chars import CHARACTERS

# h [2, P] and c [2, H] of one LSTM layer; in `kernels/`, h [2, B, P] and c [2, B, H].
State = tuple[Tensor, Tensor]


class BiLM(nn.Module):
    """The bidirectional language model without its softmax."""

    def __init__(self, options: BiLMOptions):
        super().__init__()
        self.options = options
        self.characters = CharacterEncoder(options)
        lstms = [ProjectedLstm(options) for _ in range(options.layers)]
        self.lstms = cast("list[ProjectedLstm]", nn.ModuleList(lstms))

    def forward(
        self, ids: Tensor, states: list[State] | None = None
    ) -> tuple[Tensor, list[State]]:
        """Character ids [T, C] of a sentence -> layers [L, T, 2P] and the last states.

        The ids include `<S>` and `</S>`.

        `states` [layer of LSTMs] are what the sentence starts from: zeros by default,
        the last states of another sentence in the original, which carries them from
        batch to batch.
        """
        x = self.characters(ids)  # TP
        layers = [torch.cat([x, x], dim=1)]  # T(2P)
        forward = x  # TP
        backward = x.flip(0)  # TP; the backward LSTMs read the sentence from its end
        last = []
        for index, lstm in enumerate(self.lstms):
            h, c = states[index] if states else lstm.zero_state()
            # y: TP; the last h: P; the last c: H
            y_forward, h_forward, c_forward = lstm(forward, h[0], c[0], direction=0)
            y_backward, h_backward, c_backward = lstm(backward, h[1], c[1], direction=1)
            if index > 0:  # residual; the state is the output without it
                forward = y_forward + forward
                backward = y_backward + backward
            else:
                forward = y_forward
                backward = y_backward
            layers.append(torch.cat([forward, backward.flip(0)], dim=1))  # T(2P)
            h = torch.stack([h_forward, h_backward])  # 2P
            c = torch.stack([c_forward, c_backward])  # 2H
            last.append((h, c))
        return torch.stack(layers), last  # LT(2P)


class CharacterEncoder(nn.Module):
    """Words as characters to vectors that do not depend on their context."""

    def __init__(self, options: BiLMOptions):
        super().__init__()
        dim = options.character_dim
        features = sum(filters for _, filters in options.filters)
        self.embedding = nn.Parameter(torch.empty(CHARACTERS - 1, dim))  # ids from 1 on
        convolutions = [
            nn.Conv1d(dim, filters, width) for width, filters in options.filters
        ]
        self.convolutions = cast("list[nn.Conv1d]", nn.ModuleList(convolutions))
        self.activation = torch.relu if options.activation == "relu" else torch.tanh
        highways = [Highway(features) for _ in range(options.highways)]
        self.highways = cast("list[Highway]", nn.ModuleList(highways))
        self.projection = nn.Linear(features, options.projection_dim)
        self.widest = max(width for width, _ in options.filters)

    def forward(self, ids: Tensor) -> Tensor:
        """Character ids [N, C] of words -> [N, P]."""
        x = functional.embedding(ids, self.embeddings())  # NCD
        x = x.transpose(1, 2)  # NDC
        maxima = [convolution(x).amax(dim=2) for convolution in self.convolutions]
        x = torch.cat(maxima, dim=1)  # NF: maxima over C
        x = self.activation(x)  # NF
        for highway in self.highways:
            x = highway(x)  # NF
        return self.projection(x)  # NP

    def embeddings(self) -> Tensor:
        """[262, D]: a row for every id.

        Id 0, a position without a word, has zeros, as in AllenNLP.
        """
        return functional.pad(self.embedding, (0, 0, 1, 0))


class Highway(nn.Module):
    """g · relu(transform(x)) + (1 - g) · x with g = sigmoid(carry(x)).

    "carry" is the name in the published files.
    """

    def __init__(self, features: int):
        super().__init__()
        self.carry = nn.Linear(features, features)
        self.transform = nn.Linear(features, features)

    def forward(self, x: Tensor) -> Tensor:
        """[N, F] -> [N, F]."""
        gate = torch.sigmoid(self.carry(x))  # NF
        new = torch.relu(self.transform(x))  # NF
        return gate * new + (1 - gate) * x  # NF


class ProjectedLstm(nn.Module):
    """One layer of LSTMs with projected, clipped outputs.

    Parameters of both directions, in the published layout.
    """

    def __init__(self, options: BiLMOptions):
        super().__init__()
        projection = options.projection_dim
        cell = options.lstm_dim
        # Rows: the input, then the last output. Columns: gates i, j, f, o.
        self.weight = nn.Parameter(torch.empty(2, 2 * projection, 4 * cell))
        self.bias = nn.Parameter(torch.empty(2, 4 * cell))
        self.projection = nn.Parameter(torch.empty(2, cell, projection))
        self.cell_clip = options.cell_clip
        self.projection_clip = options.projection_clip

    def forward(
        self, x: Tensor, h: Tensor, c: Tensor, *, direction: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        """x [T, P] in reading order, state h [P] and c [H] -> outputs and last state.

        The outputs are [T, P].
        """
        weight = self.weight[direction]  # (2P)(4H)
        bias = self.gate_bias()[direction]  # 4H
        projection = self.projection[direction]  # HP
        outputs = []
        for x_t in x:  # P
            gates = torch.cat([x_t, h]) @ weight + bias  # 4H
            # Input gate, candidate, forget gate, output gate: H each.
            i, j, f, o = gates.chunk(4)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(j)  # H
            c = c.clamp(-self.cell_clip, self.cell_clip)
            h = (torch.sigmoid(o) * torch.tanh(c)) @ projection  # P
            h = h.clamp(-self.projection_clip, self.projection_clip)
            outputs.append(h)
        return torch.stack(outputs), h, c  # TP, P, H

    def gate_bias(self) -> Tensor:
        """[2, 4H]: the stored bias, and the 1 of the forget gate.

        TensorFlow adds the 1 at run time.
        """
        cell = self.projection.shape[1]
        extra = self.bias.new_zeros(4 * cell)  # 4H
        extra[2 * cell : 3 * cell] = 1.0
        return self.bias + extra  # 2(4H)

    def zero_state(self) -> State:
        """h [2, P] and c [2, H] of zeros."""
        _, cell, projection = self.projection.shape
        return self.bias.new_zeros(2, projection), self.bias.new_zeros(2, cell)
