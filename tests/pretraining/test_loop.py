"""Training a biLM: it learns, it resumes after a kill, and mistakes end in one line."""

import itertools
import math
import shutil
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from elmo_bench.__main__ import main
from elmo_bench.base.errors import UserError
from elmo_bench.elmo.weights import load_bilm
from elmo_bench.pretraining import CONF, loop, trainer
from elmo_bench.pretraining.encode import Corpus, encode
from elmo_bench.pretraining.kernels import Sampler
from elmo_bench.pretraining.network import perplexity
from elmo_bench.pretraining.trainer import rows
from elmo_bench.spec.config import compose
from tests.pretraining.corpora import curve, encoded, made_up, overrides, train, write
from tests.runs import GOLDEN


@pytest.fixture
def corpus(tmp_path):
    write(tmp_path)
    return tmp_path


def checkpoints(out):
    return sorted(path.name for path in (out / "checkpoints").iterdir())


@pytest.mark.slow
def test_the_loss_falls_and_new_sentences_are_foreseen(corpus):
    trained = train(corpus, corpus / "out")
    words = {word for sentence in made_up(400) for word in sentence}
    assert set(trained.text.vocabulary) == {"<S>", "</S>", "<UNK>", *words}
    new = encoded(corpus / "new.txt", made_up(100, seed=7), trained.text.vocabulary)
    assert perplexity(trained.model, new)["average"] < 4  # guessing gives 14
    rows = curve(corpus / "out")
    assert [row[0] for row in rows] == list(range(1, 61))
    assert all(0 < after[1] - before[1] <= 40 for before, after in itertools.pairwise(rows))
    first, last = (np.mean([row[2:4] for row in part]) for part in (rows[:10], rows[-10:]))
    assert last < first - 0.5
    assert rows[-1][4] < rows[10][4] / 10  # cosine


@pytest.fixture
def killed(corpus, monkeypatch):
    """`killed(step, *options)`: the training stops like a killed one when it begins this step."""

    def kill(at, *more):
        step = loop.Training.train_step

        def stop(self, batch):
            if self.step == at:
                raise RuntimeError("stopped")
            return step(self, batch)

        with monkeypatch.context() as patch, pytest.raises(RuntimeError, match="stopped"):
            patch.setattr(loop.Training, "train_step", stop)
            train(corpus, corpus / "killed", *more)

    return kill


def test_a_killed_training_goes_on_at_its_step_and_ends_the_same(corpus, killed, capsys):
    write(corpus, count=100)
    more = ("recipe.steps=26", "recipe.dropout=0.1", "checkpoint_minutes=0")  # a checkpoint a step; two passes
    whole = train(corpus, corpus / "whole", *more[:2])
    assert whole.number == 1
    killed(22, *more)
    assert checkpoints(corpus / "killed") == ["00000021.ckpt", "00000022.ckpt"]
    damaged = corpus / "killed" / "checkpoints" / "00000022.ckpt"
    damaged.write_bytes(damaged.read_bytes()[:5000])  # by a disk that failed
    resumed = train(corpus, corpus / "killed", *more)
    said = capsys.readouterr().err.replace("\n", "")
    assert "00000022.ckpt: not a checkpoint, or damaged" in said
    assert "resuming from" in said
    assert "00000021.ckpt at step 21" in said
    for ours, theirs in zip(resumed.model.parameters(), whole.model.parameters(), strict=True):
        assert torch.equal(ours, theirs)
    assert curve(corpus / "killed") == curve(corpus / "whole")
    assert checkpoints(corpus / "killed") == ["00000025.ckpt", "00000026.ckpt"]


def test_what_a_kill_left_half_written_is_removed(corpus):
    folder = corpus / "out"
    left = [folder / "checkpoints" / ".00000010.ckpt.0123abcd.unfinished", folder / ".curve.csv.89abcdef.unfinished"]
    own = folder / ".notes.txt"
    left[0].parent.mkdir(parents=True)
    for path in (*left, own):
        path.write_bytes(b"half")
    train(corpus, folder, "recipe.steps=3")
    assert own.exists()
    assert not any(path.exists() for path in left)


