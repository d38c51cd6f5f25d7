"""Training a biLM: it learns, it goes on after a kill, and mistakes end in one line."""

import csv
import errno
import itertools
import math
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from pytorch_lightning.loggers import CSVLogger

from elmo_bench.base.errors import UserError
from elmo_bench.elmo.batches import zero_states
from elmo_bench.nn.fused import fuse
from elmo_bench.pretraining import module, trainer
from elmo_bench.pretraining.corpus import Corpus
from elmo_bench.pretraining.stream import Stream
from elmo_bench.pretraining.vocabulary import TargetVocabulary
from tests.pretraining.corpora import made_up, overrides, train, write

ROOT = Path(__file__).parents[2]


@pytest.fixture
def corpus(tmp_path):
    write(tmp_path)
    return tmp_path


def curve(out):
    """[[step, tokens, forward, backward, rate]] of `curve.csv`."""
    with (out / "curve.csv").open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    assert head == ["step", "tokens", "forward", "backward", "rate"]
    return [[float(cell) for cell in row] for row in rows]


def perplexity(trained, folder):
    """Forward, of new sentences, by the full softmax."""
    model, (rows, steps) = trained.model.eval(), (4, 100)
    (folder / "new.txt").write_text("\n".join(" ".join(words) for words in made_up(200, seed=9)), encoding="utf-8")
    new = Corpus((folder / "new.txt",))
    batch = next(iter(Stream(new, trained.vocabulary, rows=rows, steps=steps, seed=0, shared=True)))
    with torch.no_grad():
        losses = []
        for row in range(rows):  # a sentence at a time: evaluation knows no resets within a row
            starts = [*np.flatnonzero(batch.keep[0, :, row] == 0), steps]
            for begin, end in itertools.pairwise(starts):
                one = zero_states(model.bilm.options, 1, torch.zeros(()))
                words = torch.as_tensor(batch.words[:, begin:end, row : row + 1])
                top, _ = model.features(torch.as_tensor(batch.ids), words, one, [1] * (end - begin), None)
                losses.append(model.softmax.full(top[0, :, 0], torch.as_tensor(batch.targets[0, begin:end, row])))
    return math.exp(torch.cat(losses).mean())


def test_the_loss_falls_and_new_sentences_are_foreseen(corpus):
    trained = train(corpus, corpus / "out")
    assert (trained.steps, trained.tokens) == (60, 60 * 8 * 5)
    words = {word for sentence in made_up(400) for word in sentence}
    assert set(TargetVocabulary.read(corpus / "out" / "vocabulary.txt").words) == {"<S>", "</S>", "<UNK>", *words}
    assert perplexity(trained, corpus) < 5  # untrained, it is that of guessing: 14
    rows = curve(corpus / "out")
    assert [row[:2] for row in rows] == [[step, 40 * step] for step in range(1, 61)]
    first, last = (np.mean([row[2:4] for row in part]) for part in (rows[:10], rows[-10:]))
    assert last < first - 0.5


def test_the_papers_recipe_learns_too(corpus):
    more = (
        "recipe.vocabulary=50",
        "recipe.samples=10",
        "recipe.optimizer.lr=0.2",
        "~recipe.warmup",
        "+recipe.warmup=0",
    )
    trained = train(corpus, corpus / "out", "recipe=paper", *more)
    assert perplexity(trained, corpus) < 8
    assert {row[4] for row in curve(corpus / "out")} == {0.2}


