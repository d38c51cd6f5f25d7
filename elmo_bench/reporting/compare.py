"""Two systems on one task: how large the gain is, how sure it is, and what the certainty is about."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from elmo_bench.base.errors import UserError
from elmo_bench.ledger import Record, RunPaths, read_outcomes
from elmo_bench.reporting.formulas import Outcomes, formula
from elmo_bench.reporting.significance import ROUNDS, holm, mcnemar, randomisation
from elmo_bench.reporting.statistics import Summary, relative_reduction, summarise

ALPHA = 0.05
AGREES = 0.01  # percentage points between the record's score and its outcomes; some outcomes are rounded
RANDOMISATION, MCNEMAR = "approximate randomisation", "McNemar"


class Scored(NamedTuple):
    """A record and its outcomes."""

    record: Record
    outcomes: Outcomes


@dataclass(frozen=True)
class Comparison:
    """Ours against theirs on test, over the seeds that both have; scores in percent."""

    ours: Summary
    theirs: Summary
    gain: Summary  # ours - theirs, seed by seed
    test: str  # RANDOMISATION or MCNEMAR
    p: float  # two-sided, of this test alone
    items: int  # what the test swaps: sentences, questions or documents, as the task keeps its outcomes
    seeds: tuple[int, ...]
    p_holm: float | None = None  # adjusted for the tests of its family, after `adjusted`

    @property
    def reduction(self) -> float | None:
        """Relative error reduction of the means in percent; None if the baseline makes no errors."""
        return relative_reduction(self.ours.mean, self.theirs.mean)

    @property
    def verdict(self) -> str:
        """ahead, behind or tie at α = 0.05, by the adjusted p if there is one."""
        p = self.p if self.p_holm is None else self.p_holm
        if p > ALPHA:
            return "tie"
        return "ahead" if self.gain.mean > 0 else "behind"


def with_outcomes(ledger: Path, records: Iterable[Record]) -> list[Scored]:
    """Records with their outcomes. Raises UserError if outcomes are missing or damaged."""
    return [Scored(record, read_outcomes(RunPaths.of(ledger, record))) for record in records]


def compare(
    ours: Sequence[Scored], theirs: Sequence[Scored], *, rounds: int = ROUNDS, seed: int = 0
) -> Comparison | None:
    """Compare two systems, each given as the seeds of one run; None if they have no seed in common.

    `seed` is the random seed of the test: the same arguments give the same p. Raises UserError if the two were not
    scored on the same data with the same metric, and if outcomes do not add up to the score of their record.
    """
    pairs = _pairs(ours, theirs)
    if not pairs:
        return None
    for one, other in pairs:
        _check_same_data(one, other)
    _check_items([side for pair in pairs for side in pair])
    how = formula(pairs[0][0].record["formula"])
    left, right = (np.stack([how.counts_of(side.outcomes) for side in sides]) for sides in zip(*pairs, strict=True))
    if how.binary and len(pairs) == 1:
        test, p = MCNEMAR, mcnemar(*(side.outcomes["correct"] for side in pairs[0]))
    else:
        test, p = RANDOMISATION, randomisation(left, right, how.score, rounds=rounds, seed=seed)
    scores = [[_score(side) for side in sides] for sides in zip(*pairs, strict=True)]
    return Comparison(
        ours=summarise(scores[0]),
        theirs=summarise(scores[1]),
        gain=summarise(one - other for one, other in zip(*scores, strict=True)),
        test=test,
        p=p,
        items=left.shape[1],
        seeds=tuple(one.record["seed"] for one, _ in pairs),
    )


def adjusted(family: Sequence[Comparison]) -> list[Comparison]:
    """The comparisons of one family, in the same order, each p adjusted for all of them."""
    return [
        replace(comparison, p_holm=p)
        for comparison, p in zip(family, holm([comparison.p for comparison in family]), strict=True)
    ]


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
