"""The example of this task."""

from dataclasses import dataclass

LABELS = ("entailment", "neutral", "contradiction")  # in the Hub's order: 0, 1, 2
NO_GOLD = "-"  # what SNLI writes where its annotators did not agree


@dataclass(frozen=True)
class Pair:
    """Two tokenised sentences, and one of LABELS or NO_GOLD: does the second follow from the first?"""

    premise: tuple[str, ...]
    hypothesis: tuple[str, ...]
    label: str

    @property
    def group(self) -> tuple[str, ...]:
        """Pairs of one premise stay together in a fraction of the training data."""
        return self.premise

    @property
    def texts(self) -> tuple[tuple[str, ...], ...]:
        return (self.premise, self.hypothesis)

    @property
    def gold(self) -> str:
        return self.label
