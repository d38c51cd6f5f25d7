"""Training with the text in memory: the same network and softmax as the reference, and it resumes."""

import copy
import math

import numpy as np
import pytest
import torch

from elmo_bench.base.errors import UserError
from elmo_bench.elmo.batches import zero_states
from elmo_bench.elmo.encoder import ElmoEncoder
from elmo_bench.elmo.options import BiLMOptions
from elmo_bench.pretraining import CONF
from elmo_bench.pretraining.corpus import Corpus
from elmo_bench.pretraining.model import LanguageModel, load_language_model
from elmo_bench.pretraining.perplexity import perplexity
from elmo_bench.pretraining.resident import cross_entropy as softmax
from elmo_bench.pretraining.resident import loop, muon, network
from elmo_bench.pretraining.resident.batches import OUTSIDE, Batches
from elmo_bench.pretraining.resident.encode import encode
from elmo_bench.pretraining.trainer import pretrain, save_trained
from elmo_bench.pretraining.vocabulary import TargetVocabulary
from elmo_bench.spec.config import compose
from elmo_bench.text.chars import words_ids
from elmo_bench.training.quiet import quiet
from tests.pretraining.corpora import made_up, write
from tests.pretraining.test_trainer import curve

OPTIONS = BiLMOptions(
    filters=((1, 4), (2, 4), (3, 8), (6, 5)), character_dim=4, highways=1, activation="relu", lstm_dim=16,
    projection_dim=8, layers=2, cell_clip=0.3, projection_clip=0.1,
)  # fmt: skip
SPELT = ["x", "the", "cats", "extraordinarily", "é" * 9, "z" * 30, "y" * 47, "w" * 48]


@pytest.fixture
def corpus(tmp_path):
    write(tmp_path)
    lines = "\n".join(" ".join(words) for words in made_up(120, seed=9))
    (tmp_path / "heldout.txt").write_text(f"{lines}\nthe fish swim backwards .\n", encoding="utf-8")
    return tmp_path


def config(corpus, out, *more):
    return compose(
        "pretrain",
        [
            f"corpus='{corpus}/part-*.txt'", f"heldout={corpus}/heldout.txt", f"out={out}", "threads=1",
            "recipe=gpu", "recipe.minutes=null", "recipe.epochs=6", "recipe.cells=64", "recipe.vocabulary=50",
            "recipe.samples=6", "recipe.warmup=5", "recipe.optimizer.lr=0.02", "recipe.precision=32-true",
            "shape.char_cnn.filters=[[1,4],[2,4],[3,8]]", "shape.lstm.dim=16", "shape.lstm.projection_dim=8", *more,
        ],
        folder=CONF,
    )  # fmt: skip


def train(corpus, out, *more):
    with quiet():
        return pretrain(config(corpus, out, *more))


def test_the_encoded_text_is_the_text(corpus):
    text, heldout = (Corpus(tuple(sorted(corpus.glob(name)))) for name in ("part-*.txt", "heldout.txt"))
    for _ in range(2):  # counted, then read from the folder
        encoded, vocabulary = encode(text, heldout, corpus / "encoded", words=7, threads=1)
        spelt = {encoded.characters[number].tobytes(): number for number in range(len(encoded.characters))}
        for part, tokens, starts in (
            (text, encoded.tokens, encoded.starts),
            (heldout, encoded.heldout_tokens, encoded.heldout_starts),
        ):
            sentences = [sentence for file in part.files for sentence in part.sentences(file)]
            assert len(starts) == len(sentences) + 1
            for sentence, start, stop in zip(sentences, starts[:-1], starts[1:], strict=True):
                rows = words_ids(sentence).astype(np.int16)
                assert tokens[start:stop].tolist() == [spelt[row.tobytes()] for row in rows]
                assert encoded.targets[tokens[start:stop]].tolist() == vocabulary.ids(sentence)
        assert (np.diff(encoded.lengths) >= 0).all()
        assert len(vocabulary) == 10
    (corpus / "part-2.txt").write_text("the new cats\n", encoding="utf-8")
    more = Corpus(tuple(sorted(corpus.glob("part-*.txt"))))
    assert len(encode(more, heldout, corpus / "encoded", words=7, threads=1)[0].starts) == len(encoded.starts) + 1


