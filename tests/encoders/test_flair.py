"""`encoder=flair`: character language models in flair's own files, with flair's own vectors; no pickle is run."""

import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from elmo_bench.base.errors import UserError
from elmo_bench.encoders import flair
from elmo_bench.encoders.torch_pickle import Record, read_saved
from elmo_bench.ledger import check_record
from elmo_bench.runner.run import run
from elmo_bench.spec.config import compose
from tests.runs import SMALL

GOLDEN = Path(__file__).parents[1] / "golden" / "flair"
RECORDED = np.load(GOLDEN / "vectors.npz")
SENTENCES = [["The", "cat", "sat", "."], ["Zürich"], ["naïve", "x😀y", "(", "a", ")"], ["long" * 90, "and", "w" * 700]]
EXPECTED = [RECORDED[f"s{number}"] for number in range(len(SENTENCES))]


@pytest.fixture(scope="module")
def encoder():
    return flair.load(weights=str(GOLDEN))


def test_vectors_are_those_of_flair(encoder):
    assert (encoder.layers, encoder.dim) == (1, 11)
    for found, expected in zip(encoder.encode([*SENTENCES, ()]), EXPECTED, strict=False):
        assert found.shape == (1, *expected.shape)
        np.testing.assert_allclose(found[0], expected, atol=1e-6, rtol=0)
    assert encoder.encode([()])[0].shape == (1, 0, 11)


@pytest.mark.parametrize("chunk", [1, 7])
def test_neither_chunks_nor_other_sentences_change_a_vector(encoder, monkeypatch, chunk):
    monkeypatch.setattr(flair, "CHUNK", chunk)
    for sentence, expected in zip(SENTENCES[:3], EXPECTED, strict=False):
        np.testing.assert_allclose(encoder.encode([sentence])[0][0], expected, atol=1e-6, rtol=0)


@pytest.mark.parametrize(("name", "columns"), [("forward", slice(0, 6)), ("backward", slice(6, 11))])
def test_one_direction_alone(name, columns):
    encoder = flair.load(weights=str(GOLDEN / f"{name}.pt"))
    for found, expected in zip(encoder.encode(SENTENCES), EXPECTED, strict=True):
        np.testing.assert_allclose(found[0], expected[:, columns], atol=1e-6, rtol=0)


class Dictionary:
    """Pickled under the name of flair's class."""

    def __init__(self, record):
        self.__dict__.update(record.attributes)


Dictionary.__module__, Dictionary.__qualname__ = "flair.data", "Dictionary"


@pytest.fixture
def saved(monkeypatch):
    """What backward.pt holds, ready to be pickled again."""
    import sys
    import types

    module = types.ModuleType("flair.data")
    module.Dictionary = Dictionary
    monkeypatch.setitem(sys.modules, "flair", types.ModuleType("flair"))
    monkeypatch.setitem(sys.modules, "flair.data", module)
    found = read_saved(GOLDEN / "backward.pt", "a model")
    assert isinstance(found["dictionary"], Record)
    return found | {"dictionary": Dictionary(found["dictionary"])}


@pytest.mark.parametrize("protocol", [2, 4, 5])
@pytest.mark.parametrize("zipped", [True, False])
def test_every_layout_of_torch_is_read(saved, tmp_path, zipped, protocol):
    torch.save(saved, tmp_path / "x.pt", _use_new_zipfile_serialization=zipped, pickle_protocol=protocol)
    encoder = flair.load(weights=str(tmp_path / "x.pt"))
    np.testing.assert_allclose(encoder.encode(SENTENCES[:1])[0][0], EXPECTED[0][:, 6:], atol=1e-6, rtol=0)


class Harmful:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_code_in_a_file_never_runs(saved, tmp_path, zipped, protocol):
    content = saved | {"more": Harmful(tmp_path / "ran")}
    torch.save(content, tmp_path / "x.pt", _use_new_zipfile_serialization=zipped, pickle_protocol=protocol)
    with pytest.raises(UserError, match="not a character language model of flair") as error:
        flair.load(weights=str(tmp_path / "x.pt"))
    assert "\n" not in str(error.value)
    assert not (tmp_path / "ran").exists()
    (tmp_path / "y.pt").write_bytes(pickle.dumps(Harmful(tmp_path / "ran")))
    with pytest.raises(UserError, match="not a character language model of flair"):
        flair.load(weights=str(tmp_path / "y.pt"))
    assert not (tmp_path / "ran").exists()


def with_tensor(found, name, tensor):
    return found | {"state_dict": found["state_dict"] | {name: tensor}}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda found: {key: value for key, value in found.items() if key != "nlayers"}, "no 'nlayers'"),
        (lambda found: found | {"nlayers": 10**6}, "1000000 layers"),
        (lambda found: found | {"nlayers": 1}, "is missing, or not expected"),
        (lambda found: found | {"recurrent_type": "GRU"}, "not an LSTM"),
        (lambda found: found | {"dictionary": {}}, "its dictionary is not"),
        (lambda found: found | {"state_dict": found["state_dict"] | {"proj.weight": torch.ones(5, 9)}}, "proj.weight"),
        (
            lambda found: found | {"state_dict": found["state_dict"] | {"proj.bias": torch.full((5,), torch.nan)}},
            "finite",
        ),
        (
            lambda found: found | {"state_dict": found["state_dict"] | {"proj.bias": torch.ones(1).expand(5)}},
            "one after",
        ),
    ],
)
def test_a_file_of_something_else_is_one_line(saved, tmp_path, change, said):
    torch.save(change(saved), tmp_path / "x.pt")
    with pytest.raises(UserError, match=said) as error:
        flair.load(weights=str(tmp_path / "x.pt"))
    assert "\n" not in str(error.value)


def test_two_models_of_one_direction_are_refused(tmp_path):
    for name in ("a.pt", "b.pt"):
        shutil.copy(GOLDEN / "forward.pt", tmp_path / name)
    (tmp_path / "empty").mkdir()
    for folder in (tmp_path, tmp_path / "empty"):
        with pytest.raises(UserError, match="not one forward and one backward model"):
            flair.load(weights=str(folder))


def test_a_run_reads_them(tmp_path):
    options = [f"encoder.weights={GOLDEN}", "store=ram", f"ledger={tmp_path}"]
    record, _ = run(compose("config", ["encoder=flair", *SMALL, *options]))
    check_record(record)
    assert record["spec"]["settings"]["encoder.weights"] == "flair"
    assert record["layer_weights"][0]["input"]["weights"] == [1.0]
