"""The epochs and steps of a run; whether it had those that its task needs, and learned
something."""

from collections.abc import Mapping
from math import ceil
from typing import Any

from elmo_bench.spec.settings import QUICK
from elmo_bench.spec.task_files import FLOOR, head_choice, task_yaml

EPOCHS = "task.training.epochs"
LEAST = "task.training.least_steps"
FIFTH = 5  # a quick run has one part in so many


def epochs_of(spec: Any) -> int:
    """How many epochs a run has at most.

    spec: a RunSpec or a record's. A quick run has a fifth of its setting, rounded up;
    a floor, which takes seconds, has all.
    """
    return int(_part(spec, spec.settings[EPOCHS]))


def default_epochs(task: str, size: str) -> int:
    """The epochs of the default run of a task, which are its budget; 1 without one."""
    report = task_yaml(task, head_choice(task, None)).get("report", {})
    return _budget(report, size) or 1


def least_steps_of(spec: Any) -> int | None:
    """The least steps of all epochs together, of a quick run a fifth; None without."""
    steps = spec.settings.get(LEAST)
    return None if steps is None else _part(spec, steps)


def readings(spec: Any, examples: int) -> int:
    """How often an epoch reads its training examples.

    Usually once. With task.training.least_steps, so often that all epochs together have
    these steps. With data.least_steps, so often that an epoch on a fraction has these
    steps, or as many as one on the whole split.
    """
    settings = spec.settings
    least = least_steps_of(spec)
    if least is not None:
        in_all_epochs = epochs_of(spec) * examples
        return max(1, ceil(least * settings["task.training.batch"] / in_all_epochs))
    least = settings.get("data.least_steps")
    if least is None:
        return 1
    whole = max(1, round(1 / settings["data.train_fraction"]))
    return min(ceil(least * settings["task.training.batch"] / examples), whole)


def steps_of(spec: Any, examples: int) -> int:
    """About how many training steps a run has; more if its texts are long."""
    of_epoch = readings(spec, examples) * examples
    return epochs_of(spec) * ceil(of_epoch / spec.settings["task.training.batch"])


def _part(spec: Any, whole: int) -> int:
    if not spec.settings.get(QUICK):
        return whole
    head = head_choice(spec.task, spec.settings.get("task.head.name"))
    return whole if head == FLOOR else ceil(whole / FIFTH)


def converged(spec: Any, *, learned: bool) -> bool:
    """Whether a run had its task's budget of epochs, and learned something.

    spec: a RunSpec or a record's. learned: `ledger.learned` of its record.

    The budget is `report.budget` of the yaml of its task and head: epochs by size, or
    null without epochs; no run of a task without the key is converged.
    """
    head = head_choice(spec.task, spec.settings.get("task.head.name"))
    task = task_yaml(spec.task, head)
    training = task.get("training", {})
    steps = spec.settings.get(LEAST)
    if spec.settings.get(QUICK):
        return False
    if training.get("least_steps") and steps is None:
        return False  # data of the user's own, on which epochs may have few steps
    budget = _budget(task.get("report", {}), spec.size)
    epochs = spec.settings.get(EPOCHS)
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
