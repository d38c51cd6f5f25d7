"""The formula that a record names, found in the metrics of the installed tasks (`elmo_bench/base/formula.py`)."""

import importlib
from collections.abc import Iterator
from pathlib import Path

from elmo_bench.base.errors import UserError
from elmo_bench.base.formula import Formula, Outcomes

__all__ = ["AGREES", "Formula", "Outcomes", "formula"]

AGREES = 0.01  # percentage points between a score and its outcomes; some outcomes are rounded


def formula(name: str, task: str = "") -> Formula:
    """The formula of this name: of this task, else of any task in the installation or in `--include` folders.

    Raises UserError if there is none.
    """
    for each in _formulas(task):
        if each.name == name:
            return each
    raise UserError(
        f"formula {name}: no task here has it, so outcomes cannot be tested. Give the folder of the task: "
        "--include FOLDER."
    )


def _formulas(first: str) -> Iterator[Formula]:
    """The formulas of all metrics, those of one task first. Modules are imported by name: tasks import the ledger."""
    folders = importlib.import_module("elmo_bench.tasks").__path__
    tasks = sorted({path.parent.name for folder in folders for path in Path(folder).glob("*/metric.py")})
    for task in sorted(tasks, key=lambda task: task != first):
        metric = getattr(importlib.import_module(f"elmo_bench.tasks.{task}.metric"), "Metric", None)
        if isinstance(own := getattr(metric, "formula", None), Formula):  # `task_class` refuses a metric without one
            yield own
