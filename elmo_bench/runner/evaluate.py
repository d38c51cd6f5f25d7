"""Step 3 of a run: score its best epoch on dev, and then, once, on test."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elmo_bench.runner.prepare import Prepared
from elmo_bench.runner.train import Trained, fill


@dataclass(frozen=True)
class Evaluated:
    """What the record says of the two splits."""

    scores: dict[str, Any]  # {"dev": …, "test": …}, as the metric reports them
    outcomes: dict[str, Any]  # of the test split, by example


def evaluate(prepared: Prepared, trained: Trained, work: Path) -> Evaluated:
    """Score dev, then test. With predictions=true, write the predictions to `work`."""
    dev = _score(prepared, trained, "dev", work)
    fill(trained, prepared, "test")
    test = _score(prepared, trained, "test", work)
    module = trained.module
    return Evaluated({"dev": dev, "test": test}, module.metric.outcomes(module.gold["test"], module.predictions))


def _score(prepared: Prepared, trained: Trained, split: str, work: Path) -> dict[str, Any]:
    assert trained.trainer is not None
    run = trained.trainer.validate if split == "dev" else trained.trainer.test
    run(trained.module, dataloaders=trained.loaders.loader(split), verbose=False)
    if prepared.config.predictions:
        path = work / f"{split}.predictions{prepared.data.ending}"
        prepared.data.write(path, prepared.splits[split], trained.module.predictions)
    return trained.module.scores
