"""What `check_encoder` refuses, each in one line that says what to write."""

import sys
from types import SimpleNamespace

import pytest
import torch

from elmo_bench.base import include
from elmo_bench.base.errors import UserError
from elmo_bench.encoders.checks import check_encoder
from elmo_bench.runner.heads import build_stores
from elmo_bench.spec.names import load_encoder
from tests.word_encoder import WordEncoder


def encoder(encode=None, **changed):
    """A sound encoder with some attributes changed; None removes one."""
    made = {"checksum": "a", "layers": 2, "dim": 3, "parameters": 0, "device": torch.device("cpu")} | changed
    made["encode"] = encode or (lambda texts: [torch.full((2, len(text), 3), float(len(text))) for text in texts])
    return SimpleNamespace(**{name: value for name, value in made.items() if value is not None})


def random_vectors(texts):
    return [torch.rand(2, len(text), 3) for text in texts]


def padded(texts):
    """The vectors of a text depend on the longest one of the call."""
    return [torch.full((2, len(text), 3), float(max(map(len, texts)))) for text in texts]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"checksum": None}, "checksum is None. Give a text"), ({"checksum": b"a"}, "checksum is b'a'. Give a text"),
        ({"layers": 0}, "layers is 0"), ({"layers": True}, "layers is True"), ({"dim": 3.0}, "dim is 3.0"),
        ({"dim": None}, "dim is None"), ({"parameters": -1}, "parameters is -1"), ({"device": "cpu"}, "a torch.device"),
        ({"device": torch.device("cuda")}, "device is device.type='cuda'.. Give a torch.device that is here"),
        ({"dim": 4}, r"float32 \[2, 2, 3\] for a sentence of 2 tokens. Return a float32 tensor \[2, 2, 4\]"),
        ({"layers": 1}, r"Return a float32 tensor \[1, 2, 3\]"),
        ({"encode": lambda texts: torch.ones(3, 2, 9, 3)}, "gives a Tensor for 3 sentences. Return a list"),
        ({"encode": lambda texts: [torch.ones(2, 2, 3)]}, "gives 1 tensors for 3 sentences"),
        ({"encode": lambda texts: [torch.ones(2, len(t), 3).double() for t in texts]}, "gives torch.float64"),
        ({"encode": lambda texts: [torch.full((2, len(t), 3), torch.nan) for t in texts]}, "not finite"),
        ({"encode": lambda texts: [torch.ones(2, len(t), 3, requires_grad=True) for t in texts]}, "need gradients"),
        ({"encode": random_vectors}, "other vectors in another call"),
        ({"encode": padded}, "other vectors in another call"),
    ],
)  # fmt: skip
def test_a_wrong_encoder_is_refused_in_one_line(wrong, said, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    check_encoder(encoder(), name="mine")
    check_encoder(WordEncoder(), name="mine")
    with pytest.raises(UserError, match=f"^mine: .*{said}"):
        check_encoder(encoder(**wrong), name="mine")


def test_words_are_expected_before_they_are_encoded():
    expected = set()

    def encode(texts):
        assert {word for text in texts for word in text} <= expected
        return [torch.ones(2, len(text), 3) for text in texts]

    check_encoder(encoder(encode, expect=expected.update), name="mine")
    assert expected


CODE = """
import torch

class Mine:
    checksum, layers, dim, parameters, device = "1", 1, 1, 0, torch.device("cpu")

    def encode(self, texts):
        return [torch.full((1, len(text), 1), {value}) for text in texts]

load = Mine
"""


@pytest.fixture
def included(tmp_path, forgotten):
    """`included(value) -> encoder` of a module in an included folder, which gives this value."""
    path = tmp_path / "encoders" / "included_here.py"
    path.parent.mkdir()
    include.include(tmp_path)

    def load(value):
        path.write_text(CODE.format(value=value))
        sys.modules.pop("elmo_bench.encoders.included_here", None)
        return load_encoder("included_here")

    sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
    yield load
    sys.dont_write_bytecode = before


def test_an_included_encoder_is_checked_when_it_is_loaded(included):
    with pytest.raises(UserError, match=r"^encoder.contextual.kind=included_here: encode gives numbers that are not"):
        included("float('nan')")


def test_layers_of_included_code_that_changed_are_not_read_again(included, tmp_path):
    for value in (1.0, 2.0, 1.0):
        store = {"mode": "disk", "folder": tmp_path / "layers"}
        setup = SimpleNamespace(encoders={"": {"kind": "included_here"}}, store=store)
        [store] = build_stores(setup, {"": included(value)}).values()
        store.fill([("a", "b")])
        assert store.batch([("a", "b")]).tolist() == [[[[value], [value]]]]
    assert len([*(tmp_path / "layers").iterdir()]) == 2


def test_layers_of_another_option_of_an_encoder_have_a_folder_of_their_own(tmp_path):
    encoder = SimpleNamespace(layers=1, dim=2, checksum="c", device="cpu")
    store = {"mode": "disk", "folder": tmp_path}
    setups = [SimpleNamespace(encoders={"": {"kind": "random", "scale": scale}}, store=store) for scale in (1, 1, 2)]
    first, again, other = (build_stores(setup, {"": encoder})[""]._folder for setup in setups)
    assert first == again != other
