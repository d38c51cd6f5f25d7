"""The character CNN of a task (not of the biLM)."""

from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor, nn

from elmo_bench.text.vocabulary import PADDING, Vocabulary


class CharacterCnn(nn.Module):
    """Character embeddings, a convolution for each width, ReLU, max over the word: W words [W, C] -> [W, dim].

    Ma and Hovy 2016; dim is the sum of the filters.
    """

    def __init__(self, vocabulary: Vocabulary, *, dim: int, filters: Sequence[Sequence[int]]):
        super().__init__()
        self.vocabulary = vocabulary
        self.embedding = nn.Embedding(len(vocabulary), dim, padding_idx=PADDING)
        # Padding by width - 1 gives a word shorter than the filter an output.
        convolutions = (nn.Conv1d(dim, number, width, padding=width - 1) for width, number in filters)
        self.convolutions = cast("list[nn.Conv1d]", nn.ModuleList(convolutions))
        self.dim = sum(number for _, number in filters)

    def forward(self, characters: Tensor) -> Tensor:
        """[W, C] -> [W, dim]; a word's vector does not depend on its padding."""
        x = self.embedding(characters).transpose(1, 2)  # W(char dim)C
        length = (characters != PADDING).sum(dim=1)  # W
        pooled = []
        for convolution in self.convolutions:
            y = torch.relu(convolution(x))
            # the last window that touches the word starts at length + width - 2
            last = length + convolution.kernel_size[0] - 1
            y = y * (torch.arange(y.shape[2], device=y.device) < last[:, None])[:, None]
            pooled.append(y.amax(dim=2))
        return torch.cat(pooled, dim=1)
