"""The example of this task."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Sentence:
    """One sentence; its tags are always valid BIO."""

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
