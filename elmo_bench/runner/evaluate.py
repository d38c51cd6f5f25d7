"""Step 3 of a run: score its best epoch on dev, and then, once, on test."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from elmo_bench import ledger
from elmo_bench.base.errors import UserError
from elmo_bench.ledger.formulas import AGREES, formula
from elmo_bench.runner.prepare import Prepared
from elmo_bench.runner.train import Trained, fill
from elmo_bench.runner.units import marks_of
from elmo_bench.training.contracts import Metric


@dataclass(frozen=True)
class Evaluated:
    """What the record says of the two splits."""

    scores: dict[str, Any]  # {"dev": …, "test": …}, as the metric reports them
    outcomes: dict[str, np.ndarray]  # of both splits, as `ledger.joined` gives them


def evaluate(prepared: Prepared, trained: Trained, work: Path) -> Evaluated:
    """Score dev, then test. With predictions=true, write the predictions to `work`.

    Raises UserError if a metric's outcomes do not add up to its score.
    """
    scores, outcomes = {}, {}
    for split in ("dev", "test"):
        if split == "test":
            fill(trained, prepared, "test")
        scores[split] = _score(prepared, trained, split, work)
        counted = trained.module.metric.outcomes(trained.module.gold[split], trained.module.predictions)
        check_outcomes(trained.module.metric, scores[split], counted, prepared.spec.task)
        outcomes[split] = counted | _known(prepared, trained, split, counted)
    return Evaluated(scores, ledger.joined(outcomes))


def check_outcomes(metric: Metric, scores: dict[str, Any], outcomes: dict[str, np.ndarray], task: str) -> None:
    """Raises UserError if the outcomes of a split do not add up to its score, by the formula that the metric names."""
    how, said = formula(metric.formula), scores["overall"][metric.main]
    if lacking := [name for name in how.outcomes if name not in outcomes]:
        raise UserError(f"task={task}: Metric.outcomes has no {', '.join(lacking)}, which {metric.formula} sums.")
    if abs((found := how.score_of(outcomes)) - said) > AGREES:
        raise UserError(
            f"task={task}: by {metric.formula}, Metric.outcomes add up to {found:.2f}; Metric.score says {said:.2f}."
        )


def _known(prepared: Prepared, trained: Trained, split: str, counted: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What is known of the examples beside what the metric counted. Raises UserError if two of these share a name."""
    module, examples = trained.module, prepared.splits[split]
    known = _clusters(examples) | marks_of(examples)
    known |= prepared.rare.outcomes(prepared.data, module.metric, examples, module.predictions, counted)
    if wrong := [name for name in counted if name in known or ("." in name and not name.startswith(ledger.TYPE))]:
        raise UserError(
            f"task={prepared.spec.task}: Metric.outcomes has {wrong[0]}: give it another name, without a dot."
        )
    return known


def _clusters(examples: Sequence[Any]) -> dict[str, np.ndarray]:
    """CLUSTER numbers the groups of examples in the order of their first example, where there are some."""
    groups = [getattr(example, "group", None) for example in examples]
    if None in groups:
        return {}
    numbers = {group: number for number, group in enumerate(dict.fromkeys(groups))}
    return {ledger.CLUSTER: np.array([numbers[group] for group in groups])}


def _score(prepared: Prepared, trained: Trained, split: str, work: Path) -> dict[str, Any]:
    assert trained.trainer is not None
    run = trained.trainer.validate if split == "dev" else trained.trainer.test
    run(trained.module, dataloaders=trained.loaders.loader(split), verbose=False)
    if prepared.config.predictions:
        path = work / f"{split}.predictions{prepared.data.ending}"
        prepared.data.write(path, prepared.splits[split], trained.module.predictions)
    return trained.module.scores
