"""The example of this task."""

from dataclasses import dataclass

ROOT = -1  # the head of a word that has none


@dataclass(frozen=True)
class Sentence:
    """A sentence, the head of each of its words (a position from 0, or ROOT) and its relation to that head."""

    tokens: tuple[str, ...]
    heads: tuple[int, ...]
    relations: tuple[str, ...]

    @property
    def texts(self) -> tuple[tuple[str, ...]]:
        return (self.tokens,)

    @property
    def gold(self) -> tuple[str, ...]:
        return self.relations
