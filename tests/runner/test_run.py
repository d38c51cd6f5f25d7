"""One run: what it leaves behind, when it is skipped, what makes it another run."""

import csv
import json

import numpy as np
import pytest
from safetensors import safe_open

from elmo_bench.base.errors import UserError
from elmo_bench.elmo.encoder import ElmoEncoder
from elmo_bench.ledger import Record, RunPaths, digest_of, of_split, read_all, read_outcomes, slices_of
from elmo_bench.ledger.checks import check_record
from elmo_bench.runner import run as module
from elmo_bench.spec.run_spec import RunSpec
from tests.runs import GOLDEN, OWN, files, result, rounded, run_small, small


@pytest.fixture
def ledger(elmo_run):
    return elmo_run[0]


@pytest.fixture
def finished(elmo_run) -> Record:
    """The small run; the ledger holds it."""
    return elmo_run[1]


def test_a_run_leaves_a_whole_record(finished, ledger):
    check_record(finished)
    assert read_all(ledger) == ([finished], [])
    # Without files if they are as new as the run, which may have read others; the rest is of other runs.
    others = {"files", "corrected", "serving", "refit"}
    assert finished.model_fields_set | others == Record.model_fields.keys()
    assert finished.changes == RunSpec.of_record(finished).changes
    spec = RunSpec.of_record(finished)
    assert (spec.suite, spec.task, spec.encoder, spec.size, finished.seed) == ("open", "ner", "elmo", "cpu", 0)
    assert spec.hash == finished.hash
    assert (finished.metric, finished.formula) == ("f1", "f1-counts")
    assert finished.selected_on == "dev"
    assert finished.data.counts.to_json() == {"train": 60, "dev": 60, "test": 60}
    assert finished.epochs.run == 2
    assert finished.environment.threads == 1
    assert finished.cost.tokens_per_second > 0
    assert finished.data.notes == []
    assert set(finished.environment.kernels) >= {"bilm"}
    curves = finished.curves.to_json()
    assert curves.keys() == {"dev", "train_loss", "lr", "seconds", "steps"}
    assert all(len(curve) == 2 for curve in curves.values())
    assert max(curves["dev"]) == pytest.approx(finished.scores.dev.overall["f1"])
    assert curves["lr"] == [0.001, 0.0005]
    assert curves["steps"] == [2, 2]  # 60 sentences by 32
    assert curves["train_loss"][0] > curves["train_loss"][1] > 0


def test_no_path_of_this_machine_is_in_a_record(finished, ledger):
    text = RunPaths.of(ledger, finished).record.read_text(encoding="utf-8")
    assert str(GOLDEN.parent) not in text
    assert str(ledger) not in text
    assert finished.spec.settings["encoder.weights"] == "bilm"


def test_outcomes_and_predictions_lie_beside_it(finished, ledger):
    paths = RunPaths.of(ledger, finished)
    stored = read_outcomes(paths)
    assert digest_of(stored) == finished.outcomes
    outcomes = of_split(stored, "test")
    assert {name: len(values) for name, values in of_split(stored, "dev").items()} == dict.fromkeys(outcomes, 60)
    assert {name: len(values) for name, values in outcomes.items()} == dict.fromkeys(
        ("correct", "guessed", "gold", "same_tags", "tokens"), 60
    )
    assert list(slices_of(stored, "test")) == list(slices_of(stored, "dev")) == ["unseen", "seen", "novector", "vector"]
    same = outcomes.pop("same_tags").sum() / outcomes["tokens"].sum()
    assert 100 * same == pytest.approx(finished.scores.test.overall["accuracy"])
    overall = finished.scores.test.overall
    assert [int(outcomes[name].sum()) for name in outcomes] == [overall[name] for name in outcomes]
    for split in ("dev", "test"):
        text = (paths.work / f"{split}.predictions.conll").read_text(encoding="utf-8")
        assert text.count("\n\n") == 60
        assert len(text.split("\n")) - 61 == finished.scores.of(split).overall["tokens"]


def test_the_kept_head_holds_what_was_trained_and_nothing_frozen(finished, ledger):
    paths = RunPaths.of(ledger, finished)
    with safe_open(paths.work / "head.safetensors", framework="numpy") as kept:
        sizes = {name: int(np.prod(kept.get_slice(name).get_shape())) for name in kept.keys()}  # noqa: SIM118
        about = json.loads(kept.metadata()["about"])
    assert sum(sizes.values()) == finished.parameters.trainable
    assert not [name for name in sizes if "bilm" in name or "table" in name or "encoder" in name]
    assert about["spec"] == finished.spec.to_json()
    assert about.keys() == {"spec", "vocabulary", "lexicon", "encoders", "attempt"}
    assert about["attempt"] == finished.attempt
    assert about["encoders"] == {"": finished.spec.contents["weights"]}


