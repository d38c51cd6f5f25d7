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


def test_characters_equal_a_plain_loop_over_windows():
    torch.manual_seed(0)
    cnn = CharacterCnn(Vocabulary("abc"), dim=2, filters=[[3, 4]])
    [convolution] = cnn.convolutions
    rows = cnn.embedding.weight[[2, 3]]  # the word "ab"
    padded = torch.cat([torch.zeros(2, 2), rows, torch.zeros(2, 2)])
    windows = [(convolution.weight * padded[s : s + 3].T).sum(dim=(1, 2)) + convolution.bias for s in range(4)]
    expected = torch.stack(windows).relu().amax(dim=0)
    found = cnn(torch.tensor([[2, 3, 0, 0, 0, 0]]))[0]
    torch.testing.assert_close(found, expected)


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
