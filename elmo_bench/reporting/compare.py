"""The difference of two systems on one task, after checking that they can be compared."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from elmo_bench.base.errors import UserError
from elmo_bench.ledger import CLUSTER, Record, RunPaths, of_split, read_outcomes
from elmo_bench.ledger.formulas import AGREES, Outcomes, formula
from elmo_bench.reporting.significance import OverItems, over_items


class Scored(NamedTuple):
    """A record and its outcomes on one split."""

    record: Record
    outcomes: Outcomes
    split: str = "test"


def with_outcomes(ledger: Path, records: Iterable[Record], *, split: str = "test") -> list[Scored]:
    """Records with the outcomes of one split. Raises UserError if they are missing or damaged."""
    stored = ((record, read_outcomes(RunPaths.of(ledger, record))) for record in records)
    return [Scored(record, of_split(outcomes, split), split) for record, outcomes in stored]


def compare(ours: Sequence[Scored], theirs: Sequence[Scored], *, paired: bool = False) -> OverItems:
    """The difference of the mean scores of two runs, each given as its seeds, and what items say of it.

    `paired`: the same seeds in the same order, which trained on the same subsets. Raises UserError if the two were not
    scored on the same data with the same metric, if outcomes do not add up to the score of their record, and if they
    are of a single item.
    """
    sides = [*ours, *theirs]
    for side in sides[1:]:
        _check_same_data(sides[0], side)
    _check_items(sides)
    how, clusters = formula(sides[0].record["formula"], sides[0].record["spec"]["task"]), sides[0].outcomes.get(CLUSTER)
    if len(np.unique(clusters) if clusters is not None else next(iter(sides[0].outcomes.values()))) < 2:
        raise UserError(f"{_name(sides[0])}: its outcomes are of a single item. Compare on more data.")
    left, right = (np.stack([how.counts_of(side.outcomes) for side in arm]) for arm in (ours, theirs))
    return over_items(left, right, how.score, clusters, paired=paired)


def _check_same_data(one: Scored, other: Scored) -> None:
    """Items of two runs can be paired only if all of this is equal."""
    names = ("suite", "task", "task version", "protocol", "metric", "formula", "data")
    for name, left, right in zip(names, _scored_on(one), _scored_on(other), strict=True):
        if left != right:
            raise UserError(
                f"{_name(one)} and {_name(other)}: {name} is {left} and {right}. "
                "Compare runs on the same data and metric."
            )


def _check_items(sides: Sequence[Scored]) -> None:
    """The outcomes are of the same items, and add up to the scores."""
    shapes = [{name: len(values) for name, values in side.outcomes.items()} for side in sides]
    for side, shape in zip(sides, shapes, strict=True):
        same = np.array_equal(side.outcomes.get(CLUSTER, ()), sides[0].outcomes.get(CLUSTER, ()))
        if shape != shapes[0] or not same or len(set(shape.values())) != 1:
            raise UserError(
                f"{_name(side)}: its outcomes are of other items than the outcomes of {_name(sides[0])}. "
                "Run both again with overwrite=true."
            )
        try:
            score = formula(side.record["formula"], side.record["spec"]["task"]).score_of(side.outcomes)
        except UserError as error:
            raise UserError(f"{_name(side)}: {error}") from None
        if abs(score - _score(side)) > AGREES:
            raise UserError(
                f"{_name(side)}: its outcomes give {score:.2f}, its record says {_score(side):.2f}. "
                "Run again with overwrite=true."
            )


def _scored_on(side: Scored) -> tuple[object, ...]:
    record, spec = side.record, side.record["spec"]
    data = str((spec["contents"] or {}).get("data", ""))[:12]
    version, protocol = (spec["settings"].get(key) for key in ("task.version", "protocol"))
    return spec["suite"], spec["task"], version, protocol, record["metric"], record["formula"], data


def _score(side: Scored) -> float:
    return side.record["scores"][side.split]["overall"][side.record["metric"]]  # type: ignore[literal-required]


def _name(side: Scored) -> str:
    record, spec = side.record, side.record["spec"]
    return "/".join([spec["suite"], spec["task"], spec["encoder"], record["hash"], f"seed{record['seed']}"])
