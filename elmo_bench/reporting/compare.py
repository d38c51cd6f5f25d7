"""Two systems on one task: how large the gain is, how sure, and what that certainty is about."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from elmo_bench.base.errors import UserError
from elmo_bench.ledger import Record, RunPaths, read_outcomes
from elmo_bench.reporting.formulas import Outcomes, formula_of, score_of
from elmo_bench.reporting.holm import holm
from elmo_bench.reporting.interval import interval, relative_reduction
from elmo_bench.reporting.mcnemar import mcnemar
from elmo_bench.reporting.randomisation import ROUNDS, randomisation
from elmo_bench.reporting.statistics import Summary, summarise

ALPHA = 0.05
AGREES = 0.01  # percentage points between the record's score and that of its outcomes; some outcomes are rounded
RANDOMISATION, MCNEMAR = "approximate randomisation", "McNemar"
COVERS = """\
- p says whether these trained systems would differ on other test items of the same kind: a paired test over the items,
  swapped between the systems in all seeds together (approximate randomisation; McNemar's exact test where there is one
  seed and an item is right or wrong). It says nothing about other seeds.
- The interval (95 %, Student's t) says where the mean gain would lie over other seeds, on these very test items, from
  the differences seed by seed; one seed has none. It says nothing about other items.
- p is adjusted (Holm) for the tests that it stands among: those of one experiment over all tasks, in “All runs” those
  of one task; so a pair has another p where it stands among others. Above 0.05 the two are a tie: no difference was
  shown, which does not show that there is none."""


class Scored(NamedTuple):
    """A record and the outcomes beside it."""

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
    items: int  # what the test swaps: sentences, questions, documents, as the task keeps its outcomes
    seeds: tuple[int, ...]
    p_holm: float | None = None  # adjusted for the table's tests, where `adjusted` did so

    @property
    def interval(self) -> tuple[float, float] | None:
        """Of the mean gain, over seeds; None for one seed."""
        return interval(self.gain)

    @property
    def reduction(self) -> float | None:
        """Relative error reduction of the means in percent; None where the baseline makes no errors."""
        return relative_reduction(self.ours.mean, self.theirs.mean)

    @property
    def verdict(self) -> str:
        """ahead, behind or tie at α = 0.05, by the adjusted p where there is one."""
        p = self.p if self.p_holm is None else self.p_holm
        if p > ALPHA:
            return "tie"
        return "ahead" if self.gain.mean > 0 else "behind"


def with_outcomes(ledger: Path, records: Iterable[Record]) -> list[Scored]:
    """Records with what lies beside them; raises UserError where it is missing or damaged."""
    return [Scored(record, read_outcomes(RunPaths.of(ledger, record))) for record in records]


def compare(
    ours: Sequence[Scored], theirs: Sequence[Scored], *, rounds: int = ROUNDS, seed: int = 0
) -> Comparison | None:
    """Compare two systems, each given as the seeds of one run; None where they have no seed in common.

    `seed` is the test's own: the same arguments give the same p. Raises UserError where the two were not scored on the
    same data with the same metric, and where outcomes do not amount to the score of their record.
    """
    pairs = _pairs(ours, theirs)
    if not pairs:
        return None
    for one, other in pairs:
        _check_same_data(one, other)
    _check_items([side for pair in pairs for side in pair])
    formula = formula_of(pairs[0][0].outcomes)
    left, right = (np.stack([formula.counts(side.outcomes) for side in sides]) for sides in zip(*pairs, strict=True))
    if formula.binary and len(pairs) == 1:
        test, p = MCNEMAR, mcnemar(*(side.outcomes["correct"] for side in pairs[0]))
    else:
        test, p = RANDOMISATION, randomisation(left, right, formula.score, rounds=rounds, seed=seed)
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


def adjusted(table: Sequence[Comparison]) -> list[Comparison]:
    """The comparisons of one table, in the same order, each with its p adjusted for all of them."""
    return [
        replace(comparison, p_holm=p)
        for comparison, p in zip(table, holm([comparison.p for comparison in table]), strict=True)
    ]


def _pairs(ours: Sequence[Scored], theirs: Sequence[Scored]) -> list[tuple[Scored, Scored]]:
    sides = [{scored.record["seed"]: scored for scored in side} for side in (ours, theirs)]
    if [len(side) for side in sides] != [len(ours), len(theirs)]:
        raise ValueError("two records of one seed; give the seeds of one run")
    return [(sides[0][seed], sides[1][seed]) for seed in sorted(sides[0].keys() & sides[1].keys())]


def _check_same_data(one: Scored, other: Scored) -> None:
    """Pairing the items of two runs makes sense where these agree; the overrides of the two may differ."""
    names = ("suite", "task", "task version", "metric", "data")
    for name, left, right in zip(names, _scored_on(one), _scored_on(other), strict=True):
        if left != right:
            raise UserError(
                f"{_name(one)} against {_name(other)}: {name} {left} and {right}; "
                "compare runs on the same data and metric"
            )


def _check_items(sides: Sequence[Scored]) -> None:
    """The outcomes are of the same items, and amount to the scores."""
    shapes = [{name: len(values) for name, values in side.outcomes.items()} for side in sides]
    for side, shape in zip(sides, shapes, strict=True):
        if shape != shapes[0] or len(set(shape.values())) != 1:
            raise UserError(
                f"{_name(side)}: its outcomes are not of the same items as those of {_name(sides[0])}; "
                "run both again with overwrite=true"
            )
        amount = score_of(side.outcomes)
        if abs(amount - _score(side)) > AGREES:
            raise UserError(
                f"{_name(side)}: its outcomes amount to {amount:.2f} where the record says {_score(side):.2f}; "
                "run again with overwrite=true"
            )


def _scored_on(side: Scored) -> tuple[object, ...]:
    record = side.record
    version = record["identity"]["contents"].get("task_version")
    return record["suite"], record["task"], version, record["metric"], record["data"]["fingerprint"][:12]


def _score(side: Scored) -> float:
    return side.record["scores"]["test"]["overall"][side.record["metric"]]


def _name(side: Scored) -> str:
    record = side.record
    return "/".join([record["suite"], record["task"], record["encoder"], record["hash"], f"seed{record['seed']}"])
