"""A task that lacks a part, or gives examples that no run can use: one line for whoever writes it."""

from types import SimpleNamespace

import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.base.include import folders
from elmo_bench.runner.data import read_splits
from elmo_bench.spec.names import task_class
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
        ({"test": [SimpleNamespace(texts=("word", "word"), gold=1)]}, "not a tuple of tuples of words"),
        ({"train": [SimpleNamespace(texts=(("word",),))]}, "train, example 1: it has no gold"),
    ],
)
def test_splits_that_no_run_can_use(changed, said):
    one = [SimpleNamespace(texts=(("word",),), gold=1)]
    data = SimpleNamespace(read=lambda suite, root: {"train": one, "dev": one, "test": one} | changed)
    with pytest.raises(UserError, match=said):
        read_splits(data, *described())