def test_a_text_without_a_sentence_is_one_line(tmp_path):
    (tmp_path / "empty.txt").write_text("\n\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"empty.txt: no sentence"):
        encode(Corpus((tmp_path / "empty.txt",)), None, tmp_path / "encoded", words=7, threads=1)


def test_a_pass_has_every_sentence_once_and_rows_are_read_from_both_ends():
    tokens = np.arange(2, 14, dtype=np.int32)
    starts = np.array([0, 3, 4, 8, 12])
    batches = Batches(tokens, starts, np.arange(14, dtype=np.int32), cells=9, seed=0)
    assert sorted(np.concatenate(batches.plan(0)).tolist()) == [0, 1, 2, 3]
    assert all(len(part) == 1 or (np.diff(starts)[part] + 1).max() * len(part) <= 9 for part in batches.plan(0))
    batch = batches.batch([1, 0])
    words = batch.distinct[batch.words]
    assert words[0, :, 1].tolist() == [0, 2, 3, 4]
    assert words[1, :, 1].tolist() == [1, 4, 3, 2]
    assert batch.targets[0].T.tolist() == [[5, 1, OUTSIDE, OUTSIDE], [2, 3, 4, 1]]
    assert batch.targets[1].T.tolist() == [[5, 0, OUTSIDE, OUTSIDE], [4, 3, 2, 0]]
    assert words[:, :2, 0].tolist() == [[0, 5], [1, 5]]
    assert batch.cells == 6


@pytest.mark.parametrize("clips", [(0.3, 0.1), (50.0, 50.0)])
def test_layers_and_gradients_are_those_of_the_reference(clips):
    torch.manual_seed(0)
    model = LanguageModel(OPTIONS, words=30, samples=10, dropout=0.0)
    for lstm in model.bilm.lstms:
        lstm.cell_clip, lstm.projection_clip = clips
        lstm.bias.data.normal_()
        lstm.weight.data.mul_(3)
    ids = words_ids(SPELT)
    pieces = network.trimmed((ids != 261).sum(axis=1))
    assert len(pieces) > 1
    words, spelt = torch.randint(0, len(SPELT), (2, 7, 5)), torch.from_numpy(ids)
    weights = torch.randn(2, 7, 5, 8)
    found = []
    for fast in (False, True):
        model.zero_grad()
        if fast:
            top = network.top_layer(model, spelt, pieces, words)
        else:
            top, _ = model.features(spelt, words, zero_states(OPTIONS, 5, torch.zeros(())), [5] * 7, None)
        (top * weights).sum().backward()
        found.append([top.detach(), *(parameter.grad for parameter in model.bilm.parameters())])
    assert (found[0][0].abs() <= 2 * clips[1]).all()
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize("block", [2**29, 100])
def test_the_full_softmax_is_pytorchs(block, monkeypatch):
    monkeypatch.setattr(softmax, "LOGITS", block)
    torch.manual_seed(0)
    x, weight, bias = (torch.randn(size, requires_grad=True) for size in ((40, 8), (30, 8), (30,)))
    targets = torch.randint(0, 30, (40,))
    targets[3] = OUTSIDE
    mean, rows = softmax.cross_entropy(x, weight, bias, targets)
    wanted = torch.nn.functional.cross_entropy(x @ weight.T + bias, targets, ignore_index=OUTSIDE)
    assert rows[3] == 0
    torch.testing.assert_close(mean, wanted)
    for ours, theirs in zip(
        torch.autograd.grad(2 * mean, (x, weight, bias)),
        torch.autograd.grad(2 * wanted, (x, weight, bias)),
        strict=True,
    ):
        torch.testing.assert_close(ours, theirs)


def test_the_sampled_softmax_is_its_equation():
    torch.manual_seed(0)
    x, weight, bias = (torch.randn(size, requires_grad=True) for size in ((40, 8), (30, 8), (30,)))
    targets = torch.randint(0, 30, (40,))
    sampler = softmax.Sampler(30, 10, torch.device("cpu"))
    torch.manual_seed(1)
    mean, _ = softmax.cross_entropy(x, weight, bias, targets, sampler)
    torch.manual_seed(1)
    drawn = sampler.draw()
    assert len(set(drawn.tolist())) == 10
    shift = bias - sampler.log_chance
    negatives = (x @ weight[drawn].T + shift[drawn]).masked_fill(drawn == targets[:, None], -torch.inf)
    true = (x * weight[targets]).sum(dim=1) + shift[targets]
    wanted = (torch.logaddexp(torch.logsumexp(negatives, dim=1), true) - true).mean()
    torch.testing.assert_close(mean, wanted)
    for ours, theirs in zip(
        torch.autograd.grad(mean, (x, weight, bias)), torch.autograd.grad(wanted, (x, weight, bias)), strict=True
    ):
        torch.testing.assert_close(ours, theirs)


def test_words_are_drawn_as_often_as_their_chance_says():
    torch.manual_seed(0)
    sampler, drawn = softmax.Sampler(200, 40, torch.device("cpu")), torch.zeros(200)
    for _ in range(2000):
        drawn[sampler.draw()] += 1
    torch.testing.assert_close(drawn / 2000, sampler.log_chance.exp(), atol=0.04, rtol=0)
    assert sampler.log_chance.exp().sum() == pytest.approx(40, abs=0.01)


def test_muon_makes_singular_values_equal_and_keeps_each_gate_to_itself():
    torch.manual_seed(0)
    values = torch.linalg.svdvals(muon.orthogonal(torch.randn(2, 20, 50)))
    assert values.min() > 0.6
    assert values.max() < 1.3
    weight = torch.randn(2, 16, 64)
    stack = muon._stack(weight, True)
    assert torch.equal(stack[5], weight[0, 8:, 16:32])  # forward, recurrent, j
    assert torch.equal(muon._unstack(stack, weight, True), weight)


@pytest.mark.parametrize("more", [pytest.param((), marks=pytest.mark.slow), ("recipe.muon={lr:0.01}",)])
def test_it_learns_and_its_own_perplexity_is_that_of_evaluate(corpus, more):
    trained = train(corpus, corpus / "out", *more)
    cells = sum(len(sentence) + 1 for sentence in made_up(400))
    assert 6 * cells <= trained.tokens < 6 * cells + 64
    settings = config(corpus, corpus / "out", *more)
    save_trained(trained, settings, command="pretrain", arguments=[])
    model, vocabulary = load_language_model(str(corpus / "out"))
    heldout = Corpus((corpus / "heldout.txt",))
    measured = perplexity(model, vocabulary, heldout).average
    assert measured < 4  # untrained, it is that of guessing: 14
    encoded, _ = encode(
        Corpus(tuple(sorted(corpus.glob("part-*.txt")))), heldout, corpus / "out" / "encoded", words=50, threads=1
    )
    assert loop.Resident(model, encoded, settings, "cpu").check() == pytest.approx(measured, rel=1e-4)
    assert ElmoEncoder(weights=str(corpus / "out")).encode([("the", "cats", "sleep")])[0].shape == (3, 3, 16)
    rows = curve(corpus / "out")
    assert [row[0] for row in rows] == list(range(1, trained.steps + 1))
    assert np.mean([row[2] for row in rows[-10:]]) < np.mean([row[2] for row in rows[:10]]) - 0.5
    assert rows[-1][4] < rows[10][4] / 10


def test_a_killed_training_goes_on_at_its_step_and_ends_the_same(corpus, monkeypatch):
    more = ("recipe.epochs=3", "recipe.dropout=0.1", "recipe.muon={lr:0.01}", "checkpoint_minutes=0")
    whole = train(corpus, corpus / "whole", *more)
    step = loop.Resident.train_step

    def stop(self, batch):
        if self.step == 60:
            raise RuntimeError("stopped")
        return step(self, batch)

    with monkeypatch.context() as patch, pytest.raises(RuntimeError, match="stopped"):
        patch.setattr(loop.Resident, "train_step", stop)
        train(corpus, corpus / "killed", *more)
    assert [path.stem for path in sorted((corpus / "killed" / "checkpoints").iterdir())] == ["00000059", "00000060"]
    killed = train(corpus, corpus / "killed", *more)
    for ours, theirs in zip(killed.model.parameters(), whole.model.parameters(), strict=True):
        assert torch.equal(ours, theirs)
    assert curve(corpus / "killed") == curve(corpus / "whole")


def test_the_rate_falls_to_zero_as_the_minutes_end(corpus):
    trained = train(corpus, corpus / "out", "recipe.minutes=0.05")
    assert 2.5 < trained.seconds < 10
    rows = curve(corpus / "out")
    assert rows[-1][4] < 0.001
    assert TargetVocabulary.read(corpus / "out" / "encoded" / "vocabulary.txt") == trained.vocabulary


def test_a_step_that_is_no_number_changes_nothing_and_many_end_the_training(corpus, monkeypatch):
    real, calls = softmax.cross_entropy, []

    def explode(*arguments):
        mean, rows = real(*arguments)
        calls.append(1)
        return mean * (math.nan if len(calls) % 7 == 3 or len(calls) > 120 else 1.0), rows

    monkeypatch.setattr(loop, "cross_entropy", explode)
    with pytest.raises(UserError, match="the gradient is not finite"):
        train(corpus, corpus / "out", "recipe.epochs=20", "checkpoint_minutes=0.0001")
    newest = sorted((corpus / "out" / "checkpoints").glob("*.ckpt"))[-1]
    values = torch.load(newest, weights_only=True)["model"].values()
    assert all(torch.isfinite(value).all() for value in values)


@pytest.mark.slow
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_kernels_and_graphs_on_a_gpu_are_the_cpu_reference():
    torch.manual_seed(0)
    cpu = LanguageModel(OPTIONS, words=30, samples=10, dropout=0.0)
    gpu = copy.deepcopy(cpu).cuda()
    ids = words_ids(SPELT)
    pieces = network.trimmed((ids != 261).sum(axis=1))
    words, spelt, weights = torch.randint(0, len(SPELT), (2, 7, 5)), torch.from_numpy(ids), torch.randn(2, 7, 5, 8)
    top, _ = cpu.features(spelt, words, zero_states(OPTIONS, 5, torch.zeros(())), [5] * 7, None)
    (top * weights).sum().backward()
    for call in range(5):  # graphs replay from the third call on
        gpu.zero_grad()
        ours = network.top_layer(gpu, spelt.cuda().int(), pieces, words.cuda())
        (ours * weights.cuda()).sum().backward()
        torch.testing.assert_close(ours.cpu(), top, atol=1e-4, rtol=1e-3, msg=f"call {call}")
        for mine, reference in zip(gpu.bilm.parameters(), cpu.bilm.parameters(), strict=True):
            torch.testing.assert_close(mine.grad.cpu(), reference.grad, atol=1e-3, rtol=1e-2)
