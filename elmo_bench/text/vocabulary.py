"""Vocabularies: words or characters as numbers."""

from collections import Counter
from collections.abc import Iterable

PADDING, UNKNOWN = 0, 1


class Vocabulary:
    """Items from 2 on; 0 is padding, 1 is anything not seen in training."""

    def __init__(self, items: Iterable[str]):
        self.items = list(items)
        self._index = {item: number for number, item in enumerate(self.items, start=2)}

    def __len__(self) -> int:
        return len(self.items) + 2

    def __getitem__(self, item: str) -> int:
        return self._index.get(item, UNKNOWN)

    @classmethod
    def of(cls, items: Iterable[str], *, min_count: int = 1) -> "Vocabulary":
        """All items that occur at least `min_count` times, most frequent first (ties in alphabetical order)."""
        counts = sorted(Counter(items).items(), key=lambda pair: (-pair[1], pair[0]))
        return cls(item for item, count in counts if count >= min_count)