@pytest.mark.slow
def test_a_resumed_training_has_the_options_that_it_is_given(corpus, killed):
    killed(5, "checkpoint_minutes=0")
    resumed = train(corpus, corpus / "killed", "checkpoint_minutes=0", "recipe.optimizer.weight_decay=0.5")
    assert {group["weight_decay"] for group in resumed.optimizer.param_groups} == {0.5}
    assert resumed.changes == ["from step 6: recipe.optimizer.weight_decay=0.5 (before: 0.01)"]
    again = train(corpus, corpus / "killed", "recipe.optimizer.weight_decay=0.5", "recipe.steps=70")
    assert rows(again)["changed"] == f"{resumed.changes[0]}; from step 61: recipe.steps=70 (before: 60)"


def test_a_held_out_text_is_not_the_training_text(corpus, capsys):
    """The same file under another name is refused; sentences of both are counted, and the card has the number."""
    copy = corpus / "copy.txt"
    copy.write_bytes((corpus / "part-1.txt").read_bytes())
    with pytest.raises(UserError, match=r"heldout=.*copy\.txt: the text of corpus=.*part-1\.txt\. Hold out other text"):
        train(corpus, corpus / "out", f"heldout={copy}")
    assert not (corpus / "out").exists()  # the corpus is not encoded yet
    first = (corpus / "part-0.txt").read_text().splitlines()[0]
    copy.write_text(f"{first}\n{first}\ndogs sing unheard .\nthe unheard .\n")
    options = overrides(corpus, corpus / "out", f"heldout={copy}", "recipe.steps=2")
    assert main(["pretrain", *options]) == 0
    assert "2 of 4 held-out sentences are in the training text" in " ".join(capsys.readouterr().err.split())
    card = (corpus / "out" / "README.md").read_text()
    assert "| perplexity, copy.txt (2 of its sentences are in the training text) |" in card


@pytest.mark.parametrize("name", ["README.md", "options.json", "weights.hdf5"])
def test_files_of_something_else_are_not_replaced(corpus, name):
    (mine := corpus / "out" / name).parent.mkdir()
    (hidden := corpus / "out" / "notes" / ".diary.20240131").parent.mkdir()
    for path in (mine, hidden):
        path.write_text("mine")
    with pytest.raises(UserError, match=name):
        train(corpus, corpus / "out")
    assert mine.read_text() == hidden.read_text() == "mine"


@pytest.mark.parametrize("folder", ["checkpoints", "encoded", "softmax"])
def test_a_project_with_folders_of_these_names_is_no_training(corpus, folder):
    (other := corpus / "out" / folder / "epoch=3.ckpt").parent.mkdir(parents=True)
    mine = [other, corpus / "out" / ".config.deadbeef", corpus / "out" / "README.md"]
    for path in mine:
        path.write_text("mine")
    with pytest.raises(UserError, match=r"has a README\.md, which would be replaced"):
        train(corpus, corpus / "out")
    assert [path.read_text() for path in mine] == ["mine"] * 3


def test_a_training_that_was_killed_while_its_text_was_encoded_begins_again(corpus):
    """The unfinished file is a training's, so it is removed at once."""
    (half := corpus / "out" / "encoded" / ".text.safetensors.0123abcd.unfinished").parent.mkdir(parents=True)
    half.write_bytes(b"half")
    train(corpus, corpus / "out", "recipe.steps=2")
    assert not half.exists()
    assert (corpus / "out" / "encoded" / "text.safetensors").is_file()


