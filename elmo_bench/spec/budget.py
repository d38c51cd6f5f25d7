"""Which runs are converged: those with the epochs that were measured to be enough for their task."""

from collections.abc import Mapping
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.spec.config import task_yaml


def converged(record: Mapping[str, Any]) -> bool:
    """Whether a record's run had its task's budget of epochs, and learned something.

    It learned nothing if it scores 0 on dev, or the same after every one of several epochs, below 100: its head gives
    one answer to everything. Raises UserError for a budget that is neither null nor a mapping.
    """
    spec = record["spec"]
    epochs, budget = spec["settings"].get("task.training.epochs"), _budget(spec["task"], spec["size"])
    dev = record["curves"]["dev"]
    stuck = len(dev) > 1 and len(set(dev)) == 1 and dev[0] < 100
    if budget is None or not isinstance(epochs, int) or stuck:
        return False
    return epochs >= budget and record["scores"]["dev"]["overall"][record["metric"]] > 0


def _budget(task: str, size: str) -> int | None:
    """`report.budget` of the task's yaml: epochs by size, or null for a task without epochs; None: not measured."""
    known = task_yaml(task).get("report", {})
    if "budget" not in known:
        return None
    by_size = known["budget"]
    if by_size is None:
        return 1
    if not isinstance(by_size, dict):
        raise UserError(f"conf/task/{task}.yaml: report.budget is {by_size!r:.60}. Give epochs by size: {{cpu: 32}}.")
    found = by_size.get(size)
    return found if isinstance(found, int) else None
