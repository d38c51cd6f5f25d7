"""Whether a record agrees with itself, and with the others of its ledger."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.ledger.record import (
    SCORED,
    MixWeights,
    Record,
    answered,
    run_hash,
    score_of,
)

# Points between the best of the dev curve and the score of the checkpoint that was
# loaded again, or a unit.
NEAR = 0.5
# Keys that nothing of a run is computed from: its scores are never corrected.
CORRECTABLE = ("cost", "environment")
CLOCKS = timedelta(days=1)  # by which clocks may differ
# Wrong items that no two seeds have in common; SOME: if their dev curves are equal too.
MANY = 100
SOME = 20
ATTEMPT = "attempt"  # no two runs share one


def record_of(content: Any) -> Record:
    """The record of plain data.

    Raises UserError, naming the key, unless this is a complete record of this schema
    that agrees with itself.
    """
    record = Record.read(content, "record")
    check_record(record)
    return record


def check_record(record: Record) -> None:
    """Raise UserError, naming the key, unless the record agrees with itself.

    `Copies` compares it with other records; `report`, `compare`, `merge` and `check`
    also sum its outcomes.
    """
    _check_spec(record)
    _check_created(record)
    _check_scores(record)
    _check_lengths(record)
    _check_best(record)
    _check_corrected(record)


def _check_spec(record: Record) -> None:
    if record.spec.contents is None:
        raise UserError(
            "record.spec.contents: null. Give the digests of data, weights and vectors."
        )
    try:
        right = run_hash(record.spec)
    except (TypeError, ValueError) as error:  # NaN
        raise UserError(f"record.spec: {error}") from None
    if record.hash != right:
        raise UserError(
            f"record.hash: {record.hash:.60} is not the hash of record.spec"
        )


def _check_created(record: Record) -> None:
    try:
        created = datetime.fromisoformat(record.created)
    except ValueError as error:  # February 30
        raise UserError(f"record.created: {error}") from None
    if created > datetime.now(UTC) + CLOCKS:
        raise UserError(f"record.created: {record.created} is in the future")


def _check_scores(record: Record) -> None:
    for split in SCORED:
        overall = record.scores.of(split).overall
        where = f"record.scores.{split}.overall"
        if record.metric not in overall:
            raise UserError(f"{where}: {record.metric} missing")
        score = overall[record.metric]
        if not 0 <= score <= 100:
            raise UserError(
                f"{where}.{record.metric}: {score} is not between 0 and 100"
            )


def _check_lengths(record: Record) -> None:
    """There is a number for each epoch, and all epochs mix the same layers."""
    epochs = record.epochs.run
    for name in record.curves.model_fields_set:
        length = len(getattr(record.curves, name))
        if length != epochs:
            raise UserError(
                f"record.curves.{name}: {length} numbers of {epochs} epochs"
            )
    first = layers_of(record.layer_weights[0]) if record.layer_weights else {}
    for mixes in record.layer_weights:
        if layers_of(mixes) != first or _has_other_norms(mixes):
            raise UserError(
                "record.layer_weights: the epochs, or weights and norms, are of other "
                "places or layers"
            )


def _has_other_norms(mixes: dict[str, MixWeights]) -> bool:
    """Whether a mix has norms of more or fewer layers than it has weights."""
    return any(len(mix.norms) != len(mix.weights) for mix in mixes.values())


def _check_best(record: Record) -> None:
    """The best epoch is the best of the dev curve, and its score is the one on dev."""
    best = record.epochs.best
    last = min(record.epochs.run, len(record.layer_weights) or record.epochs.run)
    if not 1 <= best <= last:
        raise UserError(f"record.epochs.best: {best} is not an epoch of the run")
    curve = record.curves.dev
    chosen = curve[best - 1]
    dev = score_of(record, "dev")
    slack = max(NEAR, 100 / max(1, units_of(record, "dev")))
    if chosen < max(curve) or abs(chosen - dev) > slack:
        raise UserError(
            f"record.epochs.best: {best}, with dev {record.metric} {chosen:.2f}; the "
            f"best of its curve is {max(curve):.2f}, the score of dev {dev:.2f}"
        )


def _check_corrected(record: Record) -> None:
    """What is said to be corrected is a key of the record, but no score."""
    for key in record.corrected:
        if key not in CORRECTABLE:
            raise UserError(
                f"record.corrected.{key:.60}: only {', '.join(CORRECTABLE)} can be "
                "corrected. Make the run again"
            )


def layers_of(mixes: dict[str, MixWeights]) -> dict[str, int]:
    """How many layers the mixes of an epoch have, by place."""
    return {place: len(mix.weights) for place, mix in mixes.items()}


def units_of(record: Record, split: str) -> float:
    """The items of a split; the gold mentions where items are documents."""
    mentions = []
    for counts in record.scores.of(split).by_type.values():
        if "recall_den" in counts:
            mentions.append(counts["recall_den"])
    return max(mentions, default=record.data.counts.of(split))


def _always(record: Record) -> bool:
    return True


class Copies:
    """The runs of a ledger that were read so far.

    Two seeds of a run never agree on every item, unless the data are few or easy, the
    head learned nothing (see MANY, SOME and `_wrong`), or one epoch was enough, as for
    word senses. Their training losses always differ, unless nothing is drawn.
    """

    def __init__(self, is_drawn: Callable[[Record], bool] = _always) -> None:
        """is_drawn: whether the seeds of a record's run differ at all
        (`spec.run_spec.is_drawn`)."""
        self._is_drawn = is_drawn
        self._known: dict[Any, tuple[str, int]] = {}  # hash and seed of a run, by trait
        self._layers: dict[str, Any] = {}  # `layers_of` a run, by hash

    def check(self, record: Record) -> None:
        """Raise UserError if the record is a copy of one that was checked before.

        It is if it has the same attempt, or the same outcomes and a run whose seeds
        differ. Where outcomes may agree by chance, the dev curves have to be the same
        too, and else the losses as well.
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
            if (other_hash, seed) == run:
                continue
            if trait[0] == ATTEMPT or self._is_drawn(record):
                raise UserError(
                    f"the same {trait[0]} as seed {seed} of {other_hash}, so one of "
                    "the two is a copy"
                )


def _traits(record: Record) -> list[tuple[Any, ...]]:
    """What no other run has, each after its name."""
    traits: list[tuple[Any, ...]] = [(ATTEMPT, record.attempt)]
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
    """Whether all answers are of one type, and right wherever it is the gold type.

    As far as the scores by type show.
    """
    types = set()
    for split in SCORED:
        scores = record.scores.of(split)
        for name in answered(scores):
            counts = scores.by_type[name]
            if counts.get("correct") != counts.get("gold"):
                return False
            types.add(name)
    return len(types) == 1
