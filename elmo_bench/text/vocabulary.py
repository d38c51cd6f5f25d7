"""Vocabularies: words or characters as numbers, and the limits of what is read (docs/limits.md)."""

from collections.abc import Iterable

PADDING, UNKNOWN = 0, 1
# Limits that bound memory whatever the text is; no text of the suites reaches them.
LONGEST_WORD = 512  # characters of a token that are read; the longest token of the suites has 473
LONGEST_TEXT = 5_000  # tokens of a text to train on, since some heads attend to all pairs; the suites' longest has 706


class Vocabulary:
    """Items from 2 on; 0 is padding, 1 is anything not seen in training."""

    def __init__(self, items: Iterable[str]):
        self.items = list(items)
        self._index = {item: number for number, item in enumerate(self.items, start=2)}

    def __len__(self) -> int:
        return len(self.items) + 2

    def __getitem__(self, item: str) -> int:
        return self._index.get(item, UNKNOWN)
