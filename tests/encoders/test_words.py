"""Word vectors: which word has which row, what starts where, and that the unknown word is trained."""

import numpy as np
import pytest
import torch

from elmo_bench.encoders.embedder import HIDDEN, LearnedWords, StaticWords
from elmo_bench.encoders.static import StaticVectors
from elmo_bench.text.vocabulary import PADDING, UNKNOWN

KNOWN = ["the", "cat", "dog", "unread"]
WORDS = ["the", "zyx", "Cat", "qqq", "www"]  # the first two occur twice or more; the last two have no vector


@pytest.fixture
def vectors():
    return StaticVectors(KNOWN, np.random.default_rng(0).normal(0.3, 2, (4, 40)).astype(np.float32), "0" * 64)


def test_each_training_word_without_a_vector_has_a_row_of_its_own(vectors):
    words = StaticWords(vectors, WORDS, repeated=2, trainable=True).eval()
    rows = [words.index(word) for word in ("zyx", "qqq", "www", "other", "more")]
    assert rows[3:] == [UNKNOWN, UNKNOWN]
    assert len(set(rows)) == 4
    found = words(torch.tensor([rows]))[0]
    assert (found[3] == found[4]).all()
    assert all((found[i] - found[j]).abs().min() > 0 for i in range(4) for j in range(i))
    words(torch.tensor([[rows[0]]])).sum().backward()
    changed = words.correction.weight.grad.abs().sum(dim=1) > 0
    assert changed.tolist() == [row == words.slots[rows[0]] for row in range(len(changed))]


def test_a_correction_is_kept_for_what_training_reads_and_nothing_else(vectors):
    words = StaticWords(vectors, WORDS, repeated=2, trainable=True)
    assert len(words.correction.weight) == 1 + 1 + 3 + 2  # padding, unknown, zyx qqq www, the cat
    assert list(words.state_dict()) == ["correction.weight"]
    start = torch.from_numpy(vectors.vectors)
    rows = torch.tensor([[words.index(word) for word in KNOWN]])
    torch.testing.assert_close(words.eval()(rows)[0], start)
    # new rows: 4 x 40 numbers with the mean and the deviation of the two vectors that training reads
    new = words.correction.weight[1:5]
    assert new.mean().item() == pytest.approx(start[:2].mean().item(), abs=0.5)
    assert new.std().item() == pytest.approx(start[:2].std().item(), rel=0.2)


def test_fixed_vectors_have_no_row_for_other_words(vectors):
    words = StaticWords(vectors, WORDS, repeated=2, trainable=False).train()
    assert {words.index(word) for word in ("zyx", "qqq", "other")} == {UNKNOWN}
    assert not words(torch.tensor([[UNKNOWN]])).any()
    assert not list(words.parameters())


def test_words_that_occur_once_are_hidden_half_of_the_time_in_training_alone(vectors):
    torch.manual_seed(0)
    static = StaticWords(vectors, WORDS, repeated=2, trainable=True)
    learned = LearnedWords(WORDS, 40, repeated=2)
    for words, often, once in ((static, ["the", "zyx", "Cat"], ["qqq", "www"]), (learned, WORDS[:2], WORDS[2:])):
        for word in often + once:
            rows = torch.full((1, 4000), words.index(word))
            unknown = words.eval()(torch.full((1, 1), UNKNOWN))
            hidden = (words.train()(rows) == unknown).all(dim=2).float().mean().item()
            assert hidden == pytest.approx(HIDDEN if word in once else 0, abs=0.04), word
            assert not (words.eval()(rows) == unknown).all(dim=2).any()


def test_learned_vectors_start_with_uniform_numbers_and_zeros_for_padding():
    torch.manual_seed(0)
    table = LearnedWords([f"w{number}" for number in range(500)], 12, repeated=9).table.weight
    assert 0.49 < table.abs().max() <= 0.5  # the root of 3 / 12
    assert not table[PADDING].any()
