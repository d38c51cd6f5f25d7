"""Batches of tokenised sequences of similar length, as tensors for an embedder."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import torch
from torch import Tensor

from elmo_bench.text.vocabulary import LONGEST_WORD, Vocabulary


def pools(
    order: Iterable[int], lengths: Sequence[int], *, size: int, tokens: int
) -> Iterator[list[int]]:
    """Cut `order` into pools of at most `size` sequences and `tokens` tokens.

    order: numbers of sequences by rising length. lengths: of all sequences, in tokens.
    Tokens are counted with padding. A pool has at least one sequence, however long.
    """
    pool: list[int] = []
    for number in order:
        # The newest sequence is the longest.
        padded = (len(pool) + 1) * lengths[number]
        if pool and (len(pool) == size or padded > tokens):
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
    """B sequences of at most T tokens. A tensor that no embedder part reads is None."""

    mask: Tensor  # bool [B, T]
    words: Tensor | None  # int64 [B, T], rows of the word table
    characters: Tensor | None  # int64 [W, C], of distinct words; the first is padding
    spellings: Tensor | None  # int64 [B, T], rows of `characters`
    # float32 [B, L, T, D] of each encoder by name, "" if it is alone; of a tuned one
    # the texts, which the embedder reads (encoders/tuning.py)
    layers: dict[str, Any]

    @property
    def lengths(self) -> Tensor:
        """int64 [B], on the CPU."""
        return self.mask.sum(dim=1).cpu()


class Indexer:
    """Turns sequences into a TextBatch.

    It has rows from `words`, ids from `characters`, the layers of each encoder.
    """

    def __init__(
        self,
        *,
        words: Callable[[str], int] | None,
        characters: Vocabulary | None,
        layers: Mapping[str, Callable[[Sequence[Text]], Any]],
    ):
        self.words = words
        self.characters = characters
        self.layers = layers

    def __call__(self, texts: Sequence[Text]) -> TextBatch:
        """Pad to the longest sequence with 0.

        At most LONGEST_WORD characters of a word are kept.
        """
        lengths = torch.tensor([len(text) for text in texts])
        mask = torch.arange(int(lengths.max()))[None] < lengths[:, None]
        words = characters = spellings = None
        if self.words:
            rows = [self.words(word) for word in chain.from_iterable(texts)]
            words = torch.zeros(mask.shape, dtype=torch.int64)
            words[mask] = torch.tensor(rows, dtype=torch.int64)
        if self.characters:
            characters, spellings = _spelt(texts, mask, self.characters)
        layers = {part: layers_of(texts) for part, layers_of in self.layers.items()}
        return TextBatch(mask, words, characters, spellings, layers)


def _spelt(
    texts: Sequence[Text], mask: Tensor, alphabet: Vocabulary
) -> tuple[Tensor, Tensor]:
    """(characters [W, C], spellings [B, T]) of a TextBatch. mask: bool [B, T]."""
    words = [word[:LONGEST_WORD] for word in chain.from_iterable(texts)]
    rows = {word: row for row, word in enumerate(dict.fromkeys(words), start=1)}
    # One tensor for all words: one for each word would take ten times as long.
    sizes = torch.tensor([0, *map(len, rows)])
    inside = torch.arange(max(1, int(sizes.max())))[None] < sizes[:, None]
    ids = [alphabet[character] for character in chain.from_iterable(rows)]
    characters = torch.zeros(inside.shape, dtype=torch.int64)
    characters[inside] = torch.tensor(ids, dtype=torch.int64)
    spellings = torch.zeros(mask.shape, dtype=torch.int64)
    spellings[mask] = torch.tensor([rows[word] for word in words], dtype=torch.int64)
    return characters, spellings
