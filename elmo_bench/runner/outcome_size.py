"""Whether the outcomes of a run on the user's data fit in a record; imports no torch."""

import random
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from elmo_bench import ledger
from elmo_bench.base.errors import UserError
from elmo_bench.base.metric import encoded
from elmo_bench.ledger.store import MAX_OUTCOME_BYTES, packed_size
from elmo_bench.spec.config import reads_own_data
from elmo_bench.spec.names import metric_of

# Labels of dev and test that always fit. A label takes less than 8 bytes: which one it
# is, and what it counts, where it is gold and where it is guessed.
ALWAYS_FIT = 100_000
MARGIN = 1.15  # the worst guesses take a tenth more, and a run adds marks to the counts


def check_outcomes_fit(task: str, splits: Mapping[str, Sequence[Any]]) -> None:
    """Raise UserError if dev and test are too large for a record, before any training.

    The size is measured with guesses of which half are drawn at random, which pack
    worse than the guesses of a head. Only for tasks on own data.
    """
    examples = [*splits["dev"], *splits["test"]]
    labels = sum(len(_labels(example)) for example in examples)
    metric = metric_of(task) if reads_own_data(task) else None
    if metric is None or labels <= ALWAYS_FIT:
        return
    counts = {}
    for split in ("dev", "test"):
        gold = [example.gold for example in splits[split]]
        counts[split] = encoded(metric.counts(gold, half_at_random(splits[split])))
    size = MARGIN * packed_size(ledger.joined(counts))
    if size > MAX_OUTCOME_BYTES:
        fit = int(0.8 * len(examples) * MAX_OUTCOME_BYTES / size)
        raise UserError(
            f"dev and test: {len(examples):,} examples with {labels:,} labels, whose outcomes a record cannot hold "
            f"(at most {MAX_OUTCOME_BYTES:,} bytes). Give dev and test files with about {fit:,} examples together."
        )


def _labels(example: Any) -> Sequence[str]:
    """The labels of an example: one, or one for each token."""
    return (example.gold,) if isinstance(example.gold, str) else example.gold


def half_at_random(examples: Sequence[Any]) -> list[Any]:
    """Guesses for some examples: the gold labels, of which half have changed places."""
    labels = [*chain.from_iterable(_labels(example) for example in examples)]
    rng = random.Random(0)
    places = rng.sample(range(len(labels)), len(labels) // 2)
    moved = [labels[place] for place in places]
    rng.shuffle(moved)
    for place, label in zip(places, moved, strict=True):
        labels[place] = label
    drawn = iter(labels)
    guesses: list[Any] = []
    for example in examples:
        if isinstance(example.gold, str):
            guesses.append(next(drawn))
        else:
            guesses.append([next(drawn) for _ in example.gold])
    return guesses
