"""The example of this task."""

from dataclasses import dataclass

UNKNOWN = "_"  # as CoNLL-U writes what is unknown


@dataclass(frozen=True)
class Sentence:
    """A sentence and the part of speech of each of its words."""

    tokens: tuple[str, ...]
    tags: tuple[str, ...]

    @property
    def texts(self) -> tuple[tuple[str, ...], ...]:
        """The sequences that the encoder reads."""
        return (self.tokens,)

    @property
    def gold(self) -> tuple[str, ...]:
        """What predictions are compared with."""
        return self.tags
