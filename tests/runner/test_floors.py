"""The floor of runs on data of the user's own: which run it is, when it is made, what it leaves, what is said of it."""

import csv
import json
import re
from pathlib import Path

import pytest

from elmo_bench.__main__ import main
from elmo_bench.ledger import RunPaths, learned, read_all
from elmo_bench.runner.floors import floor_options
from elmo_bench.runner.jobs import Ended, Job
from elmo_bench.runner.plan import plan
from elmo_bench.runner.states import LedgerState, encoder_group, ledger_of, states_of
from elmo_bench.runner.sweep import look_up
from elmo_bench.spec.budget import converged
from elmo_bench.spec.config import compose
from elmo_bench.spec.task_files import floor_of
from tests.ledger.records import changed, put
from tests.runs import OWN, VECTORS, first_ones

PAIRS = ["task=pairs", "data.file=a.csv"]
QUICK = ["trainer.threads=1", "logger=none", f"suite.vectors={VECTORS}"]


def floors_of(*options):
    return [run for run in plan(options).runs if run.spec.head == "floor"]


@pytest.mark.parametrize(
    ("options", "shared"),
    [
        ([*PAIRS, "encoder=elmo", "mix=last", "place=both", "seed=3"], PAIRS),
        ([*PAIRS, "suite.name=b", "size=paper", "ledger=x"], [*PAIRS, "suite.name=b", "size=paper", "ledger=x"]),
        ([*PAIRS, "task.mix.dropout=0.1", "task.training.epochs=1", "lr_scale=2", "head=linear"], PAIRS),
        ([*PAIRS, "task.data.tokenizer=spaces", "trainer.threads=2"],
         [*PAIRS, "task.data.tokenizer=spaces", "trainer.threads=2"]),
        ([*PAIRS, "task.metric=macro_f1"], [*PAIRS, "task.metric=macro_f1"]),
        ([*PAIRS, "data.max_train=9", "seed=3"], [*PAIRS, "data.max_train=9", "seed=3"]),
        ([*PAIRS, "trainer=gpu", "overwrite=true"], [*PAIRS, "overwrite=true"]),
    ],
)  # fmt: skip
def test_a_floor_reads_what_its_run_reads(options, shared):
    found = floor_options(compose("config", options), options)
    assert found == [*shared, "encoder=tfidf"]
    assert compose("config", found).head.name == "floor"


@pytest.mark.parametrize("options", [["task=ner"], [*PAIRS, "encoder=tfidf"], ["task=tagging", "encoder=features"]])
def test_a_task_of_a_suite_and_a_floor_have_none(options):
    assert floor_options(compose("config", options), options) is None


def test_a_sweep_makes_each_floor_once_and_first():
    runs = plan([*PAIRS, "encoder=glove,elmo", "head=strong,linear", "seed=3,4"]).runs
    assert (runs[0].spec.encoder, runs[0].seed) == ("tfidf", 0)
    assert len(runs) == 9
    assert [run.spec.encoder for run in plan([*PAIRS, "encoder=glove,tfidf", "seed=0,1"]).runs] == [
        "tfidf", "glove", "glove",
    ]  # fmt: skip
    assert len(floors_of("task=pairs", "data.file=a.csv,b.csv", "encoder=glove")) == 2
    assert len(floors_of(*PAIRS, "data.max_train=9,10", "seed=0,1", "encoder=glove,elmo")) == 4
    assert floors_of("task=ner", "seed=0,1") == []


def test_a_floor_that_is_missing_makes_no_estimate_of_minutes(tmp_path):
    states = LedgerState(tmp_path).states(floors_of(*PAIRS, "encoder=glove"))
    published = {encoder_group(states[0].run.spec, "cpu", "tfidf"): 60.0}
    assert LedgerState(tmp_path).seconds_left(states, published) == (0.0, 0)


def run(ledger, capsys, *options):
    capsys.readouterr()
    code = main(["run", *QUICK, f"ledger={ledger}", *options])
    shown = capsys.readouterr()
    assert code == 0, shown.err
    return shown.out


@pytest.mark.parametrize("task", first_ones(["classification", "tagging"], 1))
def test_a_run_makes_its_floor_too_unless_the_ledger_has_it(tmp_path, capsys, task):
    encoder = floor_of(task)
    few = [f"task={task}", *OWN[task], "head=linear", "task.training.epochs=1", "data.max_train=60"]
    said = run(tmp_path, capsys, *few, "encoder=glove")
    records = {record.spec.encoder: record for record in read_all(tmp_path).records}
    assert records.keys() == {"glove", encoder}
    floor = records[encoder]
    scores = [records[name].scores.test.overall[floor.metric] for name in ("glove", encoder)]
    assert f"gain over the floor {encoder}, {scores[1]:.2f}: {scores[0] - scores[1]:+.2f} (a single seed" in said
    created = floor.created, floor.attempt
    assert "gain over the floor" in run(tmp_path, capsys, *few, "encoder=none")
    [again] = [record for record in read_all(tmp_path).records if record.spec.encoder == encoder]
    assert (again.created, again.attempt) == created
    assert converged(floor.spec, learned=learned(floor))
    assert len(floor.curves.dev) == len(floor.curves.steps) == floor.epochs.run == 4
    assert floor.curves.dev[floor.epochs.best - 1] == max(floor.curves.dev)
    assert floor.layer_weights == [] and floor.parameters.frozen == 0


