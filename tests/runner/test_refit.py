"""refit=true: the kept head is trained on train and dev, for use; scores, hash and outcomes stay."""

import json
import re
from types import SimpleNamespace

import pytest
import torch

from elmo_bench.__main__ import main
from elmo_bench.base.errors import UserError
from elmo_bench.base.progress import Clock
from elmo_bench.ledger import RunPaths, read_all
from elmo_bench.runner.head_files import keep_head, read_head
from elmo_bench.runner.refit import Upto, _epochs_done
from elmo_bench.runner.run import run
from elmo_bench.spec.config import compose
from elmo_bench.spec.run_spec import described
from elmo_bench.text.vocabulary import LONGEST_TEXT
from elmo_bench.training.module import HeadTraining
from tests.runs import OWN, VECTORS, first_rows, result

FEW = ["head=linear", "task.training.epochs=3", "data.max_train=40", "data.max_eval=30", "trainer.threads=1"]
SETTINGS = ["logger=none", f"suite.vectors={VECTORS}"]


def made(ledger, *options, task="classification", encoder="none"):
    """(the record of such a run, what is kept)."""
    few = FEW if encoder == "none" else FEW[2:]
    given = [f"task={task}", *OWN[task], *few, *SETTINGS, f"encoder={encoder}", f"ledger={ledger}", *options]
    record, _ = run(compose("config", given))
    work = RunPaths.of(ledger, record).work
    assert [path.name for path in work.iterdir() if path.suffix != ".npz"] == ["head.safetensors"]
    return record, read_head(work / "head.safetensors")


def words(kept):
    return set(kept.about.lexicon["words"])


CASES = [("classification", "none"), ("tagging", "none"), ("pairs", "tfidf")]


@pytest.mark.parametrize(("task", "encoder"), first_rows(CASES, 1))
def test_the_kept_head_has_read_dev_and_the_scores_are_those_without_it(tmp_path, task, encoder):
    usual, head = made(tmp_path / "usual", task=task, encoder=encoder)
    record, refitted = made(tmp_path / "refit", "refit=true", task=task, encoder=encoder)
    assert result(record) == result(usual) and record.outcomes == usual.outcomes
    assert record.refit is not None and record.refit.epochs == record.epochs.best
    assert record.refit.examples == record.data.counts.train + record.data.counts.dev
    assert usual.refit is None and words(head) < words(refitted)
    assert head.about.columns == refitted.about.columns and len(head.about.columns) > 1
    assert refitted.about.spec == record.spec
    assert refitted.about.refit and not head.about.refit


def test_a_refit_leaves_long_texts_of_dev_out_as_training_does(tmp_path, capsys):
    for split, length in (("train", 3), ("dev", LONGEST_TEXT + 1), ("test", 4)):
        rows = [f"{'word ' * length}{label},{label}" for label in ("good", "bad")]
        (tmp_path / f"{split}.csv").write_text("\n".join(["text,label", *rows]))
    options = ["task=classification", f"data.file={tmp_path}", "encoder=tfidf", "refit=true", *SETTINGS]
    record, _ = run(compose("config", [*options, f"ledger={tmp_path / 'runs'}"]))
    assert record.refit is not None and record.refit.examples == 2
    assert "dev, in the refit: 2 of 2 examples left out: texts of over 5,000 tokens" in capsys.readouterr().err


def test_a_refit_ends_after_its_epochs(tmp_path):
    end = Upto(2, tmp_path, {}, Clock())
    for epoch, stops in ((0, False), (1, True)):
        trainer = SimpleNamespace(current_epoch=epoch, should_stop=False, save_checkpoint=lambda _: None)
        end.on_train_epoch_end(trainer, None)
        assert trainer.should_stop == stops


def test_subnormal_numbers_are_zeros_in_every_step_of_a_run_and_of_its_refit(tmp_path, monkeypatch):
    step, halves = HeadTraining.training_step, []

    def watched(module, *batch):
        halves.append(float(torch.full((1,), torch.finfo(torch.float32).tiny) / 2))
        return step(module, *batch)

    monkeypatch.setattr(HeadTraining, "training_step", watched)
    record, _ = made(tmp_path, "refit=true", "task.training.epochs=1")
    assert record.refit is not None and len(halves) > 2 and not any(halves)


def test_a_refit_of_a_finished_run_keeps_its_predictions(tmp_path):
    """They are of the head that the record has the scores of; nothing could write them again."""
    options = [*again_options(tmp_path)[:-1], "task.training.epochs=1"]
    run(compose("config", [*options, "predictions=true"]))
    kept = {path: path.read_bytes() for path in tmp_path.rglob("*.predictions.*")}
    record, _ = run(compose("config", [*options, "refit=true"]))
    assert record.refit is not None and len(kept) == 2
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.predictions.*")} == kept


