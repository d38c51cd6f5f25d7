"""The character CNN of a task (not of the biLM)."""

from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from elmo_bench.text.vocabulary import PADDING, Vocabulary

AT_ONCE = 2**20  # characters of a batch, padding included; above, blocks of words are computed, and in training twice


class CharacterCnn(nn.Module):
    """Character embeddings, a convolution for each width, ReLU, max over the word: [B, T, C] -> [B, T, dim].

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
        """[B, T, C] -> [B, T, dim]; a word's vector does not depend on its padding."""
        blocks = characters.flatten(0, 1).split(max(1, AT_ONCE // max(1, characters.shape[2])))
        if len(blocks) > 1 and torch.is_grad_enabled():
            found = [cast("Tensor", checkpoint(self._words, block, use_reentrant=False)) for block in blocks]
        else:
            found = [self._words(block) for block in blocks]
        return torch.cat(found).unflatten(0, characters.shape[:2])

    def _words(self, characters: Tensor) -> Tensor:
        """[N, C] -> [N, dim]"""
        x = self.embedding(characters).transpose(1, 2)  # N(char dim)C
        length = (characters != PADDING).sum(dim=1)  # N
        pooled = []
        for convolution in self.convolutions:
            y = torch.relu(convolution(x))
            # the last window that touches the word starts at length + width - 2
            last = length + convolution.kernel_size[0] - 1
            y = y * (torch.arange(y.shape[2], device=y.device) < last[:, None])[:, None]
            pooled.append(y.amax(dim=2))
        return torch.cat(pooled, dim=1)
