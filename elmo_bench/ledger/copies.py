"""Noticing a run that a ledger has under several seeds or specs."""

from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.ledger.checks import layers_of, units_of
from elmo_bench.ledger.record import SCORED, Record

# Wrong items that no two seeds have in common; SOME: if their dev curves are equal too.
MANY = 100
SOME = 20
# Counts of a type that an answer of this type has.
_ANSWERED = ("correct", "guessed", "excess")


class Copies:
    """The runs of a ledger that were read so far.

    Two seeds of a run never agree on every item, unless the data are few or easy, the
    head learned nothing (see MANY, SOME and `_wrong`), or one epoch was enough, as for
    word senses. Their training losses always differ.
    """

    def __init__(self) -> None:
        self._known: dict[Any, tuple[str, int]] = {}  # hash and seed of a run, by trait
        self._layers: dict[str, Any] = {}  # `layers_of` a run, by hash

    def check(self, record: Record) -> None:
        """Raise UserError if the record is a copy of one that was checked before.

        It is if it has the same attempt, or the same outcomes. Where outcomes may agree
        by chance, the dev curves have to be the same too, and else the losses as well.
        """
        for mixes in record.layer_weights[:1]:
            layers = layers_of(mixes)
            if self._layers.setdefault(record.hash, layers) != layers:
                raise UserError(
                    "layer_weights: other places or layers than in another seed of the "
                    "run"
                )
        run = (record.hash, record.seed)
        for trait in _traits(record):
            other_hash, seed = self._known.setdefault(trait, run)
            if (other_hash, seed) != run:
                raise UserError(
                    f"the same {trait[0]} as seed {seed} of {other_hash}, so one of "
                    "the two is a copy"
                )


def _traits(record: Record) -> list[tuple[Any, ...]]:
    """What no other run has, each after its name."""
    traits: list[tuple[Any, ...]] = [("attempt", record.attempt)]
    curve = record.curves.dev
    loss = record.curves.train_loss
    wrong = _wrong(record)
    rises = len(set(curve)) > 1
    outcomes = (record.hash, record.outcomes)
    if rises and wrong >= MANY:
        traits.append(("outcomes", *outcomes))
    elif rises and wrong >= SOME:
        traits.append(("outcomes and curves", *outcomes, *curve))
    elif loss:
        traits.append(("outcomes and curves", *outcomes, *curve, *loss))
    return traits


def _wrong(record: Record) -> float:
    """About how many units are wrong.

    0 if that tells nothing: nothing is right, or one answer is always given.
    """
    scores = record.main_scores
    if _always_answers_one(record) or not any(scores.values()):
        return 0
    wrong = 0.0
    for split, score in scores.items():
        wrong += units_of(record, split) * (1 - score / 100)
    return wrong


def _always_answers_one(record: Record) -> bool:
    """Whether all answers are of one type, as far as the scores by type show."""
    answered = set()
    for split in SCORED:
        for name, counts in record.scores.of(split).by_type.items():
            if not any(counts.get(key) for key in _ANSWERED):
                continue
            answered.add(name)
            if counts.get("correct") != counts.get("gold"):
                return False
    return len(answered) == 1
