"""The character CNN of a task (not of the biLM)."""

from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from elmo_bench.text.vocabulary import PADDING, Vocabulary

AT_ONCE = 2**20  # characters of a batch, padding included; above, blocks of words are computed, and in training twice


class CharacterCnn(nn.Module):
    """Character embeddings, a convolution for each width, ReLU, max over the word: W words [W, C] -> [W, dim].

    Ma and Hovy 2016; dim is the sum of the filters. Windows lie within the word (valid convolutions, as in
    AllenNLP); a word shorter than a filter is padded to its width with zeros. Embeddings and filters start with Xavier
    uniform values (Lee et al. 2017), biases with zeros.

    A window's value is the sum over its characters of (embedding · filter at that position), so these products are
    computed once for each letter of the alphabet, and then looked up.
    """

    def __init__(self, vocabulary: Vocabulary, *, dim: int, filters: Sequence[Sequence[int]]):
        super().__init__()
        self.vocabulary = vocabulary
        self.embedding = nn.Embedding(len(vocabulary), dim, padding_idx=PADDING)
        nn.init.xavier_uniform_(self.embedding.weight)
        self.embedding.weight.data[PADDING] = 0
        convolutions = (nn.Conv1d(dim, number, width) for width, number in filters)
        self.convolutions = cast("list[nn.Conv1d]", nn.ModuleList(convolutions))
        for convolution in self.convolutions:
            nn.init.xavier_uniform_(convolution.weight)
            nn.init.zeros_(convolution.bias)  # type: ignore[arg-type]
        self.dim = sum(number for _, number in filters)

    def forward(self, characters: Tensor) -> Tensor:
        """[W, C] -> [W, dim]; a word's vector does not depend on its padding."""
        blocks = characters.split(max(1, AT_ONCE // max(1, characters.shape[1])))
        if len(blocks) > 1 and torch.is_grad_enabled():
            return torch.cat([cast("Tensor", checkpoint(self._words, block, use_reentrant=False)) for block in blocks])
        return torch.cat([self._words(block) for block in blocks])

    def _words(self, characters: Tensor) -> Tensor:
        alphabet = self.embedding(torch.arange(len(self.vocabulary), device=characters.device))  # V(char dim)
        lengths = (characters != PADDING).sum(dim=1)  # W
        pooled = []
        for convolution in self.convolutions:
            width = convolution.kernel_size[0]
            padded = functional.pad(characters, (0, max(0, width - characters.shape[1])), value=PADDING)
            products = torch.einsum("vd,fdk->kvf", alphabet, convolution.weight)
            windows = (lengths - width + 1).clamp(min=1)
            pooled.append(_MaxOverWindows.apply(products, padded, windows) + convolution.bias)
        return torch.cat(pooled, dim=1).relu()


class _MaxOverWindows(torch.autograd.Function):
    """Products [K, V, F] by position in the window, characters [W, C], windows that count [W] -> [W, F]."""

    @staticmethod
    def forward(ctx: Any, products: Tensor, characters: Tensor, counts: Tensor) -> Tensor:
        width, letters, filters = products.shape
        rows = characters.unfold(1, width, 1) + letters * torch.arange(width, device=products.device)  # W(windows)K
        sums = functional.embedding_bag(rows.flatten(0, 1), products.flatten(0, 1), mode="sum")
        sums = sums.view(*rows.shape[:2], filters)
        beyond = torch.arange(rows.shape[1], device=counts.device) >= counts[:, None]  # W(windows)
        highest, places = sums.masked_fill_(beyond[:, :, None], -torch.inf).max(dim=1)  # WF
        ctx.save_for_backward(rows, places)
        ctx.shape = products.shape
        return highest

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (rows, places), filters = ctx.saved_tensors, ctx.shape[2]
        cells = rows.gather(1, places[:, :, None].expand(-1, -1, rows.shape[2]))  # WFK
        cells = cells * filters + torch.arange(filters, device=places.device)[:, None]
        d_products = gradients[0].new_zeros(ctx.shape)
        d_products.view(-1).scatter_add_(0, cells.flatten(), gradients[0][:, :, None].expand_as(cells).flatten())
        return d_products, None, None
