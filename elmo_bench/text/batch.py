"""Batches of tokenised sequences of similar length, as tensors that are ready for an embedder."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from elmo_bench.text.vocabulary import LONGEST_WORD, Vocabulary


def pools(order: Iterable[int], lengths: Sequence[int], *, size: int, tokens: int) -> Iterator[list[int]]:
    """Cut `order`, numbers of sequences by rising length, into pools of at most `size` sequences and `tokens` tokens.

    Tokens are counted with padding. A pool has at least one sequence, however long. `lengths` of all, in tokens.
    """
    pool: list[int] = []
    for number in order:  # the newest is the longest
        if pool and (len(pool) == size or (len(pool) + 1) * lengths[number] > tokens):
            yield pool
            pool = []
        pool.append(number)
    if pool:
        yield pool


def by_length(lengths: Sequence[int]) -> list[int]:
    """The numbers of all sequences by rising length; equal lengths keep their order."""
    return sorted(range(len(lengths)), key=lengths.__getitem__)


Text = tuple[str, ...]


@dataclass
class TextBatch:
    """B sequences of at most T tokens. A tensor that no part of the embedder reads is None."""

    mask: Tensor  # bool [B, T]
    words: Tensor | None  # int64 [B, T], rows of the word table
    characters: Tensor | None  # int64 [W, C], of each distinct word; the first row is padding
    spellings: Tensor | None  # int64 [B, T], rows of `characters`
    layers: dict[str, Tensor]  # float32 [B, L, T, D] of each frozen encoder by name; "" if it is alone

    @property
    def lengths(self) -> Tensor:
        """int64 [B], on the CPU."""
        return self.mask.sum(dim=1).cpu()


class Indexer:
    """Turns sequences into a TextBatch: rows from `words`, ids from `characters`, the layers of each frozen encoder."""

    def __init__(
        self,
        *,
        words: Callable[[str], int] | None,
        characters: Vocabulary | None,
        layers: Mapping[str, Callable[[Sequence[Text]], Tensor]],
    ):
        self.words, self.characters, self.layers = words, characters, layers

    def __call__(self, texts: Sequence[Text]) -> TextBatch:
        """Pad to the longest sequence with 0; of a word, at most LONGEST_WORD characters are kept."""
        lengths = torch.tensor([len(text) for text in texts])
        mask = torch.arange(int(lengths.max()))[None] < lengths[:, None]
        words = characters = spellings = None
        if self.words:
            words = torch.zeros(mask.shape, dtype=torch.int64)
            words[mask] = torch.tensor([self.words(word) for text in texts for word in text], dtype=torch.int64)
        if self.characters:
            spelt = [word[:LONGEST_WORD] for text in texts for word in text]
            rows = {word: row for row, word in enumerate(dict.fromkeys(spelt), start=1)}
            # One tensor for all words: one for each word would take ten times as long.
            sizes = torch.tensor([0, *map(len, rows)])
            inside = torch.arange(max(1, int(sizes.max())))[None] < sizes[:, None]
            characters = torch.zeros(inside.shape, dtype=torch.int64)
            characters[inside] = torch.tensor([self.characters[c] for word in rows for c in word], dtype=torch.int64)
            spellings = torch.zeros(mask.shape, dtype=torch.int64)
            spellings[mask] = torch.tensor([rows[word] for word in spelt], dtype=torch.int64)
        layers = {part: layers_of(texts) for part, layers_of in self.layers.items()}
        return TextBatch(mask, words, characters, spellings, layers)
