"""The estimate of minutes before a run on own data: against runs that were measured on an idle core."""

from dataclasses import replace

import pytest

from elmo_bench.__main__ import main
from elmo_bench.cli.status import time_left
from elmo_bench.encoders.kinds import KINDS, kind_of
from elmo_bench.ledger import RunPaths, read_all, write_record
from elmo_bench.runner.estimate import Amounts, seconds_of
from elmo_bench.runner.plan import plan
from elmo_bench.runner.states import LedgerState, RunState
from elmo_bench.spec.run_spec import described
from elmo_bench.spec.tuning import tokens_read
from tests.ledger.records import OUTCOMES, changed, hash_of, make_record
from tests.runs import OWN, VECTORS

TREC = Amounts(3272, 1090, 32_700, 10_900, 10_900)
WNUT = Amounts(3394, 1009, 62_000, 16_000, 23_000)
SNLI = Amounts(8842, 1000, 207_000, 23_000, 226_000)
BIG = Amounts(40_000, 1000, 400_000, 10_000, 10_000)
FILE = "data.file=a.csv"


def ledger_with(folder, done, seconds, device="cpu"):
    """What is known of a ledger with one run of this spec, which took so long."""
    content = done.with_contents({"data": "d1"}).to_json()
    record = make_record(spec=content, hash=hash_of(content))
    took = {"cost/seconds": seconds, "cost/cpu_seconds": seconds, "environment/device": device}
    record = changed(record, took)
    write_record(RunPaths.of(folder, record), record, OUTCOMES)
    return LedgerState(folder)


@pytest.mark.parametrize(
    ("task", "encoder", "amounts", "measured"),
    [
        ("classification", "glove", TREC, 77),
        ("classification", "minilm", TREC, 124),
        ("tagging", "glove", WNUT, 171),
        ("tagging", "elmo", WNUT, 279),
        ("tagging", "minilm", WNUT, 284),
        ("pairs", "glove", SNLI, 472),
        ("pairs", "elmo", SNLI, 1173),
    ],
)
def test_the_estimate_is_within_a_factor_of_two_of_the_seconds_that_a_run_took(task, encoder, amounts, measured):
    spec, _ = described(f"task={task}", FILE, f"encoder={encoder}")
    assert measured / 2 < seconds_of(spec, amounts) < measured * 2


@pytest.mark.parametrize(("encoder", "minutes"), [("elmo", 50), ("minilm", 72)])
def test_reading_with_a_tuned_encoder_is_within_a_factor_of_two_too(encoder, minutes):
    """Of runs on named entities, 32 epochs, nearly all of which is reading."""
    texts = {"train": WNUT.train_tokens, "dev": WNUT.dev_tokens, "test": WNUT.test_tokens}
    frozen, tuned = (
        described("task=ner", f"encoder={encoder}", f"encoder.contextual.tune={way}")[0].encoders()[""]
        for way in ("none", "full")
    )
    assert tokens_read(frozen, **texts, passes=32, epochs=32) == sum(texts.values())
    estimate = tokens_read(tuned, **texts, passes=32, epochs=32) / kind_of(tuned).rate / 60
    assert minutes / 2 < estimate < 2 * minutes


def test_a_run_that_tunes_its_encoder_reads_few_texts_often():
    """An epoch reads 200 texts thirty times: `task.training.least_steps`."""
    few = Amounts(200, 70, 4000, 1400, 1400)
    frozen, tuned = (
        seconds_of(described("task=classification", FILE, "encoder=elmo", f"encoder.contextual.tune={way}")[0], few)
        for way in ("none", "full")
    )
    assert tuned - frozen > 3 * 200 * few.train_tokens / KINDS["elmo"].rate


def test_an_untrained_elmo_reads_as_fast_as_a_trained_one_and_stored_layers_take_no_reading():
    def seconds(*options):
        return seconds_of(described("task=classification", FILE, *options)[0], BIG)

    elmo = seconds("encoder=elmo")
    assert seconds("encoder=random") == elmo
    assert elmo - seconds("encoder=precomputed", "encoder.name=a.h5") > BIG.train_tokens / KINDS["elmo"].rate


