"""The biLM's context-independent vectors of words, each computed once."""

import threading
from collections.abc import Callable, Hashable, Sequence

import numpy as np
import torch
from torch import Tensor

BYTES = 128 * 2**20  # of vectors to remember


class WordVectors:
    """Vectors by word, remembered over calls, of several threads too; when the memory is full it starts over.

    `characters` turns ids [N, C] into vectors [N, P]; `ids` turns keys (words) into ids.
    """

    def __init__(
        self, characters: Callable[[Tensor], Tensor], ids: Callable[[Sequence], np.ndarray], *, dim: int, device: str
    ):
        self.characters, self.ids, self.dim, self.device = characters, ids, dim, device
        self.limit = BYTES // (4 * dim)
        self._lock = threading.Lock()
        self.forget()

    def forget(self) -> None:
        """Start over, as new weights make necessary."""
        self._places: dict[Hashable, int] = {}
        self._table = torch.zeros(1, self.dim, device=self.device)

    def __call__(self, words: Sequence[Hashable]) -> Tensor:
        """Vectors [1 + N, P] of N different words, behind a row of zeros."""
        with self._lock:
            new = [word for word in words if word not in self._places]
            if new and len(self._places) + len(new) > self.limit:
                self.forget()
                new = list(words)
            if new:
                vectors = self.characters(torch.from_numpy(self.ids(new)).to(self.device))
                if len(new) > self.limit:
                    return torch.cat([torch.zeros_like(vectors[:1]), vectors])
                self._remember(new, vectors)
            places = [0, *(self._places[word] for word in words)]
            return self._table[torch.tensor(places, device=self._table.device)]

    def _remember(self, words: Sequence[Hashable], vectors: Tensor) -> None:
        filled = 1 + len(self._places)
        if len(self._table) < filled + len(words):
            table = vectors.new_zeros(min(2 * (filled + len(words)), 1 + self.limit), vectors.shape[1])
            table[: len(self._table)] = self._table
            self._table = table
        self._table[filled : filled + len(words)] = vectors
        self._places.update(zip(words, range(filled, filled + len(words)), strict=True))
