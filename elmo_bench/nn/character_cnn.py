"""The character CNN of a task (not of the biLM)."""

from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from elmo_bench.text.vocabulary import PADDING, Vocabulary

# Characters of a batch, padding included. Above, blocks of words are computed, and in
# training twice.
AT_ONCE = 2**20


class CharacterCnn(nn.Module):
    """Characters [W, C] of W words -> [W, dim]; dim is the sum of the filters.

    Character embeddings, a convolution for each width, ReLU, maximum over the word (Ma
    and Hovy 2016). Windows lie within the word (valid convolutions, as in AllenNLP); a
    word shorter than a filter is padded to its width with zeros. Embeddings and filters
    start with Xavier uniform values (Lee et al. 2017), biases with zeros.

    A window's value is the sum over its characters of (embedding · filter at that
    position), so these products are computed once for each letter of the alphabet, and
    then looked up.
    """

    def __init__(
        self, vocabulary: Vocabulary, *, dim: int, filters: Sequence[Sequence[int]]
    ):
        super().__init__()
        self.vocabulary = vocabulary
        self.embedding = nn.Embedding(len(vocabulary), dim, padding_idx=PADDING)
        nn.init.xavier_uniform_(self.embedding.weight)
        self.embedding.weight.data[PADDING] = 0
        convolutions = [nn.Conv1d(dim, number, width) for width, number in filters]
        self.convolutions = cast("list[nn.Conv1d]", nn.ModuleList(convolutions))
        for convolution in self.convolutions:
            nn.init.xavier_uniform_(convolution.weight)
            nn.init.zeros_(convolution.bias)  # type: ignore[arg-type]
        self.dim = sum(number for _, number in filters)

    def forward(self, characters: Tensor) -> Tensor:
        """[W, C] -> [W, dim]; a word's vector does not depend on its padding."""
        words_at_once = AT_ONCE // max(1, characters.shape[1])
        blocks = characters.split(max(1, words_at_once))
        again = len(blocks) > 1 and torch.is_grad_enabled()
        vectors = []
        for block in blocks:
            if again:  # computed again in the backward pass, to save memory
                x = checkpoint(self._words, block, use_reentrant=False)
                vectors.append(cast("Tensor", x))
            else:
                vectors.append(self._words(block))
        return torch.cat(vectors)

    def _words(self, characters: Tensor) -> Tensor:
        letters = torch.arange(len(self.vocabulary), device=characters.device)
        alphabet = self.embedding(letters)  # V(char dim)
        lengths = (characters != PADDING).sum(dim=1)  # W
        pooled = []
        for convolution in self.convolutions:
            width = convolution.kernel_size[0]
            short = max(0, width - characters.shape[1])
            padded = functional.pad(characters, (0, short), value=PADDING)
            products = torch.einsum("vd,fdk->kvf", alphabet, convolution.weight)
            windows = (lengths - width + 1).clamp(min=1)
            maxima = _MaxOverWindows.apply(products, padded, windows)
            pooled.append(maxima + convolution.bias)
        return torch.cat(pooled, dim=1).relu()


class _MaxOverWindows(torch.autograd.Function):
    """The largest sum of products over the windows of each word: [W, F].

    Products [K, V, F] by position in the window, characters [W, C], and the number of
    windows [W] that count.
    """

    @staticmethod
    def forward(
        ctx: Any, products: Tensor, characters: Tensor, counts: Tensor
    ) -> Tensor:
        width, letters, filters = products.shape
        positions = torch.arange(width, device=products.device)
        rows = characters.unfold(1, width, 1) + letters * positions  # W(windows)K
        words, windows, _ = rows.shape
        sums = functional.embedding_bag(
            rows.flatten(0, 1), products.flatten(0, 1), mode="sum"
        )
        sums = sums.view(words, windows, filters)
        numbers = torch.arange(windows, device=counts.device)
        beyond = numbers >= counts[:, None]  # W(windows)
        sums.masked_fill_(beyond[:, :, None], -torch.inf)
        highest, places = sums.max(dim=1)  # WF
        ctx.save_for_backward(rows, places)
        ctx.shape = products.shape
        return highest

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        rows, places = ctx.saved_tensors
        width, _, filters = ctx.shape
        chosen = places[:, :, None].expand(-1, -1, width)  # WFK
        numbers = torch.arange(filters, device=places.device)[:, None]
        cells = rows.gather(1, chosen) * filters + numbers  # WFK
        kind = gradients[0].dtype
        # On a GPU, a sum of thousands of numbers would stop growing in bfloat16.
        wide = torch.promote_types(kind, torch.float32)
        d_cells = gradients[0].to(wide)[:, :, None].expand_as(cells)
        d_products = d_cells.new_zeros(ctx.shape)
        d_products.view(-1).scatter_add_(0, cells.flatten(), d_cells.flatten())
        return d_products.to(kind), None, None
