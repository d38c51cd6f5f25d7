"""Which runs count as converged: by their epochs, their task's budget, and whether they learned."""

import pytest

from elmo_bench.ledger import Record, learned
from elmo_bench.spec.budget import converged
from elmo_bench.spec.config import compose
from elmo_bench.spec.names import tasks
from elmo_bench.spec.task_files import task_yaml
from tests.ledger.records import make_content


@pytest.mark.parametrize(
    ("expected", "epochs", "given"),
    [
        (True, 32, {}),
        (False, 31, {}),
        (True, 75, {"size": "paper"}),
        (False, 75, {"size": "mine"}),  # nothing was measured for this size
        (False, None, {}),
        (False, 32, {"dev": (32.8, 32.8, 32.8), "best": 32.8}),  # one answer to everything
        (False, 32, {"dev": (0.0, 0.0), "best": 0.0}),
        (True, 32, {"dev": (0.0, 12.5), "best": 12.5}),
        (True, 32, {"dev": (100.0, 100.0), "best": 100.0}),  # nothing is left to learn
        (False, 32, {"dev": (32.8, 32.8), "best": 32.8, "guessed": (9, 0)}),
        (True, 32, {"dev": (98.5, 98.5), "best": 98.5, "guessed": (4, 5)}),  # it learned all that it could at once
    ],
)
def test_a_run_with_its_tasks_budget_is_converged_unless_it_learned_nothing(expected, epochs, given):
    dev = given.get("dev", (55.0, 60.0, 59.0))
    record = make_content(task="ner", settings={"task.training.epochs": epochs}, dev=given.get("best", 60.0))
    record["spec"]["size"] = given.get("size", "cpu")
    if "guessed" in given:
        types = {name: {"guessed": count} for name, count in zip("ab", given["guessed"], strict=True)}
        record["scores"]["dev"]["by_type"] = types
    record["curves"]["dev"] = [*dev]
    run = Record.read(record, "record")
    assert converged(run.spec, learned=learned(run)) is expected


def test_a_default_run_has_its_budget():
    """The paper's budget is what the paper trained."""
    for task in tasks():
        budget = task_yaml(task)["report"]["budget"] or {}
        for size, epochs in budget.items():
            assert compose("config", [f"task={task}", f"size={size}"]).task.training.epochs >= epochs, task
        assert budget.get("paper") == task_yaml(task).get("sizes", {}).get("paper", {}).get("epochs"), task
