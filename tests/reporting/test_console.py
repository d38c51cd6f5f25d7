"""What a run and a sweep print: tables, cell by cell, and the lines after a run."""

import json
from functools import partial
from pathlib import Path

import pytest

from elmo_bench.reporting import endings
from elmo_bench.reporting import published as published_runs
from elmo_bench.reporting.console import overviews
from elmo_bench.reporting.endings import outcome, report_folder
from elmo_bench.reporting.published import Published
from elmo_bench.runner.named_parts import flags_to_give
from elmo_bench.spec.config import compose
from elmo_bench.spec.run_spec import RunSpec
from tests.ledger.records import changed, hash_of, make_record
from tests.reporting.ledgers import add, fill

ending = partial(endings.ending, flags=flags_to_give)


def cells(table):
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]


def test_a_sweep_over_tasks_has_a_line_a_task_and_a_column_an_encoder(tmp_path):
    made = [
        add(tmp_path, task, encoder, seed, train_fraction=0.1)
        for task, encoder, seed in (("sst5", "none", 0), ("sst5", "elmo", 0), ("ner", "none", 0), ("ner", "none", 1))
    ]
    [table] = overviews(made)
    title, _, head, _, first, second = cells(table)
    assert title == ["test scores on suite open (data.least_steps=100, data.train_fraction=0.1):"]
    assert head == ["task", "none", "elmo"]
    assert [first[0], second[0], second[2]] == ["sst5 (accuracy)", "ner (f1)", "-"]
    assert "±" in second[1]
    assert [cells(one)[-1][0] for one in overviews(made[:2])] == ["sst5 (accuracy)"]


def test_a_sweep_over_data_of_ones_own_says_what_is_known_of_them_once(tmp_path):
    made = fill(tmp_path, "classification", "none elmo", seeds=2, suite="mine")
    records = []
    for record in made:
        notes = ["2 labels: a (3), b (1)", f"encoder of {record.spec.encoder}"]
        changes = {"data/notes": notes, "scores/test/overall/macro_f1": 40.0 + record.seed}
        records.append(changed(record, changes))
    [table] = overviews(records)
    assert table.endswith("the data:\n- 2 labels: a (3), b (1)\n- encoder of none\n- encoder of elmo")
    lines = {line[0]: line[1:] for line in cells(table) if line[0].startswith("classification (")}
    assert [*lines] == ["classification (accuracy)", "classification (macro-F1)"]
    assert all(cell.startswith("40.50 ± 0.71") for cell in lines["classification (macro-F1)"])
    [table] = overviews([add(tmp_path, "ner", "none", 0)])
    assert "the data:" not in table


def test_runs_of_two_sizes_are_two_columns(tmp_path):
    [table] = overviews([add(tmp_path, "ner", "glove", 0, size=size) for size in ("cpu", "paper")])
    assert cells(table)[2] == ["task", "glove, size=cpu", "glove, size=paper"]


@pytest.fixture
def publish(tmp_path, monkeypatch):
    """Publishes these rows in place of the shipped ones."""

    def publish(*rows):
        path = tmp_path / "published.json"
        path.write_text(json.dumps([row._asdict() for row in rows]), encoding="utf-8")
        monkeypatch.setattr(published_runs, "FILE", path)
        published_runs.published.cache_clear()

    yield publish
    published_runs.published.cache_clear()


def row(encoder, mean, hash_="0" * 12, **changes):
    seeds = {str(seed): {"test": mean, "dev": 50.0, "processor": "another"} for seed in range(3)}
    return Published("open", "ner", encoder, "cpu", hash_, "", "d1", mean, 0.5, 3.0, seeds)._replace(**changes)


def run(*options, test=50.0):
    spec = RunSpec.of(compose("config", ["task=ner", *options])).with_contents({"data": "d1", "weights": "w"}).to_json()
    return make_record(spec=spec, hash=hash_of(spec), test=test)


def test_the_published_row_and_the_gain_and_what_is_next(publish):
    record = run("encoder=elmo", test=41.0)
    others = row("glove", 90.0, "1" * 12, label="lr_scale=2"), row("glove", 80.0, "2" * 12, data="d2")
    publish(row("elmo", 40.0, record.hash), *others, row("glove", 33.0))
    text = "\n".join(ending(record))
    assert "best epoch on dev: " in text
    assert "published: test f1 40.00 ± 0.50 over 3 seeds. This run: reproduced: 1.00 from the published mean" in text
    assert "gain over the published glove, 33.00 ± 0.50 over 3 seeds: +8.00" in text
    assert "elmo-bench sweep task=ner encoder=glove,elmo seed=0,1,2" in text
    assert "6 runs, about 18 minutes" in text
    assert "elmo-bench compare elmo glove " in text
    assert "reproduced" not in "\n".join(ending(record, made=False))
    assert "not reproduced" in "\n".join(ending(run("encoder=elmo", test=46.0)))