def test_a_floor_of_any_seed_is_done_and_a_second_one_is_no_copy(tmp_path, capsys):
    ledger = tmp_path / "runs"
    data = ["task=classification", *OWN["classification"]]
    run(ledger, capsys, *data, "encoder=tfidf", "seed=3")
    [floor] = read_all(ledger).records
    assert "already in the ledger" in run(ledger, capsys, *data, "encoder=tfidf", "seed=1")
    planned = plan([*QUICK, *data, f"ledger={ledger}", "encoder=glove,tfidf", "seed=4,5"])
    assert [state.state for state in states_of(planned, ledger_of(planned))] == ["done", "missing", "missing"]
    ended = Ended(Job(planned.runs[0], "a" * 32, tmp_path / "log", 0), 0)
    assert look_up(ledger, ended).record == floor
    # One of an earlier version, which has no files, is found once the data were read.
    put(RunPaths.of(ledger, floor).record, changed(floor, {"files": {"data/other": "0" * 64}}))
    assert "already in the ledger" in run(ledger, capsys, *data, "encoder=tfidf", "seed=1")
    run(ledger, capsys, *data, "encoder=tfidf", "seed=1", "overwrite=true")
    capsys.readouterr()
    assert main(["check", str(ledger)]) == 0
    assert capsys.readouterr().out == "ok    2 records\n"
    assert main(["merge", str(ledger), "--into", str(tmp_path / "both")]) == 0
    assert "2 records added, 0 were present; 0 conflicts, 0 skipped" in capsys.readouterr().out
    assert len(LedgerState(tmp_path / "both").records) == 2


def test_a_run_is_looked_up_by_its_files_where_two_have_one_name(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("elmo_bench.runner.finished.SETTLED", 0.0)  # the files below are new
    ledger = tmp_path / "runs"
    files = []
    for folder, word in (("a", "red"), ("b", "blue")):
        files.append(tmp_path / folder / "x.csv")
        files[-1].parent.mkdir()
        rows = [f"{word} {kind} {n},{kind}" for n in range(20) for kind in ("hot", "cold")]
        files[-1].write_text("\n".join(["text,label", *rows]))
    made = {}
    for file in files:
        run(ledger, capsys, "task=classification", f"data.file={file}", "encoder=tfidf")
        [record] = [record for record in read_all(ledger).records if record.hash not in made.values()]
        made[file] = record.hash
    for file in files:
        [job] = plan([*QUICK, "task=classification", f"data.file={file}", "encoder=tfidf", f"ledger={ledger}"]).runs
        found = look_up(ledger, Ended(Job(job, "a" * 32, tmp_path / "log", 0), 0)).record
        assert found is not None and found.hash == made[file]


def test_predictions_are_of_the_column_that_the_head_was_trained_on(tmp_path, capsys):
    """`review`, which was guessed; `text`, a more usual name, is another column of the new file."""
    rows = [f"{kind} number {n},{kind}" for n in range(20) for kind in ("red", "blue")]
    (tmp_path / "x.csv").write_text("\n".join(["review,sentiment", *rows]))
    run(tmp_path / "runs", capsys, "task=classification", f"data.file={tmp_path}/x.csv", "encoder=tfidf")
    (tmp_path / "new.csv").write_text("text,label,review,sentiment\nblue,a,red,red\nred,b,blue,blue\n")
    [path] = (tmp_path / "runs").rglob("seed0.json")
    assert main(["predict", str(path), f"{tmp_path}/new.csv", f"{tmp_path}/out.csv"]) == 0
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert [line.split(",")[-2:] for line in lines[1:]] == [["red", "red"], ["blue", "blue"]]


def test_a_kept_floor_predicts_what_the_run_predicted_and_passes_the_check(tmp_path, capsys):
    rows = [(f"{word} {kind} number {n}", kind) for n, word in enumerate(["one", "two", "three"] * 20)
            for kind in ("red", "blue", "green")]  # fmt: skip
    for split, chosen in (("train", rows[:90]), ("dev", rows[90:120]), ("test", rows[120:])):
        with Path(tmp_path / f"{split}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([("text", "label"), *chosen])
    files = [f"data.{split}={tmp_path}/{split}.csv" for split in ("train", "dev", "test")]
    ledger = tmp_path / "runs"
    said = run(ledger, capsys, "task=classification", "encoder=tfidf", "predictions=true", *files)
    assert "best C on dev: 0.2, number 1 of 4" in said  # all are as good
    [path] = ledger.rglob("seed0.json")
    [kept] = ledger.rglob("test.predictions.jsonl")
    assert main(["predict", str(path), f"{tmp_path}/test.csv", f"{tmp_path}/out.jsonl"]) == 0
    ours, theirs = (
        [json.loads(line)["predicted"] for line in Path(file).read_text().splitlines()]
        for file in (kept, tmp_path / "out.jsonl")
    )
    assert ours == theirs and len({*ours}) == 3
    capsys.readouterr()
    main(["check", str(path)])
    checked = capsys.readouterr().out
    assert re.search(r"made again by: elmo-bench run task=classification encoder=tfidf suite\.name=", checked)
    assert "predictions on test: score accuracy" in checked
    wrong = [line for line in checked.splitlines() if line.startswith("WRONG")]
    assert all("the code that made it is not known" in line for line in wrong)
