"""Which units of a split have a rare word, so that slices of dev and test follow from a record alone.

| slice | units |
|---|---|
| `unseen`, `seen` | with a word that the run's training examples lack in any case of its letters; all others |
| `novector`, `vector` | with a word that the suite's static vectors lack, as their lookup finds it; all others |

A unit is what `Data.within` of the task keeps, such as an entity, and else an example, with its `slice_words` if it has
them, or the words of all its texts. A word is a token with a letter. The vectors are the suite's for every encoder.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from elmo_bench import ledger
from elmo_bench.encoders.static import StaticVectors
from elmo_bench.ledger import PAIRS
from elmo_bench.ledger.formulas import formula
from elmo_bench.runner.data import Splits, words_of
from elmo_bench.training.contracts import Data, Metric

Outcomes = dict[str, np.ndarray]
Keeps = Callable[[Sequence[str]], bool]  # whether a unit with these words belongs to a slice


@dataclass(frozen=True)
class Rare:
    """The words of dev and test that training lacks, and those that the static vectors lack."""

    unseen: frozenset[str]
    novector: frozenset[str]

    @classmethod
    def of(cls, splits: Splits, vectors: StaticVectors) -> "Rare":
        """`splits` has the training examples that the run reads, and no others."""
        seen = {word.lower() for word in words_of(splits["train"])}
        words = {word for word in words_of([*splits["dev"], *splits["test"]]) if any(map(str.isalpha, word))}
        return cls(
            unseen=frozenset(word for word in words if word.lower() not in seen),
            novector=frozenset(word for word in words if vectors.lookup(word) is None),
        )

    @property
    def keeps(self) -> dict[str, Keeps]:
        """By slice."""
        found: dict[str, Keeps] = {}
        for name, other in PAIRS.items():
            found[name], found[other] = _has(getattr(self, name)), getattr(self, name).isdisjoint
        return found

    def outcomes(
        self, data: Data, metric: Metric, examples: Sequence[Any], predicted: Sequence[Any], whole: Outcomes
    ) -> Outcomes:
        """What the ledger keeps of a split: flags of examples, or what is counted of the units of each slice.

        `whole`: what the metric counts of all units. A complement that is the rest of it is left out.
        """
        keeps = self.keeps
        if not hasattr(data, "within"):
            words = [*map(words_of_unit, examples)]
            return {name: np.array([*map(keeps[name], words)], bool) for name in PAIRS}
        found: dict[str, Outcomes] = {}
        for name, other in PAIRS.items():
            found[name], rest = (
                outcomes_within(data, metric, examples, predicted, keeps[part]) for part in (name, other)
            )
            if any((whole[key] - found[name][key] != values).any() for key, values in rest.items()):
                found[other] = rest
        return ledger.joined_slices(found)


def words_of_unit(example: Any) -> Sequence[str]:
    """The words that decide to which slices an example belongs."""
    return getattr(example, "slice_words", None) or [word for text in example.texts for word in text]


def outcomes_within(
    data: Data, metric: Metric, examples: Sequence[Any], predicted: Sequence[Any], keeps: Keeps
) -> Outcomes:
    """By example, what the metric's formula sums over its units whose words `keeps` accepts.

    Zeros for an example that `within` leaves out.
    """
    pairs = zip(examples, predicted, strict=True)
    cut = [data.within(example, prediction, keeps) for example, prediction in pairs]  # type: ignore[attr-defined]
    kept = [number for number, pair in enumerate(cut) if pair is not None]
    counted = metric.outcomes(*([cut[number][side] for number in kept] for side in (0, 1)))
    found = {name: np.zeros(len(cut), np.int64) for name in formula(metric.formula).outcomes}
    for name, values in found.items():
        values[kept] = counted[name]
    return found


def marks_of(examples: Sequence[Any]) -> Outcomes:
    """The examples' marks, by name; those that some of them lack are left out."""
    marks = [getattr(example, "marks", {}) for example in examples]
    names = [name for name in marks[0] if all(name in each for each in marks)]
    return {name: np.array([each[name] for each in marks], bool) for name in names}


def _has(rare: frozenset[str]) -> Keeps:
    return lambda words: not rare.isdisjoint(words)
