"""Training a biLM: its own backward pass, the sampled softmax, the windows, and what it writes."""

import itertools
import json
import math
import random
import re

import h5py
import numpy as np
import pytest
import torch
from safetensors import safe_open
from torch.nn import functional

from elmo_bench.config import compose
from elmo_bench.encoders import recurrence
from elmo_bench.encoders.bilm import zero_states
from elmo_bench.encoders.elmo import ElmoEncoder
from elmo_bench.encoders.options import BiLMOptions
from elmo_bench.errors import UserError
from elmo_bench.pretraining import CONF
from elmo_bench.pretraining.corpus import Corpus
from elmo_bench.pretraining.model import LanguageModel
from elmo_bench.pretraining.softmax import SampledSoftmax
from elmo_bench.pretraining.stream import Stream
from elmo_bench.pretraining.trainer import pretrain
from elmo_bench.pretraining.vocabulary import TargetVocabulary
from elmo_bench.training.quiet import quiet
from tests.runs import GOLDEN

STEPS, ROWS, CELL, PROJECTION = 6, 3, 5, 4


def plain_loop(inputs, weight, projection, h, c, keep, cell_clip, projection_clip):  # noqa: PLR0917
    """TensorFlow's LSTMCell as bilm-tf uses it (facts sheet 2.3), a step at a time; autograd does the rest.

    The 1 of the forget gate is in the inputs.
    """
    outputs = []
    for t in range(inputs.shape[1]):
        if keep is not None:
            h, c = h * keep[t, :, None], c * keep[t, :, None]
        i, j, f, o = (inputs[:, t] + h @ weight).chunk(4, dim=2)
        c = (torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(j)).clamp(-cell_clip, cell_clip)
        h = ((torch.sigmoid(o) * torch.tanh(c)) @ projection).clamp(-projection_clip, projection_clip)
        outputs.append(h)
    return torch.stack(outputs, dim=1), h, c


@pytest.mark.parametrize("clips", [(3.0, 3.0), (0.3, 3.0), (3.0, 0.2), (0.3, 0.2)])
@pytest.mark.parametrize("resets", [False, True])
def test_the_backward_pass_is_that_of_autograd_on_a_plain_loop(clips, resets):
    torch.manual_seed(0)
    shapes = [(2, STEPS, ROWS, 4 * CELL), (2, PROJECTION, 4 * CELL), (2, CELL, PROJECTION)]
    ours = [torch.randn(shape, requires_grad=True) for shape in shapes]
    plain = [tensor.detach().clone().requires_grad_() for tensor in ours]
    h, c = 0.1 * torch.randn(2, ROWS, PROJECTION), 0.1 * torch.randn(2, ROWS, CELL)
    keep = (torch.rand(STEPS, ROWS) > 0.4).float() if resets else None
    probe = torch.randn(2, STEPS, ROWS, PROJECTION)
    found = recurrence.Recurrence.apply(*ours, h, c, keep, [ROWS] * STEPS, *clips)
    expected = plain_loop(*plain, h, c, keep, *clips)
    for left, right in zip(found, expected, strict=True):
        torch.testing.assert_close(left, right, atol=1e-5, rtol=1e-5)
    if clips[1] < 1:
        assert (expected[0].abs() == clips[1]).any()  # the clip was tried
    if clips[0] < 1:
        assert (expected[2].abs() == clips[0]).any()
    (found[0] * probe).sum().backward()
    (expected[0] * probe).sum().backward()
    for left, right in zip(ours, plain, strict=True):
        torch.testing.assert_close(left.grad, right.grad, atol=1e-5, rtol=1e-5)


def test_a_reset_in_the_middle_is_a_fresh_start():
    torch.manual_seed(0)
    inputs, weight = torch.randn(2, STEPS, 1, 4 * CELL), torch.randn(2, PROJECTION, 4 * CELL)
    projection, state = torch.randn(2, CELL, PROJECTION), (torch.randn(2, 1, PROJECTION), torch.randn(2, 1, CELL))
    zeros = (torch.zeros(2, 1, PROJECTION), torch.zeros(2, 1, CELL))
    keep = torch.ones(STEPS, 1)
    keep[2] = 0
    y, *_ = recurrence.Recurrence.apply(inputs, weight, projection, *state, keep, [1] * STEPS, 3.0, 3.0)
    fresh = torch.empty_like(y[:, 2:])
    sizes = [1] * (STEPS - 2)
    recurrence.run(inputs[:, 2:], weight, projection, zeros, outputs=fresh, sizes=sizes, clips=(3.0, 3.0))
    torch.testing.assert_close(y[:, 2:], fresh, atol=1e-6, rtol=0)


def test_expected_counts_are_those_of_the_sampler():
    """How often each id turns up in many draws, against the closed form."""
    torch.manual_seed(0)
    softmax = SampledSoftmax(words=20, features=2, samples=10)
    counts, draws = torch.zeros(20), 20_000
    for _ in range(draws):
        drawn = softmax.draw()
        assert len(drawn) == len(drawn.unique()) <= 10
        counts[drawn] += 1
    expected = softmax.log_expected_count(torch.arange(20)).exp()
    torch.testing.assert_close(counts / draws, expected, atol=0.015, rtol=0)
    probability = [math.log((k + 2) / (k + 1)) / math.log(21) for k in range(20)]
    assert sum(probability) == pytest.approx(1)
    torch.testing.assert_close(expected, torch.tensor([1 - (1 - p) ** 10 for p in probability]), atol=1e-6, rtol=0)


