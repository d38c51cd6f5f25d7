"""What every task's data promises: the same generated examples everywhere, and a canonical form that is JSON."""

import hashlib
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from elmo_bench.spec.config import task_yaml
from elmo_bench.spec.names import tasks

ROOT = Path(__file__).parents[2]

# SHA-256 of the mini suite's canonical JSON, its first 12 digits: a change of the generator, or of the schema without a
# new name, changes the hash of every run on it.
DIGESTS = {
    "coref": "36fefc20993a",
    "deprel": "d814cdc18748",
    "ner": "72b2d3c16995",
    "pos": "c591c4df9244",
    "snli": "0044250d2056",
    "squad": "6b38ae6a5c92",
    "srl": "17228a140aad",
    "sst5": "7bc53b212136",
    "wsd": "59b93ce14a2b",
}


def digest(task: str) -> str:
    options = {name: value for name, value in task_yaml(task)["data"].items() if not name.startswith("_")}
    data = importlib.import_module(f"elmo_bench.tasks.{task}.data").Data(**options)
    assert data.files("mini", None) == []
    read = data.read("mini", None)
    splits = {split: [data.canonical(example) for example in read[split]] for split in ("train", "dev", "test")}
    assert data.schema.startswith(f"{task}-")
    return hashlib.sha256(json.dumps(splits, sort_keys=True, separators=(",", ":")).encode()).hexdigest()[:12]


@pytest.mark.parametrize("task", tasks())
def test_the_mini_suite_is_that_of_the_records(task):
    assert digest(task) == DIGESTS[task]


@pytest.mark.slow
def test_the_mini_suites_need_no_torch_and_are_the_same_with_another_hash_seed():
    code = (
        "import json, sys; from tests.tasks.test_contracts import digest, tasks\n"
        "print(json.dumps([{task: digest(task) for task in tasks()}, 'torch' in sys.modules]))"
    )
    environment = {"PATH": os.environ["PATH"], "PYTHONHASHSEED": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [DIGESTS, False]


@pytest.mark.parametrize("task", tasks())
def test_a_seed_changes_the_generated_data(task, monkeypatch):
    mini = importlib.import_module(f"elmo_bench.tasks.{task}.mini")
    monkeypatch.setattr(mini, "SIZES", {"train": 5, "dev": 5, "test": 5})
    assert mini.generate(seed=0) == mini.generate(seed=0) != mini.generate(seed=1)
