"""`run`, `sweep` and `compare` from Python: as the commands, with exceptions in place of exit codes."""

import json
import os
import random
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import torch

import elmo_bench
from elmo_bench.__main__ import main
from elmo_bench.api import runs
from elmo_bench.ledger import Record, store
from elmo_bench.runner import prepare
from elmo_bench.runner import sweep as module
from elmo_bench.runner.states import RunState
from elmo_bench.spec.names import task_class
from elmo_bench.training.random_state import current_state, restore
from tests.reporting.ledgers import add, fill
from tests.runner.fake_child import DONE, FAILED, USER_ERROR
from tests.runs import OWN, ROOT, VECTORS, small


@pytest.fixture
def fake(fake_children):
    """The same; gives the ledger's option."""
    return f"ledger={fake_children}"


def test_a_run_gives_its_record_and_is_made_once(tmp_path):
    options = small(f"ledger={tmp_path}", encoder="none")
    first = elmo_bench.run(*options)
    assert isinstance(first, Record) and "f1" in first.scores.test.overall
    assert elmo_bench.run(*options) == first


def draws():
    return random.random(), np.random.random(), torch.rand(1).item()


def test_a_run_leaves_threads_and_random_numbers_of_the_program(tmp_path, monkeypatch):
    """Building a transformer draws numbers, as this encoder does, and each run has a seed of its own."""
    load = prepare.load_encoder
    monkeypatch.setattr(prepare, "load_encoder", lambda **options: [load(**options), torch.rand(1)][0])
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    state = current_state()
    wanted = draws()
    restore(state)
    elmo_bench.run(*small(f"ledger={tmp_path}", "overwrite=true"))
    assert draws() == wanted
    assert torch.get_num_threads() == 2
    torch.set_num_threads(before)


MISTAKES = [
    (("tsk=ner",), "unknown option 'tsk' (did you mean 'task'?)"),
    (("task=nr",), "task=nr: unknown task; choose one of: "),
    (("--include", "mine"), "named in os.environ['ELMO_BENCH_INCLUDE']"),
    (("seed=0,1",), "seed has 2 values: use `sweep`"),
    (("task=classification", "data.file=none.csv"), "none.csv: no such file"),
    ((["task=ner"],), "run(['task=ner']): an option is a text"),
]


@pytest.mark.parametrize(("options", "sentence"), MISTAKES)
def test_a_mistake_is_an_exception_with_the_sentence_of_the_command(tmp_path, monkeypatch, options, sentence):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(elmo_bench.UserError) as raised:
        elmo_bench.run(*options)
    assert sentence in str(raised.value)


def own_run(folder):
    """Options of a small run on data of the user's own."""
    return [
        "task=classification", *OWN["classification"], "encoder=glove", "head=linear", "task.training.epochs=1",
        "data.max_train=60", f"suite.vectors={VECTORS}", "trainer.threads=1", "logger=none", f"ledger={folder}",
    ]  # fmt: skip


@pytest.mark.slow
def test_a_run_on_own_data_makes_its_floor_too(tmp_path, capsys):
    record = elmo_bench.run(*own_run(tmp_path))
    scores = elmo_bench.results(tmp_path).set_index("encoder").test
    assert sorted(scores.index) == ["glove", "tfidf"]
    assert record.scores.test.overall["accuracy"] == scores["glove"]
    gain = f"{scores['glove'] - scores['tfidf']:+.2f}"
    assert f"gain over the floor tfidf, {scores['tfidf']:.2f}: {gain}" in capsys.readouterr().err
    before = [path.read_bytes() for path in sorted(tmp_path.rglob("seed0.json"))]
    assert elmo_bench.run(*own_run(tmp_path)) == record
    assert [path.read_bytes() for path in sorted(tmp_path.rglob("seed0.json"))] == before


@pytest.mark.slow
def test_a_sweep_reads_own_data_for_runs_that_are_missing(tmp_path, monkeypatch):
    elmo_bench.run(*own_run(tmp_path))
    read = []
    data = task_class("classification", "data")

    def refuse(*_):
        read.append(1)
        raise elmo_bench.UserError("it is read")

    monkeypatch.setattr(data, "read", refuse)
    frame = elmo_bench.sweep(*own_run(tmp_path))
    assert sorted(frame.encoder) == ["glove", "tfidf"] and not read
    with pytest.raises(elmo_bench.UserError, match="it is read"):
        elmo_bench.sweep(*own_run(tmp_path), "seed=0,1")
    assert read == [1]


