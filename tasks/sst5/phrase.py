"""The one item of this task."""

from dataclasses import dataclass

LABELS = ("very negative", "negative", "neutral", "positive", "very positive")  # 0 to 4


@dataclass(frozen=True)
class Phrase:
    """A phrase, or a whole sentence, and its label."""

    tokens: tuple[str, ...]
    label: int | None  # None: not known, in a text to predict

    @property
    def texts(self) -> tuple[tuple[str, ...], ...]:
        """The tokenised texts that an encoder must see."""
        return (self.tokens,)

    @property
    def gold(self) -> int | None:
        """What predictions are compared with."""
        return self.label
