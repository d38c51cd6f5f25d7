"""Which runs count as converged: by their epochs, their task's budget, and whether they learned."""

import pytest

from elmo_bench.spec.config import compose, task_yaml
from elmo_bench.spec.names import tasks
from elmo_bench.spec.run_spec import converged


@pytest.fixture
def ran(make_record):
    """`ran(epochs=…, dev=[…], …)`: whether a run of ner converged, with these dev scores and this setting of epochs."""

    def ran(epochs, *, task="ner", size="cpu", dev=(55.0, 60.0, 59.0), best=60.0):
        record = make_record(task=task, settings={"task.training.epochs": epochs}, dev=best)
        record["spec"]["size"] = size
        return converged(record | {"curves": {**record["curves"], "dev": list(dev)}})

    return ran


@pytest.mark.parametrize(
    ("epochs", "size", "expected"),
    [
        (32, "cpu", True),
        (31, "cpu", False),
        (75, "paper", True),
        (75, "mine", False),  # nothing was measured for this size
        (None, "cpu", False),
    ],
)
def test_a_run_with_its_tasks_budget_is_converged(ran, epochs, size, expected):
    assert ran(epochs, size=size) is expected


@pytest.mark.parametrize(
    ("dev", "best", "expected"),
    [
        ([32.8, 32.8, 32.8], 32.8, False),  # one answer to everything
        ([0.0, 0.0], 0.0, False),
        ([0.0, 12.5], 12.5, True),
        ([100.0, 100.0], 100.0, True),  # nothing is left to learn
    ],
)
def test_unless_it_learned_nothing(ran, dev, best, expected):
    assert ran(32, dev=dev, best=best) is expected


@pytest.mark.parametrize("task", tasks())
def test_a_default_run_has_its_budget(task):
    """The paper's budget is what the paper trained."""
    budget = task_yaml(task)["report"]["budget"] or {}
    for size, epochs in budget.items():
        assert compose("config", [f"task={task}", f"size={size}"]).task.training.epochs >= epochs
    assert budget.get("paper") == task_yaml(task).get("sizes", {}).get("paper", {}).get("epochs")