@pytest.mark.parametrize("has_softmax", [True, False])
def test_weights_that_change_while_they_are_loaded_are_refused(corpus, monkeypatch, has_softmax):
    folder = shutil.copytree(GOLDEN, corpus / "weights")

    def load(weights, **_):
        if not has_softmax and not calls:
            calls.append(weights)
            raise trainer.NoSoftmax("none")
        options = (folder / "options.json").read_text()
        (folder / "options.json").write_text(f"{options} ")
        return load_bilm(weights)

    calls = []
    monkeypatch.setattr(trainer, "load_language_model", load)
    monkeypatch.setattr(trainer, "load_bilm", load)
    options = [f"weights={folder}", f"corpus={corpus}/part-0.txt", f"out={corpus}/out", "threads=1"]
    with pytest.raises(UserError, match="weights: changed while it was read"):
        trainer.finetune(compose("finetune", options, folder=CONF))


def with_bad_gradients(monkeypatch, is_bad):
    """Gradients that are no numbers in the steps, from 1, that `is_bad` names."""
    real = loop.cross_entropy
    steps = itertools.count(1)

    def explode(*arguments):
        mean, rows = real(*arguments)
        return mean * (math.nan if is_bad(next(steps)) else 1.0), rows

    monkeypatch.setattr(loop, "cross_entropy", explode)


def test_gradients_that_are_no_numbers_end_the_training_after_a_good_checkpoint(corpus, monkeypatch):
    with_bad_gradients(monkeypatch, lambda step: step >= 8)
    with pytest.raises(UserError, match=r"step 15: the gradient is not finite in 8 of the last 15 steps\. The last"):
        train(corpus, corpus / "out", "checkpoint_minutes=0")
    last = torch.load(corpus / "out" / "checkpoints" / "00000014.ckpt", weights_only=True)
    assert all(torch.isfinite(value).all() for value in last["model"].values())


def test_a_gradient_that_is_no_number_changes_nothing_on_a_cpu_either(corpus, monkeypatch):
    with_bad_gradients(monkeypatch, lambda step: step == 3)
    trained = train(corpus, corpus / "out", "recipe.steps=6")
    assert all(value.isfinite().all() for value in trained.model.state_dict().values())
    assert len(curve(corpus / "out")) == 6


@pytest.mark.parametrize(
    ("good", "bad", "ends"),
    [
        (0, 0, 0),
        (0, 1, 1),
        (1, 1, 0),
        (1, 2, 1),
        (49, 1, 0),
        (25, 25, 0),
        (24, 26, 1),
        (0, 50, 1),
        (9, 0, 0),
        (50, 0, 0),
    ],
)
def test_more_than_half_of_the_last_gradients_end_a_training_on_any_device(tmp_path, good, bad, ends):
    flags = [torch.tensor(True)] * good + [torch.tensor(False)] * bad
    training = SimpleNamespace(finite=flags, step=good + bad, out=tmp_path)
    if not ends:
        loop.Training._check_finite(training)
        return
    with pytest.raises(UserError, match=f"not finite in {bad} of .* steps. Start again with a lower"):
        loop.Training._check_finite(training)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["accelerator=gpu"], "no CUDA device here"),
        (["shape.lstm.n_layers=-1"], "shape: lstm.n_layers is -1"),
        (["recipe.optimizer.name=best", "corpus=nowhere/*.txt"], r"recipe\.optimizer\.name=best: unknown name"),
        (["recipe.schedule=slow"], r"recipe\.schedule=slow: give one of: constant, linear, cosine"),
        (["recipe.precision=16"], r"recipe\.precision=16: give one of: 32-true, bf16-mixed"),
        (["dtype=int4"], "dtype=int4: give one of: float32"),
        (["corpus=nowhere/*.txt"], "no file matches"),
        (["recipe.cells=0"], "recipe.cells=0: give a whole number from 1"),
        (["recipe.steps=null", "recipe.epochs=0"], "recipe.epochs=0: give a number above 0"),
        (["recipe.steps=null", "recipe.epochs=null"], "Give one of the three"),
        (["recipe.dropout=1"], "recipe.dropout=1: give a number from 0"),
        (["seed=-1"], "seed=-1: give a whole number from 0"),
        (["seed=4294967296"], "seed=4294967296: give a whole number from 0"),
        (["recipe.clip=nan"], "recipe.clip=nan: give a number above 0"),
        (["corpus=[1]"], r"corpus=1: give a file or a pattern"),
        (["encoded=1"], "encoded=1: give a name, such as ./my-elmo"),
        (["tokenizer=[spaces]"], "tokenizer=.*: give a name"),
        (["recipe.warmup=null"], "recipe.warmup=null: give a number"),
        (["recipe.optimizer.lr=0"], "recipe.optimizer.lr=0: give a number above 0"),
    ],
)
def test_mistakes_are_one_clear_line(corpus, more, message):
    with pytest.raises(UserError, match=message):
        train(corpus, corpus / "out", *more)