def test_a_part_of_the_data_quick_runs_and_linear_heads_take_less():
    def seconds(*options):
        spec, _ = described("task=classification", FILE, "encoder=glove", *options)
        return seconds_of(spec, BIG.part(spec))

    whole = seconds()
    assert seconds("data.max_train=8000") < seconds("data.train_fraction=0.9") < whole
    assert seconds("quick=true") < whole / 3
    assert seconds("head=linear") < whole / 3


@pytest.mark.parametrize("options", [["encoder=tfidf"], ["encoder=glove", "size=paper"]])
def test_what_takes_seconds_or_was_not_measured_has_no_estimate(options):
    assert seconds_of(described("task=classification", FILE, *options)[0], TREC) is None


def test_without_runs_that_are_done_sizes_are_the_estimate(tmp_path):
    runs = plan(["task=pairs", FILE, "encoder=glove", "seed=0,1"]).runs
    states = LedgerState(tmp_path).states(runs)
    sizes = dict.fromkeys(runs, SNLI)
    total, unknown = LedgerState(tmp_path).seconds_left(states, {}, sizes)
    assert unknown == 0 and total == pytest.approx(2 * seconds_of(runs[-1].spec, SNLI))


@pytest.mark.parametrize(
    ("changed", "is_better"), [({}, True), ({"task.training.optimizer.lr": 0.5}, True), ({"data.max_train": 50}, False)]
)
def test_a_run_that_is_done_is_a_better_estimate_than_sizes_if_it_read_as_much(tmp_path, changed, is_better):
    run = plan(["task=classification", FILE, "encoder=glove", "seed=0"]).runs[-1]
    done = replace(run.spec, settings=run.spec.settings | changed)
    state = ledger_with(tmp_path, done, 60.0)
    seconds, unknown = state.seconds_left([RunState(run, "missing")], {}, {run: SNLI})
    assert unknown == 0 and seconds == pytest.approx(60.0 if is_better else seconds_of(run.spec, SNLI))


@pytest.mark.parametrize(("done", "asked"), [([], ["task.training.epochs=3"]), (["task.training.epochs=2"], [])])
def test_runs_of_least_steps_and_runs_of_epochs_are_no_estimates_of_each_other(tmp_path, done, asked):
    """The default run has least steps however many epochs it has; one whose epochs are given has only these."""
    usual = ["task=classification", FILE, "encoder=glove", "seed=0"]
    spec = plan([*usual, *done]).runs[-1].spec
    state = ledger_with(tmp_path, spec, 600.0)
    run = plan([*usual, *asked]).runs[-1]
    assert state.seconds_left([RunState(run, "missing")], {}) == (0.0, 1)
    assert state.seconds_left([RunState(run, "missing")], {}, {run: SNLI})[0] == seconds_of(run.spec, SNLI)


@pytest.mark.parametrize(("trainer", "device", "by_sizes"), [("cpu", "cpu", True), ("gpu", "A GPU", False)])
def test_an_estimate_names_steps_and_tokens_where_they_count(tmp_path, trainer, device, by_sizes):
    run = plan(["task=classification", FILE, "encoder=glove", "seed=0", f"trainer={trainer}"]).runs[-1]
    state = ledger_with(tmp_path, run.spec, 600.0, device)
    line = time_left([RunState(run, "missing")], state, sizes={run: SNLI})
    assert line.startswith("about 10 min left") and ("by steps and tokens" in line) == by_sizes


@pytest.mark.slow
def test_a_run_and_a_sweep_say_how_long_they_take_after_they_have_read_the_file(tmp_path, capsys):
    options = ["task=classification", *OWN["classification"], "encoder=none", "head=linear", f"ledger={tmp_path}"]
    options += ["trainer.threads=1", "logger=none", f"suite.vectors={VECTORS}", "data.max_train=40", "quick=true"]
    assert main(["run", *options]) == 0
    said = capsys.readouterr().err
    assert "on one idle core, by its 300 steps and their tokens" in said
    assert main(["sweep", *options, "seed=0,1"]) == 0
    lines = capsys.readouterr().out
    assert "left, one after the other (by steps and tokens, or by runs that are done; on an idle machine)" in lines
    bad = ["sweep", "task=classification", *OWN["classification"], "data.label=x", f"ledger={tmp_path}", "encoder=none"]
    assert main(bad) == 2
    assert "runs, " not in capsys.readouterr().out
    assert len(read_all(tmp_path).records) == 4  # two seeds, which draw other training data for their floors
