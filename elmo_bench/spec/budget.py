"""Whether a run had the epochs that its task needs, and learned something."""

from collections.abc import Mapping
from typing import Any

from elmo_bench.spec.task_files import head_choice, task_yaml


def converged(record: Any) -> bool:
    """Whether the run of a `ledger.Record` had its task's budget of epochs, and learned
    something.

    The budget is `report.budget` of the yaml of its task and head: epochs by size, or
    null without epochs; no run of a task without the key is converged.
    """
    spec = record.spec
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
    return epochs >= budget and learned(record)


def _budget(report: Mapping[str, Any], size: str) -> Any:
    """The least epochs of a converged run; None if there is no budget.

    report: of the yaml of its task and head.
    """
    budget = report.get("budget", {})
    if budget is None:  # a task without epochs
        return 1
    return budget.get(size) if isinstance(budget, dict) else None


def learned(record: Any) -> bool:
    """Whether a run learned something.

    It did not if it scores 0 on dev, or the same after every one of several epochs
    while its head gives one answer to everything, as far as the scores by type show.
    """
    curve = record.curves.dev
    scores = record.scores.dev
    answers = 0
    for counts in scores.by_type.values():
        if any(counts.get(key) for key in ("correct", "guessed", "excess")):
            answers += 1
    is_flat = len(curve) > 1 and len(set(curve)) == 1 and curve[0] < 100
    if is_flat and answers < 2:
        return False
    return scores.overall[record.metric] > 0
