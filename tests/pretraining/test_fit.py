"""A softmax fitted to a frozen encoder: far better than guessing, and the encoder is as it was, bit for bit."""

import shutil

import pytest
import torch

from elmo_bench.base.errors import UserError
from elmo_bench.elmo.pretrained import load_bilm
from elmo_bench.pretraining import CONF, finetune
from elmo_bench.pretraining.corpus import Corpus, count_words
from elmo_bench.pretraining.perplexity import perplexity
from elmo_bench.pretraining.vocabulary import TargetVocabulary
from elmo_bench.spec.config import compose
from tests.pretraining.corpora import made_up
from tests.runs import GOLDEN


@pytest.fixture
def corpus(tmp_path):
    for name, seed in (("train.txt", 0), ("heldout.txt", 9)):
        lines = [" ".join(sentence) for sentence in made_up(300, seed)]
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


@pytest.fixture
def vocabulary(corpus):
    return TargetVocabulary.of(count_words(Corpus((corpus / "train.txt",))).words, 100)


def fitted(corpus, vocabulary, steps, **options):
    bilm, _ = load_bilm(str(GOLDEN))
    before = {name: value.clone() for name, value in bilm.state_dict().items()}
    text = Corpus((corpus / "train.txt",))
    model = finetune.fit_softmax(bilm, text, vocabulary, steps=steps, samples=8, learning_rate=0.1, **options)
    assert model.bilm is bilm
    for name, value in bilm.state_dict().items():
        assert torch.equal(value, before[name])
        assert not value.requires_grad
    return model


def test_a_fitted_softmax_is_far_better_than_guessing(corpus, vocabulary, monkeypatch, capsys):
    monkeypatch.setattr(finetune, "BATCH", 256)
    heldout = Corpus((corpus / "heldout.txt",))
    assert len(vocabulary) == 15  # with one word each it is the perplexity of guessing
    found = perplexity(fitted(corpus, vocabulary, 300), vocabulary, heldout)
    assert found.forward < 5
    assert found.backward < 5
    said = " ".join(capsys.readouterr().err.split())
    assert "these weights have no softmax: fitting one of 15 words, with the encoder frozen, 300 steps of 256" in said


def test_the_same_seed_gives_the_same_softmax(corpus, vocabulary, monkeypatch):
    monkeypatch.setattr(finetune, "BATCH", 64)
    first, again, other = (fitted(corpus, vocabulary, 3, seed=seed).softmax.weight for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_batches_hold_every_target_once_a_pass(corpus, vocabulary, monkeypatch):
    monkeypatch.setattr(finetune, "BATCH", 50)
    bilm, _ = load_bilm(str(GOLDEN))
    text = [[*sentence] for sentence in made_up(300, 0)]
    targets = sum(len(sentence) + 1 for sentence in text)
    alone = finetune.Alone(bilm, vocabulary)
    counts = torch.zeros(2, len(vocabulary), dtype=torch.int64)
    batches = finetune._batches(alone, Corpus((corpus / "train.txt",)), 0)
    for _ in range(4 * targets // 50):
        tops, found = next(batches)
        assert tops.shape == (2, 50, bilm.options.projection_dim)
        counts += torch.stack([torch.bincount(row, minlength=len(vocabulary)) for row in found])
    ends = counts[0, 1], counts[1, 0]  # </S> forward, <S> backward: once a sentence
    assert ends[0] == ends[1]
    assert counts[0, 0] == counts[1, 1] == 0
    words = [word for sentence in text for word in sentence]
    for word in ("the", ".", "cats", "very"):
        wanted = 4 * words.count(word)
        assert counts[0, vocabulary.words.index(word)].item() == pytest.approx(wanted, rel=0.15)


def test_no_text_is_one_clear_line(corpus, vocabulary):
    (corpus / "train.txt").write_text("\n")
    with pytest.raises(UserError, match="fewer sentences"):
        fitted(corpus, vocabulary, 1)


def test_a_softmax_without_its_vocabulary_is_not_replaced(corpus, tmp_path):
    for name in ("options.json", "weights.hdf5"):
        shutil.copy(GOLDEN / name, tmp_path / name)
    (tmp_path / "softmax.safetensors").touch()
    options = [f"weights={tmp_path}", f"corpus={corpus / 'train.txt'}", f"out={tmp_path / 'out'}"]
    with pytest.raises(UserError, match="its vocabulary is missing"):
        finetune.finetune(compose("finetune", options, folder=CONF))
