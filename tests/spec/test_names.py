"""A task that lacks a part, or gives what no run can use: one line for whoever writes it."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from elmo_bench.base.errors import UserError
from elmo_bench.base.include import folders
from elmo_bench.runner.data import read_splits
from elmo_bench.runner.evaluate import check_outcomes
from elmo_bench.spec.names import task_class
from elmo_bench.text.figures import ACCURACY
from elmo_bench.text.token_labels import TOKEN_ACCURACY
from elmo_bench.training.module import HeadTraining
from tests.runs import described


@pytest.fixture
def task(tmp_path, monkeypatch):
    """A folder of a task's modules, which `elmo_bench.tasks` has."""
    import elmo_bench.tasks

    name = f"task_{tmp_path.name.replace('-', '_')}"
    (tmp_path / name).mkdir()
    (tmp_path / name / "data.py").write_text("class Data:\n    schema = ending = read = files = canonical = None\n")
    monkeypatch.setattr(elmo_bench.tasks, "__path__", [*elmo_bench.tasks.__path__, str(tmp_path)])
    assert folders == []
    return tmp_path / name


def test_a_missing_module_class_and_member_are_named(task):
    (task / "metric.py").write_text("class Accuracy:\n    pass\n")
    for part, said in (
        ("head", "no class Head in its head.py"),
        ("metric", "no class Metric in its metric.py"),
        ("data", "class Data in its data.py has no vocabulary, read_file, write"),
    ):
        with pytest.raises(UserError, match=said):
            task_class(task.name, part)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"dev": []}, "gives no dev examples"),
        ({"test": [SimpleNamespace(texts=("word", "word"))]}, "not a tuple of tuples of words"),
    ],
)
def test_splits_that_no_run_can_use(changed, said):
    one = [SimpleNamespace(texts=(("word",),))]
    data = SimpleNamespace(read=lambda suite, root: {"train": one, "dev": one, "test": one} | changed)
    with pytest.raises(UserError, match=said):
        read_splits(data, *described())


class Task:
    """A head and a metric of one number."""

    main = "f1"
    embedder = SimpleNamespace(regularisation=lambda: 0)

    def __init__(self, loss=0, found=(), scores=None):
        self.loss, self.predict = lambda batch: loss, lambda batch: found
        self.score = lambda gold, predicted: scores

    def training(self):
        module = HeadTraining(None, self, {}, {"dev": ["a", "b"]})  # type: ignore[arg-type]
        module.head = self
        return module


@pytest.mark.parametrize("found", [["a"], torch.tensor([1, 2])])
def test_predictions_that_are_no_list_of_one_an_example(found):
    with pytest.raises(UserError, match=r"^Head\.predict: (1 predictions|a Tensor) for 2 examples"):
        Task(found=found).training().validation_step({"numbers": [0, 1]}, 0)


def test_a_loss_and_scores_of_another_shape():
    with pytest.raises(UserError, match=r"^Head\.loss: a tensor of shape \[3\]"):
        Task(loss=torch.ones(3)).training().objective({})
    module = Task(found=["a", "b"], scores={"overall": {"acc": 1.0}}).training()
    module.validation_step({"numbers": [0, 1]}, 0)
    with pytest.raises(UserError, match=r"^Metric\.score: no 'f1' under 'overall'"):
        module.on_validation_epoch_end()


@pytest.mark.parametrize(
    ("how", "outcomes", "said"),
    [
        (TOKEN_ACCURACY, {"correct": [1, 0]}, r"Metric\.outcomes has no tokens, which token-accuracy sums\.$"),
        (ACCURACY, {"correct": [1, 1]}, r"Metric\.outcomes add up to 100\.00; Metric\.score says 50\.00\.$"),
    ],
)
def test_outcomes_that_do_not_add_up_to_the_score(how, outcomes, said):
    metric: Any = SimpleNamespace(main="f1", formula=how)
    arrays = {name: np.array(values) for name, values in outcomes.items()}
    with pytest.raises(UserError, match=said):
        check_outcomes(metric, {"overall": {"f1": 50.0}}, arrays, "mine")
