"""The example of tasks that tag words."""

from dataclasses import dataclass


@dataclass(frozen=True)
class TaggedSentence:
    """A sentence and the tag of each of its tokens."""

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