def test_the_sampled_loss_is_the_full_one_where_every_word_is_drawn():
    torch.manual_seed(0)
    softmax = SampledSoftmax(words=6, features=4, samples=3000)
    x, targets = torch.randn(50, 4), torch.randint(0, 6, (50,))
    assert len(softmax.draw()) == 6
    full = functional.cross_entropy(x @ softmax.weight.T + softmax.bias, targets)
    torch.testing.assert_close(softmax.sampled(x, targets), full, atol=1e-5, rtol=0)
    torch.testing.assert_close(softmax.full(x, targets).mean(), full)


def test_the_sampled_loss_is_a_softmax_over_target_and_negatives_less_their_log_counts(monkeypatch):
    """TensorFlow's sampled_softmax_loss, one example at a time; a target among the negatives counts once."""
    torch.manual_seed(0)
    softmax = SampledSoftmax(words=30, features=4, samples=20)
    torch.nn.init.normal_(softmax.bias)
    negatives = softmax.draw()
    monkeypatch.setattr(softmax, "draw", lambda: negatives)
    x, targets = torch.randn(40, 4), torch.randint(0, 30, (40,))
    probability = [math.log((k + 2) / (k + 1)) / math.log(31) for k in range(30)]
    logits = x @ softmax.weight.T + softmax.bias - torch.tensor([math.log(1 - (1 - p) ** 20) for p in probability])
    losses = []
    for row, target in enumerate(targets.tolist()):
        candidates = [target, *(k for k in negatives.tolist() if k != target)]
        losses.append(-torch.log_softmax(logits[row, candidates], dim=0)[0])
    assert set(targets.tolist()) & set(negatives.tolist())
    torch.testing.assert_close(softmax.sampled(x, targets), torch.stack(losses).mean(), atol=1e-5, rtol=0)


def test_the_more_samples_the_nearer_to_the_full_loss():
    def distance(samples):
        torch.manual_seed(0)
        softmax = SampledSoftmax(words=100, features=8, samples=samples)
        x, targets = torch.randn(200, 8), torch.randint(0, 100, (200,))
        with torch.no_grad():
            sampled = torch.stack([softmax.sampled(x, targets) for _ in range(30)]).mean()
            return (sampled - softmax.full(x, targets).mean()).abs().item()

    distances = [distance(samples) for samples in (30, 100, 300, 3000)]
    assert distances == sorted(distances, reverse=True)
    assert distances[-1] < 0.01


def made_up(count, seed=0):
    """Sentences in which each noun has one verb."""
    draw = random.Random(seed)
    pairs = [("cats", "sleep"), ("dogs", "bark"), ("birds", "sing"), ("fish", "swim")]
    for _ in range(count):
        noun, verb = draw.choice(pairs)
        yield ["the", *draw.choice([[], ["old"], ["very", "old"]]), noun, verb, "."]


@pytest.fixture
def corpus(tmp_path):
    lines = [" ".join(sentence) for sentence in made_up(400)]
    for part in range(2):
        text = "\n".join(lines[200 * part : 200 * (part + 1)])
        (tmp_path / f"part-{part}.txt").write_text(text + "\n", encoding="utf-8")
    return tmp_path


def train(corpus, out, *overrides):
    config = compose(
        "pretrain",
        [
            f"corpus='{corpus}/part-*.txt'", f"out={out}", "threads=1", "checkpoint_every=10", "recipe.steps=60",
            "recipe.rows=8", "recipe.window=5", "recipe.vocabulary=50", "recipe.samples=30", "recipe.warmup=5",
            "recipe.learning_rate=0.01", "recipe.precision=32-true", "shape.char_cnn.filters=[[1,4],[2,4],[3,8]]",
            "shape.lstm.dim=16", "shape.lstm.projection_dim=8", *overrides,
        ],
        folder=CONF,
    )  # fmt: skip
    with quiet():
        return pretrain(config)


def test_the_loss_falls_and_the_written_weights_are_the_trained_ones(corpus, monkeypatch):
    kept = []
    build = LanguageModel.__init__
    monkeypatch.setattr(LanguageModel, "__init__", lambda self, *a, **k: (build(self, *a, **k), kept.append(self))[0])
    out = train(corpus, corpus / "out")
    [model] = kept
    last = torch.load(out / "last.ckpt", weights_only=True)
    assert last["global_step"] == 60
    vocabulary = [line.split("\t")[0] for line in (out / "vocabulary.txt").read_text(encoding="utf-8").splitlines()]
    assert set(vocabulary) == {"<S>", "</S>", "<UNK>", *(word for sentence in made_up(400) for word in sentence)}
    assert perplexity(model, vocabulary, corpus) < 5  # untrained, it is that of guessing: 14
    encoder = ElmoEncoder(weights=str(out))
    assert (encoder.layers, encoder.dim) == (3, 16)
    for ours, theirs in zip(model.bilm.parameters(), encoder.bilm.parameters(), strict=True):
        torch.testing.assert_close(theirs, ours.detach().half().float(), atol=0, rtol=0)
    with torch.no_grad():
        exact = ElmoEncoder(weights=str(out))
        exact.bilm = model.bilm.eval()
        sentence = next(iter(made_up(1)))
        torch.testing.assert_close(encoder.encode([sentence])[0], exact.encode([sentence])[0], atol=0.02, rtol=0)