def test_a_run_that_changes_an_option_is_compared_with_nothing(publish):
    publish(row("glove", 33.0))
    text = "\n".join(ending(run("encoder=elmo", "task.training.epochs=1")))
    assert "gain" not in text and "sweep" not in text
    assert "elmo-bench report" in text


def test_after_a_short_published_run_the_whole_one_is_next(publish, tmp_path):
    """`make demo` makes experiment=hello."""
    record = run("encoder=elmo", "task.training.epochs=5")
    record = changed(record, {"epochs/run": 5, "epochs/best": 5})
    publish(row("elmo", 40.0, record.hash, label="task.training.epochs=5"))
    ledger = tmp_path / "demo" / "runs"
    text = "\n".join(ending(record, ledger, options=["experiment=hello"]))
    usual = compose("config", ["task=ner"]).task.training.epochs
    assert f"elmo-bench run task=ner encoder=elmo ledger={ledger}" in text
    assert f"# the whole run, {usual} epochs instead of 5" in text
    publish()
    assert "whole run" not in "\n".join(ending(record, ledger))


def test_a_budget_that_is_not_the_default_is_named(publish):
    publish()
    record = changed(run("encoder=elmo", "task.training.epochs=1"), {"epochs/run": 1, "epochs/best": 1})
    usual = compose("config", ["task=ner"]).task.training.epochs
    assert f"(its budget, shortened from {usual}: compare leaves it out)" in "\n".join(ending(record))
    whole = changed(run("encoder=elmo"), {"epochs/run": usual, "epochs/best": 1})
    assert "(its budget);" in "\n".join(ending(whole))


def test_a_head_that_learned_nothing_is_said_to(publish, tmp_path):
    publish()
    record = run("encoder=elmo", "lr_scale=1e9")
    assert "learned nothing" not in "\n".join([outcome(tmp_path, record, "done"), *ending(record)])
    record = changed(record, {"scores/dev/overall/f1": 0.0})
    assert outcome(tmp_path, record, "done").startswith("done, but the head learned nothing: dev f1 0.00")
    assert "give a lower rate" in "\n".join(ending(record))
    short = changed(run("encoder=elmo", "task.training.epochs=1"), {"scores/dev/overall/f1": 0.0})
    assert "right. It had 1 of 32 epochs: train it longer." in "\n".join(ending(short))


@pytest.mark.parametrize(
    ("options", "ledger", "said"),
    [
        ("suite=paper encoder=glove", None,
         ["sweep task=ner suite=paper encoder=glove,elmo seed=0,1,2", "compare elmo glove --suite paper"]),
        ("task=tagging data.file=some/where/visits data.tags=entities encoder=glove suite.name=x", None,
         ["sweep task=tagging data.file=some/where/visits data.tags=entities suite.name=x encoder=glove,elmo seed=",
          "compare elmo glove --suite x"]),
        ("encoder=elmo size=paper ledger=demo/runs", Path("demo/runs"),
         ["sweep task=ner size=paper ledger=demo/runs encoder=glove,elmo", "compare elmo glove --suite open --ledger"]),
        ("encoder=elmo place=both", Path("demo/runs"),
         ["elmo-bench report --ledger demo/runs "]),
    ],
)  # fmt: skip
def test_the_next_commands_are_about_the_same_data_ledger_and_size(publish, options, ledger, said):
    publish(row("elmo", 40.0), row("glove", 33.0))
    made = run(*(option for option in options.split() if not option.startswith("ledger=")))
    text = "\n".join(ending(made, *([ledger] if ledger else []), options=options.split()))
    assert all(each in text for each in said)
    assert "suite" not in options or "published" not in text  # of another suite


def test_no_report_is_written_into_its_ledger(tmp_path, monkeypatch):
    (tmp_path / "runs" / "open").mkdir(parents=True)
    beside = tmp_path / "runs-report"
    for folder, ledger in (("runs", "."), ("runs/open", ".."), ("", "runs"), ("", tmp_path / "runs")):
        monkeypatch.chdir(tmp_path / folder)
        assert report_folder(Path(ledger)).absolute() == beside


def test_the_next_commands_have_the_included_folders(publish, tmp_path, forgotten):
    publish(row("glove", 33.0))
    forgotten.append(tmp_path)
    lines = [*ending(run("encoder=elmo"), options=["encoder=elmo", "suite.weights=../my elmo", "seed=3"])]
    assert f"elmo-bench --include {tmp_path} sweep task=ner 'suite.weights=../my elmo' encoder=" in lines[-2]
    assert f"elmo-bench --include {tmp_path} compare elmo glove" in lines[-1]
