"""Whether a run had the epochs that its task needs, and learned something."""

from collections.abc import Mapping
from typing import Any

from elmo_bench.spec.task_files import head_choice, task_yaml


def converged(spec: Any, *, learned: bool) -> bool:
    """Whether a run had its task's budget of epochs, and learned something.

    spec: a RunSpec or a record's. learned: `ledger.learned` of its record.

    The budget is `report.budget` of the yaml of its task and head: epochs by size, or
    null without epochs; no run of a task without the key is converged.
    """
    head = head_choice(spec.task, spec.settings.get("task.head.name"))
    task = task_yaml(spec.task, head)
    training = task.get("training", {})
    steps = spec.settings.get("task.training.least_steps")
    if training.get("least_steps") and steps is None:
        return False  # data of the user's own, on which epochs may have few steps
    budget = _budget(task.get("report", {}), spec.size)
    epochs = spec.settings.get("task.training.epochs")
    if not isinstance(budget, int) or not isinstance(epochs, int):
        return False
    return epochs >= budget and learned


def _budget(report: Mapping[str, Any], size: str) -> Any:
    """The least epochs of a converged run; None if there is no budget.

    report: of the yaml of its task and head.
    """
    budget = report.get("budget", {})
    if budget is None:  # a task without epochs
        return 1
    return budget.get(size) if isinstance(budget, dict) else None
