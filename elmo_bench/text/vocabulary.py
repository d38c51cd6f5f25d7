"""Vocabularies: words or characters as numbers."""

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
