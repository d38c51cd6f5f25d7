"""Hundreds of recorded cases as one test: a test each would take several times as long."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from elmo_bench.base.metric import scores_of
from tests.runs import ROOT


def golden(name: str) -> Any:
    """What tests/golden/NAME.json holds."""
    return json.loads((ROOT / "tests" / "golden" / f"{name}.json").read_text(encoding="utf-8"))


def for_each(cases: Sequence) -> Callable:
    """Make `test(case, folder)` one test over all cases; a failure says which case it was."""

    def decorate(test: Callable) -> Callable:
        def all_cases(tmp_path: Path) -> None:
            assert cases
            for number, case in enumerate(cases):
                try:
                    test(case, tmp_path)
                except BaseException as error:
                    error.add_note(f"golden case {number}")
                    raise

        return all_cases

    return decorate


def score(metric: Any, gold: Sequence[Any], predicted: Sequence[Any]) -> dict[str, Any]:
    """The scores of predictions, as a run computes them."""
    return scores_of(metric, metric.counts(gold, predicted))