def perplexity(model, vocabulary, folder):
    """Forward, of new sentences, by the full softmax."""
    file = folder / "heldout.txt"
    file.write_text("\n".join(" ".join(sentence) for sentence in made_up(200, seed=9)), encoding="utf-8")
    known = TargetVocabulary(tuple(vocabulary))
    batch = next(iter(Stream(Corpus((file,)), known, rows=4, steps=100, seed=0, shared=True)))
    model.eval()
    with torch.no_grad():
        states = zero_states(model.bilm.options, 4, torch.zeros(()))
        losses = []
        for row in range(4):  # a sentence at a time: evaluation knows no resets within a row
            starts = [*np.flatnonzero(batch.keep[0, :, row] == 0), 100]
            for begin, end in itertools.pairwise(starts):
                one = [(h[:, :1] * 0, c[:, :1] * 0) for h, c in states]
                words = torch.as_tensor(batch.words[:, begin:end, row : row + 1])
                top, _ = model.features(torch.as_tensor(batch.ids), words, one, [1] * (end - begin), None)
                losses.append(model.softmax.full(top[0, :, 0], torch.as_tensor(batch.targets[0, begin:end, row])))
    return math.exp(torch.cat(losses).mean())


def test_the_written_files_have_the_published_names_and_shapes(corpus):
    """Facts sheet 2.5; the golden HDF5 file has the same names for the same number of filters and highways."""
    out = train(corpus, corpus / "out", "recipe.steps=1", "shape.char_cnn.filters=[[1,4],[2,4],[3,8],[4,8]]")
    with safe_open(out / "weights.safetensors", framework="numpy") as file:
        written = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
        assert {file.get_tensor(name).dtype for name in written} == {np.dtype(np.float16)}
        assert json.loads(file.metadata()["about"])["steps"] == 1
    golden = []
    with h5py.File(GOLDEN / "weights.hdf5") as file:
        file.visititems(lambda name, node: golden.append(name) if isinstance(node, h5py.Dataset) else None)
    assert sorted(written) == sorted(golden)
    cell = "RNN_{}/RNN/MultiRNNCell/Cell{}/LSTMCell"
    expected = {"char_embed": (261, 16), "CNN_proj/W_proj": (24, 8), "CNN_proj/b_proj": (8,)}
    expected |= {f"CNN/W_cnn_{i}": (1, i + 1, 16, n) for i, n in enumerate((4, 4, 8, 8))}
    expected |= {f"CNN/b_cnn_{i}": (n,) for i, n in enumerate((4, 4, 8, 8))}
    expected |= {f"CNN_high_0/{w}_{g}": (24,) * n for g in ("carry", "transform") for w, n in (("W", 2), ("b", 1))}
    for place in itertools.product((0, 1), (0, 1)):
        name = cell.format(*place)
        expected |= {f"{name}/W_0": (16, 64), f"{name}/B": (64,), f"{name}/W_P_0": (16, 8)}
    assert written == expected
    options = json.loads((out / "options.json").read_text(encoding="utf-8"))
    assert options["char_cnn"]["n_characters"] == 262
    assert BiLMOptions.from_file(out / "options.json") == BiLMOptions.from_json(options)


def test_a_killed_training_goes_on_at_its_step_and_ends_the_same(corpus, monkeypatch, capsys):
    whole = train(corpus, corpus / "whole", "recipe.steps=25")
    from elmo_bench.pretraining import trainer

    step = trainer.Pretraining.training_step

    def stop(self, batch, index):
        if self.global_step == 14:
            raise RuntimeError("stopped")
        return step(self, batch, index)

    with monkeypatch.context() as patch, pytest.raises(RuntimeError, match="stopped"):
        patch.setattr(trainer.Pretraining, "training_step", stop)
        train(corpus, corpus / "killed", "recipe.steps=25")
    killed = train(corpus, corpus / "killed", "recipe.steps=25")
    assert re.search(r"going on from \S*last\.ckpt at step 10", capsys.readouterr().err.replace("\n", ""))
    assert (killed / "weights.safetensors").read_bytes() == (whole / "weights.safetensors").read_bytes()


def test_no_corpus_is_one_clear_line(tmp_path):
    with pytest.raises(UserError, match=r"no file matches"):
        train(tmp_path, tmp_path / "out")
    (tmp_path / "part-0.txt").write_text("\n\n")
    with pytest.raises(UserError, match="no sentence"):
        train(tmp_path, tmp_path / "out")