@pytest.mark.slow
def test_a_sweep_gives_its_own_runs_as_results_has_them(fake, tmp_path, monkeypatch):
    add(tmp_path / "runs", "ner", "glove", 0)
    monkeypatch.setenv("OMP_WAIT_POLICY", "passive")
    environment = dict(os.environ)
    frame = elmo_bench.sweep(f"seed={DONE}", fake)
    assert dict(os.environ) == environment
    assert frame.seed.tolist() == [DONE] and frame.encoder.tolist() == ["elmo"]
    every = elmo_bench.results(tmp_path / "runs")
    assert frame.columns.tolist() == every.columns.tolist() and len(every) == 2
    assert json.loads((tmp_path / frame.record[0]).read_text())["hash"] == frame.hash[0]
    assert elmo_bench.sweep(f"seed={DONE}", fake).record.tolist() == frame.record.tolist()


@pytest.mark.slow
def test_failed_runs_of_a_sweep_raise_when_the_others_have_ended(fake, tmp_path, capsys):
    with pytest.raises(elmo_bench.UserError) as raised:
        elmo_bench.sweep(f"seed={FAILED},{DONE},{USER_ERROR}", fake)
    sentence = str(raised.value)
    assert sentence.startswith("2 of 3 runs failed: seed=")
    assert "ValueError: no such layer; see " in sentence and "vectors.txt: no such file" in sentence
    lines = capsys.readouterr().err.splitlines()
    reasons = [line for line in lines if f"seed={USER_ERROR}" in line and "failed (vectors.txt: no such file" in line]
    assert len(reasons) == 1
    assert elmo_bench.results(tmp_path / "runs").seed.tolist() == [DONE]


def test_a_run_that_is_left_to_another_process_is_a_warning(fake, tmp_path, monkeypatch):
    (tmp_path / "runs").mkdir()

    def held(plan, *_):
        return (RunState(run, "held", note="process 1") for run in plan.runs)

    monkeypatch.setattr(runs, "run_sweep", held)
    with pytest.warns(UserWarning, match="1 of 1 runs left to other processes"):
        assert elmo_bench.sweep(f"seed={DONE}", fake).empty


@pytest.mark.slow
def test_an_interrupted_sweep_keeps_what_is_done(fake, tmp_path, monkeypatch):
    ended = module.look_up

    def interrupt(*arguments):
        state = ended(*arguments)
        if state.record is not None:
            raise KeyboardInterrupt
        return state

    monkeypatch.setattr(module, "look_up", interrupt)
    with pytest.raises(KeyboardInterrupt):
        elmo_bench.sweep(f"seed={DONE}", fake)
    assert elmo_bench.results(tmp_path / "runs").seed.tolist() == [DONE]


SCRIPT = """
import elmo_bench
frame = elmo_bench.sweep(*{options!r}, "seed=0,1")
print(frame.seed.tolist())
"""


@pytest.mark.slow
def test_a_script_without_a_guard_makes_its_sweep_once(tmp_path):
    """Processes that multiprocessing starts would else import the script, and so start the sweep again."""
    options = small(f"ledger={tmp_path}/runs", "task.training.epochs=1", "launcher.jobs=1", encoder="glove")
    (tmp_path / "script.py").write_text(SCRIPT.format(options=options))
    ended = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.stdout == "[0, 1]\n", ended.stderr
    assert "\r" not in ended.stderr


def test_compare_tests_each_task_and_each_amount_of_data(tmp_path):
    fill(tmp_path, "ner snli", "glove elmo", seeds=3)
    fill(tmp_path, "ner", "glove elmo", seeds=3, train_fraction=0.1)
    fill(tmp_path, "ner", "elmo", seeds=3, mix="last")
    frame = elmo_bench.results(tmp_path)
    tested = elmo_bench.compare(frame, "elmo", "glove")
    part = "data.train_fraction=0.1, data.least_steps=100"
    assert sorted(zip(tested.task, tested.fraction, strict=True)) == [("ner", ""), ("ner", part), ("snli", "")]
    ner = tested[(tested.task == "ner") & (tested.fraction == "")].iloc[0]
    runs = frame[(frame.task == "ner") & (frame.label == "")]
    means = runs.groupby("encoder").test.mean()
    assert ner.gain == pytest.approx(means["elmo"] - means["glove"])
    assert ner.low < ner.gain < ner.high and ner.p <= ner.p_holm
    assert {*tested.verdict} <= {"ahead", "behind", "tie"} and set(tested.n_ours) == {3}
    [last] = elmo_bench.compare(frame, "elmo, mix=last", "elmo").to_dict("records")
    assert (last["task"], last["ours"], last["options"]) == ("ner", "elmo, mix=last", "")
    swapped = elmo_bench.compare(frame, "glove", "elmo")
    assert sorted(swapped.gain) == pytest.approx(sorted(-tested.gain))


