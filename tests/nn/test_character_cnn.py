"""The character CNN of a task: a word is read alone, as by plain modules."""

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from elmo_bench.nn import character_cnn
from elmo_bench.nn.character_cnn import CharacterCnn
from elmo_bench.text.vocabulary import Vocabulary


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
    torch.testing.assert_close(ours, theirs, atol=1e-10, rtol=0)


def test_blocks_of_words_have_the_values_and_gradients_of_the_whole(monkeypatch):
    torch.manual_seed(0)
    cnn = character_cnn.CharacterCnn(Vocabulary("abcdefgh"), dim=5, filters=[[3, 7]]).double()
    rows, found = torch.randint(1, 10, (7, 9)), []
    for characters in (character_cnn.AT_ONCE, 18):  # two words at a time
        monkeypatch.setattr(character_cnn, "AT_ONCE", characters)
        y = cnn(rows)
        found.append([y, *torch.autograd.grad(y.square().sum(), list(cnn.parameters()))])
    torch.testing.assert_close(*found)


class Sums(TorchDispatchMode):
    """The types in which `scatter_add_` accumulates. On a GPU each addition rounds to them."""

    def __init__(self):
        super().__init__()
        self.kinds = set()

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        if operation is torch.ops.aten.scatter_add_.default:
            self.kinds.add(args[0].dtype)
        return operation(*args, **(kwargs or {}))


def test_gradients_of_many_words_are_summed_in_float32_under_autocast():
    torch.manual_seed(0)
    cnn = CharacterCnn(Vocabulary("abc"), dim=5, filters=[[3, 7]])
    rows = torch.tensor([[2, 3, 4]]).expand(2000, -1)  # bfloat16 counts to 256
    found = []
    for is_mixed in (False, True):
        with torch.autocast("cpu", torch.bfloat16, enabled=is_mixed):
            y = cnn(rows)
        with Sums() as sums:
            found.append(torch.autograd.grad(y.float().sum(), list(cnn.parameters())))
        assert sums.kinds == {torch.float32}
    torch.testing.assert_close(*found, atol=0.5, rtol=0.02)