@pytest.mark.slow
def test_a_finished_run_is_refitted_without_being_trained_again(tmp_path, capsys):
    usual, _ = made(tmp_path)
    whole, expected = made(tmp_path / "whole", "refit=true")
    capsys.readouterr()
    record, kept = made(tmp_path, "refit=true")
    said = capsys.readouterr().err
    assert "refit on train and dev, 70 examples" in said and "dev accuracy" not in said
    assert (record.attempt, record.created) == (usual.attempt, usual.created)
    assert read_all(tmp_path).records == [record]
    for name, tensor in expected.tensors.items():
        assert torch.equal(tensor, kept.tensors[name]), name
    again, skipped = run(compose("config", again_options(tmp_path)))
    assert skipped and again == record and whole.refit.epochs == record.refit.epochs


def again_options(ledger):
    task = ["task=classification", *OWN["classification"], "encoder=none", f"ledger={ledger}"]
    return [*task, *FEW, *SETTINGS, "refit=true"]


@pytest.mark.slow
def test_a_killed_refit_goes_on_and_gives_the_same_head(tmp_path, monkeypatch, capsys):
    _, expected = made(tmp_path / "whole", "refit=true")
    original = Upto.on_train_epoch_end

    def killed(self, trainer, module):
        original(self, trainer, module)
        raise KeyboardInterrupt

    monkeypatch.setattr(Upto, "on_train_epoch_end", killed)
    with pytest.raises((KeyboardInterrupt, SystemExit)):
        made(tmp_path / "killed", "refit=true")
    monkeypatch.undo()
    [last] = tmp_path.glob("**/refit/last.ckpt")
    assert read_all(tmp_path / "killed").records == []
    assert torch.load(last, weights_only=True)["epoch"] == 0
    capsys.readouterr()
    _, kept = made(tmp_path / "killed", "refit=true")
    said = capsys.readouterr().err
    assert "refit  epoch   1/" not in said
    for name, tensor in expected.tensors.items():
        assert torch.equal(tensor, kept.tensors[name]), name


@pytest.mark.parametrize(
    ("stateful", "kept", "done"),
    [(False, {"seconds": [1000.0, 2000.0]}, 2), (True, {"seconds": [1000.0, 2000.0]}, 0), (False, {}, 0)],
)
def test_a_refit_resumes_unless_the_states_of_its_encoder_are_lost(tmp_path, stateful, kept, done):
    end = Upto(3, tmp_path, {"epochs": 3}, Clock())
    state = end.identity | kept
    torch.save({"callbacks": {end.state_key: state}, "epoch": 1}, tmp_path / "last.ckpt")
    stores = {"": SimpleNamespace(encoder=SimpleNamespace(stateful=stateful))}
    assert _epochs_done(SimpleNamespace(stores=stores), tmp_path / "last.ckpt", end) == done
    assert end.clock.read() == ([1000.0, 2000.0] if done else [0.0, 0.0])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["task=ner"], "refit=true: task=ner reads a suite. For data of your own: task="),
        (["task=pairs", "data.file=a", "size=paper"], "refit=true: not with task.training.schedule.name=plateau"),
        (["task=tagging", "data.file=a", "+task.training.ema.decay=0.9"], "refit=true: not with task.training.ema"),
    ],
)
def test_what_cannot_be_refitted_is_one_error(options, said):
    with pytest.raises(UserError) as error:
        described(*options, "refit=true")
    assert str(error.value).startswith(said)


@pytest.mark.slow
def test_refit_changes_no_hash_and_the_run_export_and_sweep_say_it(tmp_path, capsys):
    usual, _ = described("task=pairs", "data.file=a.csv")
    refitted, setup = described("task=pairs", "data.file=a.csv", "refit=true")
    assert refitted == usual and setup.refit
    options = again_options(tmp_path / "runs")
    assert main(["run", *options]) == 0
    said = capsys.readouterr().out
    assert "done and refitted on train and dev (" in said
    assert re.search(r"next:\n  elmo-bench predict \S+/seed0\.json NEW\.jsonl OUT\.jsonl +# a new file", said)
    [path] = [path for path in tmp_path.rglob("seed0.json") if "none" in path.parts]
    assert json.loads(path.read_text())["refit"]["examples"] == 70
    assert main(["export", str(path), str(tmp_path / "head")]) == 0
    card = (tmp_path / "head/README.md").read_text()
    assert "before it was trained once more, on train and dev (70 examples)" in card


def test_a_head_whose_last_step_left_numbers_that_are_not_finite_is_not_kept(tmp_path):
    """The loss of the last step was computed before it."""
    _, kept = made(tmp_path, "task.training.epochs=1")
    head = torch.nn.Linear(2, 1)
    paths = RunPaths.of(tmp_path, read_all(tmp_path).records[0])
    for number in (torch.nan, torch.inf):
        head.bias.data.fill_(number)
        with pytest.raises(UserError, match=r"^the trained head: bias has numbers that are not finite\. Lower task"):
            keep_head(head, kept.about, paths, "attempt", refit=True)
    head.bias.data.fill_(0.5)
    assert keep_head(head, kept.about, paths, "attempt", refit=True)["bytes"] > 0