def test_compare_reads_each_record_once(tmp_path, monkeypatch):
    fill(tmp_path, "ner", "glove elmo", seeds=2)
    frame = elmo_bench.results(tmp_path)
    read = []
    original = store.read_json
    monkeypatch.setattr(store, "read_json", lambda path, **options: read.append(path) or original(path, **options))
    elmo_bench.compare(pd.concat([frame, frame]), "elmo", "glove")
    assert sorted(map(str, read)) == sorted(frame.record)


@pytest.mark.parametrize("name", ["seed0.json", "a/b/c/0123456789ab/0.json", "a/b/c/d/seed0.json"])
def test_a_path_that_is_no_record_of_a_ledger_is_refused(tmp_path, name):
    with pytest.raises(elmo_bench.UserError, match="seed"):
        elmo_bench.compare(pd.DataFrame({"record": [name]}), "elmo", "glove")


def test_compare_says_what_the_command_says(tmp_path, capsys):
    fill(tmp_path, "ner", "glove elmo", seeds=3)
    [row] = elmo_bench.compare(elmo_bench.results(tmp_path), "elmo", "glove").to_dict("records")
    assert main(["compare", "elmo", "glove", "--ledger", str(tmp_path)]) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("| ner"))
    assert f"{row['gain']:+.1f}" in line and row["verdict"] in line


def test_options_that_both_changed_are_named_and_seeds_can_be_chosen(tmp_path):
    fill(tmp_path, "ner", "glove elmo", seeds=3, settings={"task.training.epochs": 7})
    frame = elmo_bench.results(tmp_path)
    [row] = elmo_bench.compare(frame, "elmo", "glove").to_dict("records")
    assert row["options"] == "task.training.epochs=7"
    [one] = elmo_bench.compare(frame[frame.seed == 0], "elmo", "glove").to_dict("records")
    assert (one["untested"], one["n_ours"]) == ("a single seed", 1) and pd.isna(one["p"])


def test_runs_that_two_scores_selected_have_a_row_for_each_score(tmp_path):
    macro = {"task.metric": "macro_f1"}
    fill(tmp_path, "classification", "glove elmo", seeds=2, suite="mine")
    fill(tmp_path, "classification", "glove elmo", seeds=2, suite="mine", settings=macro)
    frame = elmo_bench.results(tmp_path)
    assert sorted(elmo_bench.compare(frame, "elmo", "glove").metric) == ["accuracy", "macro_f1"]
    crossed = frame[(frame.encoder == "elmo") == (frame.metric == "accuracy")]
    with pytest.raises(elmo_bench.UserError, match="on the same data, by the same score"):
        elmo_bench.compare(crossed, "elmo", "glove")


def test_compare_refuses_frames_that_hold_nothing_to_compare(tmp_path):
    fill(tmp_path / "a", "ner", "glove elmo", seeds=2)
    fill(tmp_path / "b", "ner", "glove", seeds=1)
    frame = elmo_bench.results(tmp_path / "a")
    cases = [
        (frame, "elmo", "elmo", "elmo and elmo: give two different encoders."),
        (frame, "elmo", "minilm", "on the same data, by the same score. The frame has: 'elmo', 'glove'."),
        (frame.drop(columns="record"), "elmo", "glove", "the frame has no column record."),
        (frame[frame.seed > 5], "elmo", "glove", "the frame has no rows."),
        (pd.concat([frame, elmo_bench.results(tmp_path / "b")]), "elmo", "glove", "the frame has the same run of"),
    ]
    for given, ours, theirs, sentence in cases:
        with pytest.raises(elmo_bench.UserError) as raised:
            elmo_bench.compare(given, ours, theirs)
        assert sentence in str(raised.value)


def test_frames_of_two_ledgers_are_compared(tmp_path):
    fill(tmp_path / "mine", "ner", "elmo", seeds=3)
    fill(tmp_path / "published", "ner", "glove", seeds=3)
    both = pd.concat([elmo_bench.results(tmp_path / name) for name in ("mine", "published")])
    [row] = elmo_bench.compare(both, "elmo", "glove").to_dict("records")
    assert row["n_ours"] == row["n_theirs"] == 3 and row["verdict"]


def test_the_record_of_a_run_fits_its_row(elmo_run):
    ledger, record = elmo_run
    [row] = elmo_bench.results(ledger).to_dict("records")
    assert row["test"] == record.scores.test.overall["f1"]
