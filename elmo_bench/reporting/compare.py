"""The paired test of two systems on one task, after checking that they can be compared."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from elmo_bench.base.errors import UserError
from elmo_bench.ledger import Brief, RunPaths, read_outcomes
from elmo_bench.reporting.formulas import Outcomes, formula
from elmo_bench.reporting.significance import ROUNDS, mcnemar, randomisation

AGREES = 0.01  # percentage points between the record's score and its outcomes; some outcomes are rounded


class Scored(NamedTuple):
    """A record and its outcomes."""

    record: Brief
    outcomes: Outcomes


class Tested(NamedTuple):
    """The result of a paired test."""

    name: str  # randomisation or McNemar
    p: float  # two-sided, not adjusted for other tests
    items: int  # what the test swaps: sentences, questions or documents, as the task keeps its outcomes


def with_outcomes(ledger: Path, records: Iterable[Brief]) -> list[Scored]:
    """Records with their outcomes. Raises UserError if outcomes are missing or damaged."""
    return [Scored(record, read_outcomes(RunPaths.of(ledger, record))) for record in records]


def paired_test(ours: Sequence[Scored], theirs: Sequence[Scored], *, rounds: int = ROUNDS, seed: int = 0) -> Tested:
    """Test two systems on test items, each given as the seeds of one run; they have a seed in common.

    `seed` is the random seed of the test: the same arguments give the same p. Raises UserError if the two were not
    scored on the same data with the same metric, and if outcomes do not add up to the score of their record.
    """
    pairs = _pairs(ours, theirs)
    for one, other in pairs:
        _check_same_data(one, other)
    _check_items([side for pair in pairs for side in pair])
    how = formula(pairs[0][0].record["formula"])
    left, right = (np.stack([how.counts_of(side.outcomes) for side in sides]) for sides in zip(*pairs, strict=True))
    if how.binary and len(pairs) == 1:
        return Tested("McNemar", mcnemar(left[0, :, 0], right[0, :, 0]), left.shape[1])
    return Tested("randomisation", randomisation(left, right, how.score, rounds=rounds, seed=seed), left.shape[1])


def _pairs(ours: Sequence[Scored], theirs: Sequence[Scored]) -> list[tuple[Scored, Scored]]:
    sides = [{scored.record["seed"]: scored for scored in side} for side in (ours, theirs)]
    if [len(side) for side in sides] != [len(ours), len(theirs)]:
        raise ValueError("two records of one seed; give the seeds of one run")
    return [(sides[0][seed], sides[1][seed]) for seed in sorted(sides[0].keys() & sides[1].keys())]


def _check_same_data(one: Scored, other: Scored) -> None:
    """Items of two runs can be paired only if all of this is equal."""
    names = ("suite", "task", "task version", "metric", "formula", "data")
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
        if shape != shapes[0] or len(set(shape.values())) != 1:
            raise UserError(
                f"{_name(side)}: its outcomes are of other items than the outcomes of {_name(sides[0])}. "
                "Run both again with overwrite=true."
            )
        try:
            score = formula(side.record["formula"]).score_of(side.outcomes)
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
    version = spec["settings"].get("task.version")
    return spec["suite"], spec["task"], version, record["metric"], record["formula"], data


def _score(side: Scored) -> float:
    return side.record["scores"]["test"]["overall"][side.record["metric"]]


def _name(side: Scored) -> str:
    record, spec = side.record, side.record["spec"]
    return "/".join([spec["suite"], spec["task"], spec["encoder"], record["hash"], f"seed{record['seed']}"])
