"""The example of this task."""

from dataclasses import dataclass, field

LABELS = ("very negative", "negative", "neutral", "positive", "very positive")  # 0 to 4


@dataclass(frozen=True)
class Phrase:
    """A phrase, or a whole sentence, and its label."""

    tokens: tuple[str, ...]
    label: int | None  # None: unknown, in a file to predict
    sentence: tuple[str, ...] = field(default=(), repr=False, compare=False)  # that the phrase is from, if known

    @property
    def group(self) -> tuple[str, ...]:
        """The phrases of a sentence stay together in a fraction of the training data."""
        return self.sentence or self.tokens

    @property
    def whole(self) -> tuple[tuple[str, ...], ...]:
        """The vocabulary counts a sentence once, not each of its phrases."""
        return (self.group,)

    @property
    def texts(self) -> tuple[tuple[str, ...], ...]:
        return (self.tokens,)

    @property
    def gold(self) -> int | None:
        return self.label
