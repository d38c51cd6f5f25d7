"""Texts with the label that they have together, as tasks on own data read them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from elmo_bench.text.tables import Row


@dataclass(frozen=True)
class Labelled:
    """Tokenised texts and the label that they have together."""

    texts: tuple[tuple[str, ...], ...]
    gold: str | None  # None: unknown
    # The row that it was read from.
    row: Row = field(default_factory=dict, repr=False, compare=False)

    @property
    def group(self) -> tuple[str, ...]:
        """The first text.

        Examples of one group stay together, in splits and in fractions of the training
        data.
        """
        return self.texts[0]


def label_numbers(examples: Sequence[Labelled], labels: Sequence[str]) -> list[int]:
    """The number of each example's label, its position in `labels`.

    0 for a label that training lacks, of which no loss is computed.
    """
    numbers = {label: number for number, label in enumerate(labels)}
    return [numbers.get(example.gold or "", 0) for example in examples]