@pytest.fixture
def drawn(monkeypatch):
    """The words that the sampler drew, by step."""
    draw, drawn = Sampler.draw, []

    def spy(self):
        drawn.append(draw(self))
        return drawn[-1]

    monkeypatch.setattr(Sampler, "draw", spy)
    return drawn


def test_the_end_of_a_training_has_the_full_softmax(corpus, drawn):
    train(corpus, corpus / "out", "recipe.steps=6", "recipe.full_from=0.5")
    assert len(drawn) == 3


def test_a_gradient_is_no_longer_than_the_clip(corpus, monkeypatch):
    step, norms = torch.optim.AdamW.step, []

    def spy(self, *given):
        gradients = [parameter.grad.flatten() for group in self.param_groups for parameter in group["params"]]
        norms.append(torch.cat(gradients).norm().item())
        return step(self, *given)

    monkeypatch.setattr(torch.optim.AdamW, "step", spy)
    train(corpus, corpus / "out", "recipe.steps=3", "recipe.clip=0.01")
    assert norms == pytest.approx([0.01] * 3, rel=1e-2)


@pytest.mark.parametrize(
    ("schedule", "factors"), [("constant", [1, 1, 1]), ("linear", [1, 0.75, 0]), ("cosine", [1, 0.8565, 0.02])]
)
def test_a_rate_rises_with_the_steps_and_falls_as_its_schedule_says(schedule, factors):
    late = [loop.rate_factor(schedule, step=99, warmup=4, done=done) for done in (0, 0.25, 1)]
    assert late == pytest.approx(factors, abs=1e-4)
    early = [loop.rate_factor(schedule, step=step, warmup=4, done=0) for step in range(5)]
    assert early == pytest.approx([0.25, 0.5, 0.75, 1, 1])
    assert loop.rate_factor(schedule, step=0, warmup=0, done=0) == pytest.approx(1)


def test_epochs_are_passes_over_the_text(corpus):
    trained = train(corpus, corpus / "out", "recipe.steps=null", "recipe.epochs=1.5", "recipe.cells=400")
    assert 1.5 <= trained.read / trained.text.cells < 1.8


class Seen(Exception):
    pass


@pytest.mark.slow
def test_finetune_has_the_dropout_of_its_recipe(corpus, monkeypatch):
    def stop(model, *_, **__):
        raise Seen(model.dropout)

    monkeypatch.setattr(trainer, "Training", stop)
    options = ["weights=mini", f"corpus={corpus}/part-0.txt", f"out={corpus}/out", "threads=1", "recipe.dropout=0.3"]
    with pytest.raises(Seen, match=r"^0\.3$"):
        trainer.finetune(compose("finetune", options, folder=CONF))


def test_a_fitted_softmax_leaves_the_encoder_as_it_is(corpus):
    text = encode(Corpus((corpus / "part-0.txt",)), 7)
    options = [f"weights={GOLDEN}", "corpus=x", f"out={corpus}/out", "recipe.samples=5", "fit_steps=2"]
    bilm, checksum = load_bilm(str(GOLDEN))
    config = compose("finetune", options, folder=CONF)
    model = trainer.fit_softmax(bilm, text, config, weights=checksum)
    torch.testing.assert_close(model.bilm.state_dict(), load_bilm(str(GOLDEN))[0].state_dict(), atol=0, rtol=0)
    assert model.softmax.weight.any()  # it starts from zeros
