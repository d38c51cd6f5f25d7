"""The network and the softmax of the training loop: layers, losses and gradients equal the reference's."""

import copy

import numpy as np
import pytest
import torch
from torch.nn import functional

from elmo_bench.elmo.model import BiLM
from elmo_bench.elmo.options import BiLMOptions
from elmo_bench.elmo.weights import initialise, load_bilm
from elmo_bench.pretraining import kernels
from elmo_bench.pretraining.batches import OUTSIDE, Batches
from elmo_bench.pretraining.kernels import Sampler, cross_entropy
from elmo_bench.pretraining.network import LanguageModel, features
from elmo_bench.pretraining.timeloop import room_for
from elmo_bench.text.chars import words_ids
from tests.elmo.recorded import SENTENCES as RECORDED
from tests.pretraining.corpora import encoded
from tests.runs import GOLDEN

OPTIONS = BiLMOptions(
    filters=((1, 4), (2, 4), (3, 8), (6, 5)), character_dim=4, highways=1, activation="relu", lstm_dim=16,
    projection_dim=8, layers=2, cell_clip=0.3, projection_clip=0.1,
)  # fmt: skip
WORDS = ["x", "the", "cats", "extraordinarily", "é" * 9, "z" * 30, "y" * 47, "w" * 48]
SENTENCES = [WORDS, WORDS[:1], WORDS[::-2], WORDS[2:5] * 3]


def one_batch(tmp_path, sentences):
    """All sentences as one batch, in their order."""
    text = encoded(tmp_path / "text.txt", sentences)
    return text, Batches(text, cells=10**6).batch(range(len(sentences)))


def test_the_loss_is_that_of_the_recorded_layers(tmp_path):
    """AllenNLP's layers of the golden weights, and a cross-entropy in float64."""
    recorded = np.load(GOLDEN / "expected_stateless.npz")
    text, batch = one_batch(tmp_path, RECORDED)
    torch.manual_seed(0)
    model = LanguageModel(load_bilm(str(GOLDEN))[0], words=len(text.vocabulary))
    x, targets = features(model, batch, bfloat16=False)
    mean, rows = cross_entropy(x, model.softmax.weight, model.softmax.bias, targets)
    tops, losses = x.view(2, -1, len(RECORDED), x.shape[1]), rows.view(2, -1, len(RECORDED))
    weight, expected = model.softmax.weight.detach().double(), [[], []]
    for number, sentence in enumerate(RECORDED):
        inner, markers = (recorded[f"s{number:02d}{part}"][2] for part in ("", "_markers"))
        layer = torch.tensor(np.concatenate([markers[:1], inner, markers[1:]])).double()
        ids = torch.tensor(text.vocabulary.ids(["<S>", *sentence, "</S>"]))
        forward, backward = layer.chunk(2, dim=1)
        sides = (forward[:-1], ids[1:]), (backward[1:].flip(0), ids[:-1].flip(0))
        for d, (top, wanted) in enumerate(sides):
            steps = len(sentence) + 1
            torch.testing.assert_close(tops[d, :steps, number], top.float(), atol=1e-5, rtol=1e-5)
            loss = functional.cross_entropy(top @ weight.T, wanted, reduction="none")
            torch.testing.assert_close(losses[d, :steps, number].double(), loss, atol=1e-5, rtol=1e-5)
            expected[d].append(loss)
    both = torch.cat([torch.cat(side) for side in expected])
    assert mean.item() == pytest.approx(both.mean().item(), rel=1e-6)
    assert losses.count_nonzero() == len(both)


def reference(bilm, text, sentences):
    """Top layers [M, P] of all sentences with targets, forward first, by the reference model, in `features`' order."""
    longest = max(map(len, sentences)) + 1
    sides = torch.zeros(2, longest, len(sentences), bilm.options.projection_dim)
    for number, sentence in enumerate(sentences):
        layers, _ = bilm(torch.from_numpy(words_ids(["<S>", *sentence, "</S>"])))
        forward, backward = layers[-1].chunk(2, dim=1)
        steps = len(sentence) + 1
        sides[0, :steps, number], sides[1, :steps, number] = forward[:-1], backward[1:].flip(0)
    return sides.flatten(0, 2)


def random_model(clips):
    torch.manual_seed(0)
    bilm = BiLM(OPTIONS)
    initialise(bilm)
    for lstm in bilm.lstms:
        lstm.cell_clip, lstm.projection_clip = clips
        lstm.bias.data.normal_()
        lstm.weight.data.mul_(3)
    return LanguageModel(bilm, words=30)


@pytest.mark.parametrize("clips", [(0.3, 0.1), (50.0, 50.0)])
def test_layers_and_gradients_are_those_of_the_reference(tmp_path, clips):
    text, batch = one_batch(tmp_path, SENTENCES)
    model = random_model(clips)
    inside = torch.from_numpy(batch.targets).flatten() != OUTSIDE
    weights = torch.randn(len(inside), OPTIONS.projection_dim) * inside[:, None]
    results = []
    for top in (features(model, batch, bfloat16=False)[0], reference(model.bilm, text, SENTENCES)):
        model.zero_grad()
        (top * weights).sum().backward()
        results.append([top[inside].detach(), *(parameter.grad for parameter in model.bilm.parameters())])
    assert (results[0][0].abs() <= 2 * clips[1]).all()
    torch.testing.assert_close(*results, atol=2e-5, rtol=1e-4)