def test_epochs_are_counted_in_windows(corpus):
    trained = train(corpus, corpus / "out", "recipe.steps=null", "recipe.epochs=0.5")
    cells = sum(len(sentence) + 1 for sentence in made_up(400))
    assert trained.steps == math.ceil(0.5 * (cells // 40))


def test_a_killed_training_goes_on_at_its_step_and_ends_the_same(corpus, monkeypatch, capsys):
    more = ("recipe.steps=25", "recipe.dropout=0.1", "checkpoint_minutes=0")  # a checkpoint a step
    whole = train(corpus, corpus / "whole", *more)
    step = module.Pretraining.training_step

    def stop(self, batch, index):
        if self.global_step == 14:
            raise RuntimeError("stopped")
        return step(self, batch, index)

    with monkeypatch.context() as patch, pytest.raises(RuntimeError, match="stopped"):
        patch.setattr(module.Pretraining, "training_step", stop)
        train(corpus, corpus / "killed", *more)
    checkpoints = sorted((corpus / "killed" / "checkpoints").iterdir())
    assert [path.name for path in checkpoints] == ["00000013.ckpt", "00000014.ckpt"]
    checkpoints[-1].write_bytes(checkpoints[-1].read_bytes()[:5000])  # by a disk that failed
    killed = train(corpus, corpus / "killed", *more)
    said = capsys.readouterr().err.replace("\n", "")
    assert "00000014.ckpt: not a checkpoint, or damaged" in said
    assert "00000013.ckpt at step 13" in said
    for ours, theirs in zip(killed.model.parameters(), whole.model.parameters(), strict=True):
        assert torch.equal(ours, theirs)
    assert curve(corpus / "killed") == curve(corpus / "whole")
    assert killed.seconds > 0


def test_only_damaged_checkpoints_are_no_reason_to_start_anew(corpus):
    folder = corpus / "out" / "checkpoints"
    folder.mkdir(parents=True)
    (folder / "00000010.ckpt").write_bytes(b"nothing")
    with pytest.raises(UserError, match=r"00000010\.ckpt: not a checkpoint, or damaged"):
        train(corpus, corpus / "out")


def test_other_text_or_another_number_of_processes_does_not_go_on(corpus):
    train(corpus, corpus / "out", "recipe.steps=5")
    (corpus / "part-2.txt").write_text("the old fish swim .\n", encoding="utf-8")
    with pytest.raises(UserError, match="the place in the text is lost"):
        train(corpus, corpus / "out", "recipe.steps=9")


def test_a_model_of_another_shape_does_not_go_on(corpus):
    train(corpus, corpus / "out", "recipe.steps=5")
    with pytest.raises(UserError, match=r"00000005\.ckpt: a model of another shape\. Remove .*out or give"):
        train(corpus, corpus / "out", "recipe.steps=9", "shape.lstm.dim=12")


def test_a_lower_rate_holds_from_the_checkpoint_on(corpus):
    constant = ("recipe.schedule=constant", "recipe.warmup=0")
    train(corpus, corpus / "out", "recipe.steps=3", "recipe.optimizer.lr=0.01", *constant)
    train(corpus, corpus / "out", "recipe.steps=6", "recipe.optimizer.lr=0.002", *constant)
    assert [rate for *_, rate in curve(corpus / "out")] == [0.01] * 3 + [0.002] * 3


def test_a_gradient_that_is_no_number_ends_before_the_step_is_taken(corpus, monkeypatch):
    step = module.Pretraining.training_step

    def explode(self, batch, index):
        outputs = step(self, batch, index)
        return outputs | {"loss": outputs["loss"] * (math.nan if self.global_step == 7 else 1)}

    monkeypatch.setattr(module.Pretraining, "training_step", explode)
    with pytest.raises(UserError, match=r"step 7: the gradient is not finite. The last checkpoint is good"):
        train(corpus, corpus / "out", "checkpoint_minutes=0")
    last = torch.load(corpus / "out" / "checkpoints" / "00000007.ckpt", weights_only=True)
    assert all(torch.isfinite(value).all() for value in last["state_dict"].values())


def test_a_full_disk_is_one_line_and_the_checkpoint_before_is_whole(corpus, monkeypatch):
    save, saved = torch.save, []

    def full(checkpoint, file):
        if checkpoint["global_step"] == 5:
            file.write(b"half")
            raise OSError(errno.ENOSPC, "No space left on device")
        saved.append(checkpoint["global_step"])
        save(checkpoint, file)

    monkeypatch.setattr(torch, "save", full)
    with pytest.raises(UserError, match="the disk is full"):
        train(corpus, corpus / "out", "checkpoint_minutes=0")
    assert saved == [1, 2, 3, 4]
    left = sorted(path.name for path in (corpus / "out" / "checkpoints").iterdir())
    assert left == ["00000003.ckpt", "00000004.ckpt"]
    monkeypatch.undo()
    assert train(corpus, corpus / "out").steps == 60


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["accelerator=gpu"], "no CUDA device here"),
        (["shape.lstm.n_layers=-1"], "shape: "),
        (["tokenizer=words"], "tokenizer=words: unknown"),
        (["recipe.optimizer.name=best"], r"recipe\.optimizer\.name=best: unknown name"),
        (["corpus=nowhere/*.txt"], "no file matches"),
        (["recipe.rows=0"], "recipe.rows=0: give a whole number from 1"),
        (["recipe.steps=many"], "recipe.steps=many: give a"),
        (["recipe.steps=null", "recipe.epochs=0"], "recipe.epochs=0: give a number above 0"),
        (["devices=0"], "devices=0: give a whole number from 1"),
        (["seed=-1"], "seed=-1: give a whole number from 0"),
    ],
)
def test_mistakes_are_one_clear_line(corpus, more, message):
    with pytest.raises(UserError, match=message) as raised:
        train(corpus, corpus / "out", *more)
    assert "\n" not in str(raised.value)


