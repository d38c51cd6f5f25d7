"""`sweep experiment=row`: the tasks in order, the hours, and where an encoder is among the published ones."""

import json
from pathlib import Path

import pytest

from elmo_bench.__main__ import main
from elmo_bench.cli.row import standing
from elmo_bench.ledger import RunPaths, write_record
from elmo_bench.reporting import published as published_runs
from elmo_bench.reporting.published import Published
from elmo_bench.runner.plan import PlannedRun, plan
from elmo_bench.runner.states import RunState
from elmo_bench.spec.config import compose
from elmo_bench.spec.run_setup import Setup
from elmo_bench.spec.run_spec import RunSpec
from tests.ledger.records import OUTCOMES, hash_of, make_record

TASKS = ["ner", "snli", "sst5", "coref", "squad", "srl"]


def record(encoder, seed, test, data="d1", *options):
    config = compose("config", ["task=ner", f"encoder={encoder}", f"seed={seed}", *options])
    spec = RunSpec.of(config).with_contents({"data": data, "weights": "w"}).to_json()
    return make_record(spec=spec, hash=hash_of(spec), seed=seed, test=test)


def ended(of):
    setup = Setup.of(compose("config", ["task=ner"]))
    return RunState(PlannedRun(RunSpec.of_record(of), of.seed, ("task=ner",), setup), "done", of)


@pytest.fixture
def published(monkeypatch, tmp_path_factory):
    """Two encoders on the data d1, and what is not comparable."""
    cases = [
        ("elmo", 60.0, {}),
        ("glove", 40.0, {}),
        ("random", 70.0, {"data": "other data"}),
        ("elmo_word", 80.0, {"label": "lr_scale=2"}),
        ("minilm", 90.0, {"size": "paper"}),
    ]
    rows = []
    for number, (encoder, mean, changes) in enumerate(cases):
        seeds = {str(seed): {"test": mean + seed, "dev": 50.0, "processor": "another"} for seed in (0, 1)}
        minutes = 90.0 if encoder == "elmo" else 20.0
        row = Published("open", "ner", encoder, "cpu", f"{number:012}", "", "d1", mean, 0.7, minutes, seeds)
        rows.append(row._replace(**changes)._asdict())
    path = tmp_path_factory.mktemp("published") / "published.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    monkeypatch.setattr(published_runs, "FILE", path)
    published_runs.published.cache_clear()
    yield
    published_runs.published.cache_clear()


def test_the_row_is_every_task_with_three_seeds():
    runs = plan(["experiment=row", "encoder=minilm"]).runs
    assert list(dict.fromkeys(run.spec.task for run in runs)) == TASKS
    assert [run.seed for run in runs] == [0, 1, 2] * 6
    assert {run.spec.encoder for run in runs} == {"minilm"}


def test_the_order_is_that_of_the_published_minutes_but_that_sentiment_waits_for_inference():
    """Inference comes with the package, the data of sentiment are fetched first."""
    minutes = {}
    for row in published_runs.published().values():
        if row.encoder == "elmo" and not row.label and row.task in TASKS:
            minutes[row.task] = row.minutes
    by_minutes = sorted(minutes, key=minutes.get)
    assert by_minutes[1:3] == ["sst5", "snli"]
    by_minutes[1:3] = ["snli", "sst5"]
    assert by_minutes == TASKS


def test_an_encoder_is_needed(refused):
    assert refused("sweep", "experiment=row") == "elmo-bench sweep: experiment=row: which encoder? Give encoder=NAME."


def test_a_tuned_encoder_has_no_row(refused):
    said = refused("sweep", "experiment=row", "encoder=minilm", "encoder.contextual.tune=full")
    assert "encoder.contextual.tune=full: experiment=row is for frozen encoders. Leave it out." in said


def test_a_new_encoder_is_shown_among_those_on_the_same_data(published, tmp_path):
    results = [ended(record("none", seed, 45.0 + seed)) for seed in range(3)]
    table, tests = standing(results, tmp_path)
    rows = [line.split("|")[1:6] for line in table.splitlines() if line.startswith("|")][2:]
    assert [[cell.strip() for cell in row] for row in rows] == [
        ["1", "elmo", "60.50 ± 0.71", "2", "published"],
        ["2", "none", "46.00 ± 1.00", "3", "this sweep"],
        ["3", "glove", "40.50 ± 0.71", "2", "published"],
    ]
    assert tests == "of elmo, glove there are numbers only, and no test.\n"


@pytest.mark.parametrize("included", ["", " --include /of/mine"])
def test_what_the_ledger_has_records_of_can_be_tested(published, tmp_path, included, monkeypatch):
    monkeypatch.setattr("elmo_bench.base.include.folders", [Path("/of/mine")] if included else [])
    for seed in (0, 1):
        for stored in (record("elmo", seed, 60.0), record("glove", seed, 40.0, "other data")):
            write_record(RunPaths.of(tmp_path, stored), stored, OUTCOMES)
    _, tests = standing([ended(record("none", 0, 45.0))], tmp_path)
    command = f"elmo-bench{included} compare none elmo --suite open --ledger {tmp_path}"
    assert tests == (
        f"differences to elmo can be tested (records in {tmp_path}): {command}; "
        "of glove there are numbers only, and no test.\n"
    )


def test_a_run_that_changes_an_option_has_no_test(published, tmp_path):
    for seed in (0, 1):
        stored = record("elmo", seed, 60.0)
        write_record(RunPaths.of(tmp_path, stored), stored, OUTCOMES)
    table, tests = standing([ended(record("none", 0, 45.0, "d1", "lr_scale=2"))], tmp_path)
    assert "none, task.training.optimizer.lr=" in table
    assert tests == "of elmo, glove there are numbers only, and no test.\n"


def test_runs_that_failed_are_no_row(published, tmp_path):
    failed = ended(record("none", 0, 45.0))
    assert [*standing([RunState(failed.run, "failed", note="why")], tmp_path)] == []


def test_a_sweep_prints_it_after_the_last_run_of_each_task(published, monkeypatch, capsys, tmp_path):
    def carry_out(planned, command, meter):
        for run in planned.runs:
            yield ended(record("none", run.seed, 45.0 + run.seed))

    monkeypatch.setattr("elmo_bench.cli.sweep.run_sweep", carry_out)
    options = ["experiment=row", "encoder=none", "task=ner", f"ledger={tmp_path}", "launcher.jobs=1"]
    assert main(["sweep", *options]) == 0
    lines = capsys.readouterr().out.splitlines()
    # 90 minutes a run: those of ELMo, since this encoder is not published.
    assert lines[0] == "3 runs, 0 of them done; about 4 h 30 min left, one after the other"
    assert lines.index("ner so far:") == 5
    assert lines[3].endswith("seed2.json")


def test_other_sweeps_have_no_such_table(published, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(
        "elmo_bench.cli.sweep.run_sweep",
        lambda planned, *_: (ended(record("none", run.seed, 45.0)) for run in planned.runs),
    )
    assert main(["sweep", "task=ner", "encoder=none", "seed=0,1", f"ledger={tmp_path}"]) == 0
    assert "so far" not in capsys.readouterr().out