def test_the_buffers_of_a_gpu_grow_with_the_need_and_are_never_larger_than_before():
    found = [room_for(needed, on_gpu=True) for needed in (100, 2**16, 2**16 + 2, 2**18)]
    assert found == [200, 2**17, 2**17, 2**18]
    assert room_for(100, on_gpu=False) == 100


@pytest.mark.slow
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_kernels_and_graphs_on_a_gpu_are_the_reference(tmp_path):
    text, batch = one_batch(tmp_path, SENTENCES)
    cpu = random_model((0.3, 0.1))
    gpu = copy.deepcopy(cpu).cuda()
    inside = torch.from_numpy(batch.targets).flatten() != OUTSIDE
    weights = torch.randn(len(inside), OPTIONS.projection_dim) * inside[:, None]
    top = reference(cpu.bilm, text, SENTENCES)
    (top * weights).sum().backward()
    for call in range(5):  # graphs replay from the third call on
        gpu.zero_grad()
        ours, _ = features(gpu, batch, bfloat16=False)
        (ours * weights.cuda()).sum().backward()
        torch.testing.assert_close(ours.cpu()[inside], top[inside], atol=1e-4, rtol=1e-3, msg=f"call {call}")
        for mine, theirs in zip(gpu.bilm.parameters(), cpu.bilm.parameters(), strict=True):
            torch.testing.assert_close(mine.grad.cpu(), theirs.grad, atol=1e-3, rtol=1e-2)


def softmax():
    torch.manual_seed(0)
    x, weight, bias = (torch.randn(size, requires_grad=True) for size in ((40, 8), (30, 8), (30,)))
    return (x, weight, bias), torch.randint(0, 30, (40,))


def check_gradients(ours, theirs, parameters):
    torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(*(torch.autograd.grad(2 * loss, parameters) for loss in (ours, theirs)))


def test_the_full_softmax_is_pytorchs():
    (x, weight, bias), targets = softmax()
    targets[3] = OUTSIDE
    mean, rows = cross_entropy(x, weight, bias, targets)
    assert rows[3] == 0
    check_gradients(mean, functional.cross_entropy(x @ weight.T + bias, targets, ignore_index=-1), (x, weight, bias))


def test_the_sampled_softmax_is_its_equation():
    (x, weight, bias), targets = softmax()
    sampler = Sampler(30, 10, torch.device("cpu"))
    torch.manual_seed(1)
    mean, _ = cross_entropy(x, weight, bias, targets, sampler)
    torch.manual_seed(1)
    drawn = sampler.draw()
    assert len(set(drawn.tolist())) == 10
    shift = bias - sampler.log_chance
    negatives = (x @ weight[drawn].T + shift[drawn]).masked_fill(drawn == targets[:, None], -torch.inf)
    true = (x * weight[targets]).sum(dim=1) + shift[targets]
    wanted = (torch.logaddexp(torch.logsumexp(negatives, dim=1), true) - true).mean()
    check_gradients(mean, wanted, (x, weight, bias))


def test_words_are_drawn_as_often_as_their_chance_says():
    torch.manual_seed(0)
    sampler, drawn = Sampler(200, 40, torch.device("cpu")), torch.zeros(200)
    for _ in range(2000):
        drawn[sampler.draw()] += 1
    torch.testing.assert_close(drawn / 2000, sampler.log_chance.exp(), atol=0.04, rtol=0)
    assert sampler.log_chance.exp().sum() == pytest.approx(40, abs=0.01)


def test_logits_in_blocks_have_the_same_losses_and_gradients(monkeypatch):
    parameters, targets = softmax()
    found = []
    for logits in (kernels.LOGITS, 7 * 64):  # seven rows at a time: 30 words are made up to 64
        monkeypatch.setattr(kernels, "LOGITS", logits)
        mean, rows = cross_entropy(*parameters, targets)
        found.append([mean, rows, *torch.autograd.grad(mean, parameters)])
    torch.testing.assert_close(*found)


def test_dropout_is_of_training_alone(tmp_path):
    _, batch = one_batch(tmp_path, SENTENCES)
    model = random_model((50.0, 50.0))
    with torch.no_grad():
        plain = features(model.eval(), batch, bfloat16=False)[0]
        model.dropout = 0.5
        assert torch.equal(features(model, batch, bfloat16=False)[0], plain)
        dropped = features(model.train(), batch, bfloat16=False)[0]
    assert (dropped == 0).float().mean() > 0.4


def test_rows_without_a_target_have_no_sampled_loss():
    parameters, targets = softmax()
    targets[3] = targets[7] = OUTSIDE
    found = []
    for some in (targets >= -9, targets != OUTSIDE):
        torch.manual_seed(1)
        sampler = Sampler(30, 10, torch.device("cpu"))
        mean, _ = cross_entropy(parameters[0][some], *parameters[1:], targets[some], sampler)
        found.append([mean, *torch.autograd.grad(mean, parameters)])
    torch.testing.assert_close(*found)