def command(corpus, out, *more):
    return [sys.executable, "-m", "elmo_bench", "pretrain", *overrides(corpus, out, *more)]


@pytest.mark.slow
def test_the_curve_after_ten_kills_is_that_of_an_uninterrupted_training(corpus):
    more = ("recipe.steps=3000", "checkpoint_minutes=0.005", "recipe.dropout=0.1")
    subprocess.run(command(corpus, corpus / "whole", *more), cwd=ROOT, check=True, capture_output=True)
    draw, kills = random.Random(0), 0
    while kills < 10:
        process = subprocess.Popen(command(corpus, corpus / "killed", *more), cwd=ROOT, stderr=subprocess.DEVNULL)
        before = newest_step(corpus / "killed")
        while newest_step(corpus / "killed") <= before and process.poll() is None:
            time.sleep(0.02)
        time.sleep(draw.random())
        assert process.poll() is None, "it ended before it could be killed: more steps"
        process.send_signal(signal.SIGKILL)
        process.wait()
        kills += 1
    subprocess.run(command(corpus, corpus / "killed", *more), cwd=ROOT, check=True, capture_output=True)
    whole, killed = curve(corpus / "whole"), curve(corpus / "killed")
    assert len(whole) == 3000
    np.testing.assert_allclose(killed, whole, atol=1e-4, rtol=0)


def newest_step(out):
    return max((int(path.stem) for path in (out / "checkpoints").glob("*.ckpt")), default=0)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # those of torch about torch
def test_compiled_it_learns_the_same(corpus):
    try:
        train(corpus, corpus / "compiled", "compile=true")
    finally:
        fuse(False)
    train(corpus, corpus / "plain")
    np.testing.assert_allclose(curve(corpus / "compiled"), curve(corpus / "plain"), atol=0.002, rtol=0)


@pytest.mark.slow
def test_two_processes_share_the_text_and_go_on(corpus):
    """DDP over gloo: the same weights in both, each sentence in one of them, and a resumed training."""
    env = os.environ | {"OMP_NUM_THREADS": "1"}
    for steps in (20, 40):
        done = subprocess.run(
            command(corpus, corpus / "out", "devices=2", f"recipe.steps={steps}"),
            cwd=ROOT, env=env, check=False, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert done.stdout.count(str(corpus / "out")) == 1
    assert "at step 20" in done.stderr
    rows = curve(corpus / "out")
    assert [row[:2] for row in rows] == [[step, 80 * step] for step in range(1, 41)]
    assert np.mean([row[2:4] for row in rows[-10:]]) < np.mean([row[2:4] for row in rows[:10]]) - 0.5
    last = torch.load(corpus / "out" / "checkpoints" / "00000040.ckpt", weights_only=True)
    positions = [process["position"]["readers"][0] for process in last["processes"]]
    assert len(positions) == 2
    assert positions[0]["lines"] != positions[1]["lines"]


def test_wandb_gets_the_curve_too(corpus, monkeypatch):
    """Its logger is tried for real in tests/runner; here one of the same interface takes its place."""
    given = {}

    def logger(**options):
        given.update(options)
        return CSVLogger(corpus / "log", name="", version="")

    monkeypatch.setattr(trainer, "wandb", logger)
    train(corpus, corpus / "out", "wandb=elmo-bench", "recipe.steps=51")
    assert (given["project"], given["title"], given["config"]["recipe"]["rows"]) == ("elmo-bench", "out", 8)
    with (corpus / "log" / "metrics.csv").open(encoding="utf-8", newline="") as file:
        [row] = csv.DictReader(file)
    assert [float(row[name]) for name in ("step", "forward", "backward")] == pytest.approx(
        [curve(corpus / "out")[49][place] for place in (0, 2, 3)], abs=1e-4
    )


def test_a_vocabulary_that_no_checkpoint_goes_with_is_counted_again(corpus):
    (corpus / "out").mkdir()
    (corpus / "out" / "vocabulary.txt").write_text("<S>\t1\n</S>\t1\n<UNK>\t0\nother\t1\n", encoding="utf-8")
    trained = train(corpus, corpus / "out", "recipe.steps=1")
    assert "cats" in trained.vocabulary.words
    assert "other" not in trained.vocabulary.words
    assert train(corpus, corpus / "out", "recipe.steps=2").vocabulary == trained.vocabulary
