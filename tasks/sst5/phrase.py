"""The one item of this task."""

from dataclasses import dataclass, field

LABELS = ("very negative", "negative", "neutral", "positive", "very positive")  # 0 to 4


@dataclass(frozen=True)
class Phrase:
    """A phrase, or a whole sentence, and its label."""

    tokens: tuple[str, ...]
    label: int | None  # None: not known, in a text to predict
    sentence: tuple[str, ...] = field(default=(), repr=False, compare=False)  # that it is a part of, where told

    @property
    def group(self) -> tuple[str, ...]:
        """The phrases of a sentence stay together in a part of the training data."""
        return self.sentence or self.tokens

    @property
    def texts(self) -> tuple[tuple[str, ...], ...]:
        """The tokenised texts that an encoder must see."""
        return (self.tokens,)

    @property
    def gold(self) -> int | None:
        """What predictions are compared with."""
        return self.label
