"""`encoder=cove`: two biLSTMs over static vectors, equal to one plain nn.LSTM of two layers."""

import numpy as np
import pytest
import torch
from torch import nn

from elmo_bench.base.errors import UserError
from elmo_bench.encoders import cove
from elmo_bench.encoders.static import cache_folder, load_static

pytestmark = pytest.mark.usefixtures("own_cache")
WORDS = ["the", "Paris", "paris", "river", "of"]
TEXTS = [("the", "river", "of", "Paris"), ("Unknown",), ("THE", "paris"), ()]
WIDTH = 300


def published(seed=0, width=WIDTH):
    """A module in the exact layout of the published file."""
    torch.manual_seed(seed)
    return nn.LSTM(width, WIDTH, num_layers=2, bidirectional=True).eval()


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    path = tmp_path_factory.mktemp("cove") / "wmtlstm.pth"
    torch.save(published().state_dict(), path)
    return path


@pytest.fixture
def vectors(tmp_path):
    table = np.random.default_rng(0).normal(size=(len(WORDS), WIDTH)).round(4)
    path = tmp_path / "glove.txt"
    path.write_text("".join(f"{word} {' '.join(map(str, row))}\n" for word, row in zip(WORDS, table, strict=True)))
    return path


@torch.no_grad()
def by_hand(words, vectors, lstm):
    """[2, T, 600]: the first layer by a plain LSTM of one layer, the second as the output of the whole."""
    table = load_static(str(vectors))
    rows = [table.vectors[table.words.index(word)] if word in table.words else np.zeros(WIDTH) for word in words]
    x = torch.tensor(np.array(rows), dtype=torch.float32)
    first = nn.LSTM(WIDTH, WIDTH, bidirectional=True)
    first.load_state_dict({name: value for name, value in lstm.state_dict().items() if "_l0" in name})
    return torch.stack([first(x)[0], lstm(x)[0]])


@pytest.mark.parametrize("zipped", [True, False])
def test_layers_are_those_of_a_plain_lstm(tmp_path, vectors, zipped):
    torch.save(published().state_dict(), tmp_path / "x.pth", _use_new_zipfile_serialization=zipped)
    encoder = cove.load(weights=str(tmp_path / "x.pth"), inputs=str(vectors))
    assert (encoder.layers, encoder.dim) == (2, 600)
    assert encoder.parameters == sum(parameter.numel() for parameter in published().parameters())
    for words, layers in zip(TEXTS[:3], encoder.encode(TEXTS), strict=False):
        torch.testing.assert_close(layers, by_hand(words, vectors, published()), atol=1e-6, rtol=0)
        torch.testing.assert_close(encoder.encode([words])[0], layers, atol=1e-6, rtol=0)
    assert encoder.encode([()])[0].shape == (2, 0, 600)


def test_words_that_come_later_make_no_file_in_the_cache(weights, vectors):
    encoder = cove.load(weights=str(weights), inputs=str(vectors))
    encoder.expect(["the"])
    trimmed = cache_folder() / "trimmed"
    files = [*trimmed.iterdir()]
    encoder.encode([("the", "river")])
    assert len(files) == 1 and [*trimmed.iterdir()] == files


class Old:
    """A tensor as torch 0.3 pickled it."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __reduce__(self):
        tensor = self.tensor
        return torch._utils._rebuild_tensor, (tensor._typed_storage(), 0, tuple(tensor.shape), tensor.stride())


def test_a_file_of_old_torch_is_read(tmp_path, vectors):
    state = {name: Old(tensor) for name, tensor in published().state_dict().items()}
    torch.save(state, tmp_path / "x.pth", _use_new_zipfile_serialization=False)
    content = (tmp_path / "x.pth").read_bytes()
    assert b"_rebuild_tensor\n" in content
    # The class of a storage on a GPU, in the text of the pickle.
    (tmp_path / "x.pth").write_bytes(content.replace(b"ctorch\nFloatStorage", b"ctorch.cuda\nFloatStorage"))
    encoder = cove.load(weights=str(tmp_path / "x.pth"), inputs=str(vectors))
    torch.testing.assert_close(encoder.encode(TEXTS[:1])[0], by_hand(TEXTS[0], vectors, published()), atol=1e-6, rtol=0)


def test_the_vectors_are_part_of_the_checksum_and_must_fit(weights, vectors, tmp_path):
    encoder = cove.load(weights=str(weights), inputs=str(vectors))
    vectors.with_name("other.txt").write_text(vectors.read_text() + f"more {'1 ' * (WIDTH - 1)}1\n")
    assert cove.load(weights=str(weights), inputs=str(vectors.with_name("other.txt"))).checksum != encoder.checksum
    (tmp_path / "small.txt").write_text("the 1 2 3\n")
    with pytest.raises(UserError, match="vectors of 3 dimensions, but these biLSTMs read 300"):
        cove.load(weights=str(weights), inputs=str(tmp_path / "small.txt")).encode(TEXTS)


def test_a_missing_file_is_named_with_its_source(tmp_path, vectors):
    with pytest.raises(UserError) as raised:
        cove.load(weights=str(tmp_path / "none.pth"), inputs=str(vectors))
    assert str(raised.value) == (
        f"encoder.weights={tmp_path / 'none.pth'}: no such file. Download CoVe's wmtlstm-8f474287.pth, whose address "
        "is in cove/encoder.py of github.com/salesforce/cove, and give its path."
    )


class Harmful:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda state, _: {f"rnn.{name}": value for name, value in state.items()}, "no 'weight_ih_l0'"),
        (lambda state, _: {name: value for name, value in state.items() if name != "bias_hh_l1"}, "bias_hh_l0"),
        (lambda state, _: state | {"bias_hh_l1": torch.ones(3)}, "bias_hh_l0"),
        (lambda state, _: state | {"weight_ih_l0": torch.ones(1).expand(2**20, 2**20)}, "one after another"),
        (lambda state, _: state | {"bias_hh_l1": 3}, "not an array"),
        (lambda state, path: state | {"bias_hh_l1": Harmful(path)}, "the state of a bidirectional LSTM"),
        (lambda state, _: [1], "the state of a bidirectional LSTM"),
    ],
)
def test_a_file_of_something_else_is_one_line_and_runs_no_code(tmp_path, change, said):
    torch.save(change(dict(published().state_dict()), tmp_path / "ran"), tmp_path / "x.pth")
    with pytest.raises(UserError, match=said):
        cove.read_lstms(tmp_path / "x.pth")
    assert not (tmp_path / "ran").exists()
