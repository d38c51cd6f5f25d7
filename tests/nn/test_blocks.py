"""Building blocks: padding is never read, dropout keeps its mask over time."""

import pytest
import torch

from elmo_bench.nn.character_cnn import CharacterCnn
from elmo_bench.nn.dropout import VariationalDropout
from elmo_bench.text.batch import Indexer
from elmo_bench.text.vocabulary import Vocabulary


def test_characters_do_not_depend_on_how_far_a_word_is_padded():
    torch.manual_seed(0)
    cnn = CharacterCnn(Vocabulary("abcdefgh"), dim=5, filters=[[1, 3], [3, 7], [5, 4]])
    index = Indexer(words=None, characters=cnn.vocabulary, layers={})
    texts = [("a", "ba", "headache"), ("xyz",), ("deaf", "c")]
    together = cnn(index(texts).characters)
    assert together.shape == (7, cnn.dim) == (7, 14)
    for row, word in enumerate(("", *(word for text in texts for word in text))):
        alone = cnn(index([(word,)]).characters)[1]
        torch.testing.assert_close(together[row], alone, atol=1e-6, rtol=0)


def test_characters_equal_plain_modules_word_by_word():
    """Values and gradients: an embedding, valid convolutions over each word, ReLU, maximum."""
    torch.manual_seed(0)
    cnn = CharacterCnn(Vocabulary("abcdefgh"), dim=5, filters=[[1, 3], [3, 7], [5, 4]]).double()
    words = [[2], [3, 2], [4, 1, 5], [9, 2, 8, 3], [2, 3, 4, 5, 6, 7], [5] * 9]
    weights = torch.randn(len(words), cnn.dim, dtype=torch.float64)
    pooled = []
    for word in words:
        x = cnn.embedding(torch.tensor(word)).T  # DC
        parts = []
        for convolution in cnn.convolutions:
            short = max(0, convolution.kernel_size[0] - len(word))
            parts.append(convolution(torch.nn.functional.pad(x, (0, short))).relu().amax(dim=1))
        pooled.append(torch.cat(parts))
    plain = torch.stack(pooled)
    rows = torch.nn.utils.rnn.pad_sequence([torch.tensor(word) for word in words], batch_first=True)
    found = cnn(rows)
    torch.testing.assert_close(found, plain, atol=1e-10, rtol=0)
    ours, theirs = (torch.autograd.grad((y * weights).sum(), list(cnn.parameters())) for y in (found, plain))
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, atol=1e-10, rtol=0)


def test_characters_start_small_and_padding_with_zeros():
    cnn = CharacterCnn(Vocabulary("abcdefgh"), dim=6, filters=[[3, 20]])
    assert 0 < cnn.embedding.weight.abs().max() <= (6 / (10 + 6)) ** 0.5
    assert not cnn.embedding.weight[0].any()
    assert cnn.convolutions[0].weight.abs().max() <= (6 / (3 * (6 + 20))) ** 0.5
    assert not cnn.convolutions[0].bias.any()


def test_variational_dropout_has_one_mask_a_sequence():
    torch.manual_seed(0)
    dropped = VariationalDropout(0.5)(torch.ones(6, 9, 50))
    assert set(dropped.unique().tolist()) == {0.0, 2.0}
    assert (dropped == dropped[:, :1]).all()
    assert not (dropped[0, 0] == dropped[1, 0]).all()
    assert dropped.mean().item() == pytest.approx(1, abs=0.2)


def test_variational_dropout_does_nothing_in_evaluation():
    x = torch.randn(2, 3, 4)
    assert VariationalDropout(0.5).eval()(x) is x
    assert VariationalDropout(0.0)(x) is x
