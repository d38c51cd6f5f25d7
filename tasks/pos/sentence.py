"""The one item of this task."""

from dataclasses import dataclass

UNKNOWN = "_"  # as CoNLL-U writes what is not told


@dataclass(frozen=True)
class Sentence:
    """A sentence and the part of speech of each of its words."""

    tokens: tuple[str, ...]
    tags: tuple[str, ...]

    @property
    def texts(self) -> tuple[tuple[str, ...], ...]:
        """The tokenised texts that an encoder must see."""
        return (self.tokens,)

    @property
    def gold(self) -> tuple[str, ...]:
        """What predictions are compared with."""
        return self.tags
