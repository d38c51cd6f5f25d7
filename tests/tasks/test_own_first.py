"""The user's data before a run: a mistake is one message, found before any process and before torch."""

import random
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.base.metric import encoded
from elmo_bench.base.notes import noted
from elmo_bench.ledger import joined
from elmo_bench.ledger.store import packed_size
from elmo_bench.runner import outcome_size
from elmo_bench.runner.first_look import read_own_data
from elmo_bench.runner.plan import plan
from elmo_bench.spec.names import task_class
from tests.tasks.test_own_tasks import CLASSES
from tests.text.test_own_data import table, write


def test_an_unknown_way_with_alike_labels_is_refused(refused, tmp_path):
    path = write(tmp_path / "x.csv", "text,label\na,b\n")
    assert "data.alike=x: unknown. Give merge, or nothing." in refused(
        "texts", tmp_path / "t", *CLASSES, f"data.file={path}", "data.alike=x"
    )
    assert "data.alike: task=tagging has no such column." in refused(
        "texts", tmp_path / "t", "task=tagging", "encoder=none", f"data.file={path}", "data.alike=merge"
    )


def test_merged_labels_are_merged_in_new_text_too(tmp_path):
    data = task_class("classification", "data")(alike="merge")
    examples = data.read_file(Path(write(tmp_path / "x.csv", "text,label\na,Good \nb,GOOD\nc,\n")))
    assert [each.gold for each in examples] == ["good", "good", None]


@pytest.mark.parametrize("column", ["text", "label"])
def test_a_sweep_reads_the_file_once_and_before_any_process(tmp_path, monkeypatch, refused, column):
    """One message for nine runs, and no folder of logs, which the first process would need."""
    path = write(tmp_path / "x.csv", table([(f"t {n}", "ab"[n % 2]) for n in range(40)], "text", "label"))
    monkeypatch.chdir(tmp_path)
    options = [
        "task=classification",
        f"data.file={path}",
        f"data.{column}=body",
        "encoder=none,glove,elmo",
        "seed=0,1,2",
    ]
    said = refused("sweep", *options)
    assert said.count("no column 'body'. The columns are text, label.") == 1
    assert not (tmp_path / "results").exists()


def test_equal_data_of_a_sweep_are_read_once(tmp_path, monkeypatch):
    path = write(tmp_path / "x.csv", table([(f"t {n}", "ab"[n % 2]) for n in range(40)], "text", "label"))
    (tmp_path / "more").mkdir()
    other = write(tmp_path / "more" / "x.csv", table([(f"u {n}", "ab"[n % 2]) for n in range(40)], "text", "label"))
    runs = plan(["task=classification", f"data.file={path},{other}", "encoder=none,glove", "seed=0,1"]).runs
    read_paths = []
    original = task_class("classification", "data").read_rows
    monkeypatch.setattr(task_class("classification", "data"), "read_rows",
                        lambda data, path: read_paths.append(str(path)) or original(data, path))  # fmt: skip
    with noted() as notes:
        read_own_data(runs)
    assert read_paths == [str(path), str(other)]
    assert any(each.startswith("2 labels: ") for each in notes)


def test_missing_own_files_are_named_before_torch_is_imported(tmp_path):
    """And before NLTK is, which takes as long."""
    code = (
        "import sys; from elmo_bench.__main__ import main; "
        "code = main(['run', 'task=classification', 'data.file=nope.csv', 'encoder=none']); "
        "print(code, {'torch', 'nltk'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "2 set()"
    assert "nope.csv: no such file" in done.stderr


SPLITS = {  # task: the gold of 60 examples
    "classification": [f"label {n % 7}" for n in range(60)],
    "pairs": ["ab"[n % 2] for n in range(60)],
    "tagging": [("B-P", "I-P", "O", "B-L") for _ in range(60)],
}


@pytest.mark.parametrize("task", SPLITS)
@pytest.mark.parametrize(("most", "always", "refused"), [(600, 10, True), (100_000, 10, False), (600, 10_000, False)])
def test_outcomes_that_no_record_holds_are_refused_before_training(monkeypatch, task, most, always, refused):
    monkeypatch.setattr(outcome_size, "MAX_OUTCOME_BYTES", most)
    monkeypatch.setattr(outcome_size, "ALWAYS_FIT", always)
    examples = [SimpleNamespace(gold=gold) for gold in SPLITS[task]]
    splits = {"train": [], "dev": examples[:20], "test": examples[20:]}
    if not refused:
        outcome_size.check_outcomes_fit(task, splits)
        return
    with pytest.raises(UserError, match=r"dev and test: 60 examples with \d+ labels, whose outcomes a record cannot"):
        outcome_size.check_outcomes_fit(task, splits)


def test_outcomes_of_suites_are_not_looked_at(monkeypatch):
    monkeypatch.setattr(outcome_size, "ALWAYS_FIT", 0)
    monkeypatch.setattr(outcome_size, "MAX_OUTCOME_BYTES", 0)
    examples = [SimpleNamespace(gold=("O", "O"))]
    outcome_size.check_outcomes_fit("ner", {"dev": examples, "test": examples})


def test_guesses_half_at_random_pack_no_better_than_those_of_a_head():
    """So that a file that is accepted can be written after training."""
    rng = random.Random(0)
    gold = [f"label {rng.randrange(50)}" for _ in range(4000)]
    metric = task_class("classification", "metric")()

    def size(guesses):
        return packed_size(joined({"dev": {}, "test": encoded(metric.counts(gold, guesses))}))

    measured = size(outcome_size.half_at_random([SimpleNamespace(gold=label) for label in gold]))
    assert measured < 8 * len(gold)
    for right in (1.0, 0.9, 0.8, 0.6, 0.5, 0.4, 0.2, 0.0):
        guesses = [label if rng.random() < right else f"label {rng.randrange(50)}" for label in gold]
        assert size(guesses) < outcome_size.MARGIN * measured