@pytest.mark.slow
def test_a_run_without_elmo_has_no_layer_weights_and_overwrite_runs_it_again(tmp_path):
    record = run_small(tmp_path, encoder="glove")
    path = RunPaths.of(tmp_path, record).record
    before = path.stat().st_ino
    assert result(run_small(tmp_path, "overwrite=true", "logger=tensorboard", encoder="glove")) == result(record)
    assert list(tmp_path.rglob("events.out.tfevents*"))
    assert path.stat().st_ino != before
    assert len(read_all(tmp_path).records) == 1
    assert record.layer_weights == []
    assert record.spec.contents.keys() == {"data", "vectors"}
    assert not [name for name in record.cost.model_fields_set if name.startswith("encode")]
    assert "bilm" not in record.environment.kernels


def test_a_run_measures_its_own_memory(tmp_path, monkeypatch):
    forgotten = []
    monkeypatch.setattr(module, "forget_peak_memory", lambda: forgotten.append(True))
    monkeypatch.setattr(module, "check_here", lambda _: pytest.fail("it has begun", pytrace=False))
    with pytest.raises(pytest.fail.Exception, match="it has begun"):
        run_small(tmp_path)
    assert forgotten == [True]


def test_the_second_start_skips_and_says_so(main_job, tmp_path, capsys):
    assert main_job(*small(encoder="none")) == 0
    first = capsys.readouterr()
    assert "already in the ledger" not in first.out
    [record] = (tmp_path / "runs").rglob("seed0.json")
    before = record.stat().st_mtime_ns
    assert main_job(*small(encoder="none")) == 0
    again = capsys.readouterr()
    assert "already in the ledger (overwrite=true runs it again)" in again.out
    assert str(record) in again.out
    assert again.out.splitlines()[1:] == first.out.splitlines()[1:]  # the end
    assert again.err == ""
    assert main_job(*small("predictions=true", encoder="none")) == 0
    assert "already in the ledger, without predictions (overwrite=true runs it again)" in capsys.readouterr().out
    assert record.stat().st_mtime_ns == before


@pytest.fixture
def encoded(monkeypatch):
    """How many sentences each call computed, a list that grows."""
    sizes, encode = [], ElmoEncoder.encode
    monkeypatch.setattr(
        ElmoEncoder, "encode", lambda self, texts, **k: sizes.append(len(texts)) or encode(self, texts, **k)
    )
    return sizes


def test_the_same_run_elsewhere_gives_the_same_scores_with_and_without_a_store(finished, tmp_path, encoded):
    """store, logger, predictions and the ledger's place change no score; `off` really computes each time."""
    again = run_small(tmp_path, "store=off", "logger=tensorboard", "logger.name=csv+tensorboard")
    assert rounded(finished) == rounded(again)
    assert sum(encoded) == 2 * (60 + 60) + 60 + 60  # two epochs with their dev scores, the best one's, test
    [log] = tmp_path.rglob("metrics.csv")
    rows = list(csv.DictReader(log.read_text(encoding="utf-8").splitlines()))
    last = again.layer_weights[-1]["input"]
    logged = {name: [float(row[name]) for row in rows if row[name]] for name in rows[0]}
    assert logged["lr"] == pytest.approx(again.curves.lr)
    assert len(logged["seconds"]) == 2
    assert logged["input.gamma"][-1] == pytest.approx(last.gamma)
    assert [logged[f"input.weight{layer}"][-1] for layer in range(3)] == pytest.approx(last.weights)
    assert logged["test_f1"] == [pytest.approx(again.scores.test.overall["f1"])]
    *epochs, chosen = [float(row["dev_f1"]) for row in rows if row["dev_f1"]]
    assert len(epochs) == 2
    assert chosen == max(epochs) == pytest.approx(finished.scores.dev.overall["f1"], abs=1e-4)


def test_a_failed_run_leaves_no_record_and_no_file(tmp_path, monkeypatch):
    def encode(*_, **__):
        raise ValueError("this encoder is broken")

    monkeypatch.setattr(ElmoEncoder, "encode", encode)
    with pytest.raises(ValueError, match="this encoder is broken"):
        run_small(tmp_path / "runs", "seed=3", "store=off")
    assert read_all(tmp_path / "runs") == ([], [])
    assert files(tmp_path / "runs") == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["task.training.optimizer.name=adamm"], "optimizer.name=adamm: unknown name"),
        (["task.training.schedule={name: cosine, every: 1}"], "schedule: .*T_max.* Check its options for cosine"),
        (["task=classification", *OWN["classification"], "task.head.hidden=[8]"], "that does not fit: .*task.head"),
        (["+task.training.ema.decay=2", "+task.training.ema.warming=false"], "ema: .*must be at least 0 and below 1"),
    ],
)
def test_options_of_training_are_checked_before_anything_is_encoded(tmp_path, monkeypatch, options, said):
    monkeypatch.setattr("elmo_bench.runner.train.fill", lambda *_: pytest.fail("it encodes", pytrace=False))
    with pytest.raises(UserError, match=said):
        run_small(tmp_path, *options)
