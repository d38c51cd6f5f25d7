"""`encoder=hf`: a frozen transformer of any kind through the same layers, mixes and records as ELMo."""

import itertools
import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from elmo_bench.base.errors import UserError
from elmo_bench.encoders.hf import HfEncoder
from tests.encoders.test_cove import Harmful
from tests.tiny_bert import BLOCKS, WIDTH

pytest.importorskip("transformers")
TEXTS = [("Anna", "lives", "here", "."), ("unbelievable",), ("a", "b", "a", "unbelievable", "b")]


@pytest.fixture(scope="module")
def encoder(tiny_bert):
    return HfEncoder(weights=str(tiny_bert))


def test_a_long_text_is_read_in_parts_and_says_so(tiny_bert, capsys):
    encoder = HfEncoder(weights=str(tiny_bert))
    words = ["a", "unbelievable", "b"] * 30
    [layers] = encoder.encode([words])
    assert layers.shape == (BLOCKS + 1, 90, WIDTH)
    assert "are read in parts" in capsys.readouterr().err
    # A part but the last has fewer than 28 pieces; the long word takes three.
    for start, end in itertools.pairwise((0, 16, 31, 46, 61, 76, 90)):
        [part] = encoder.encode([words[start:end]])
        torch.testing.assert_close(layers[:, start:end], part, atol=1e-5, rtol=0)


def test_bfloat16_is_another_encoder_and_close(tiny_bert, encoder):
    rounded = HfEncoder(weights=str(tiny_bert), precision="bfloat16")
    assert rounded.checksum == f"{encoder.checksum} bfloat16.2"
    for mine, exact in zip(rounded.encode(TEXTS), encoder.encode(TEXTS), strict=True):
        assert mine.dtype == torch.float32
        assert 1e-5 < (mine - exact).square().mean().sqrt() / exact.square().mean().sqrt() < 0.02
    with pytest.raises(UserError, match="precision=half: unknown"):
        HfEncoder(weights=str(tiny_bert), precision="half")


def pickled(folder, other, content):
    """A copy of the folder with pickled weights, which `content` makes of its tensors."""
    shutil.copytree(folder, other)
    torch.save(content(load_file(other / "model.safetensors")), other / "pytorch_model.bin")
    (other / "model.safetensors").unlink()
    return other


def test_pickled_weights_are_read_as_tensors(tiny_bert, encoder, tmp_path):
    old = HfEncoder(weights=str(pickled(tiny_bert, tmp_path / "old", dict)))
    torch.testing.assert_close(old.encode(TEXTS), encoder.encode(TEXTS), atol=0, rtol=0)
    assert old.checksum != encoder.checksum


def test_code_in_pickled_weights_never_runs(tiny_bert, tmp_path):
    own = pickled(tiny_bert, tmp_path / "own", lambda tensors: tensors | {"x": Harmful(tmp_path / "ran")})
    with pytest.raises(UserError, match="that transformers can load"):
        HfEncoder(weights=str(own))
    assert not (tmp_path / "ran").exists()


def test_other_folders_are_refused(tiny_bert, tmp_path):
    bare = with_tensors(tiny_bert, tmp_path / "bare", dict)
    (bare / "model.safetensors").unlink()
    for weights, said in (
        (bare, "no weights there"), (tmp_path, "no config.json there"), ("./modle", "no such folder"),
    ):  # fmt: skip
        with pytest.raises(UserError, match=said):
            HfEncoder(weights=str(weights))


def test_a_tokeniser_is_needed_and_must_be_that_of_the_model(tiny_bert, tmp_path):
    """transformers makes up a tokeniser of markers alone for a folder without one: every word would be unknown."""
    saved = {path.name for path in tiny_bert.iterdir()} - {"config.json", "model.safetensors"}
    bare = with_tensors(tiny_bert, tmp_path / "bare", dict)
    for name in saved:
        (bare / name).unlink(missing_ok=True)
    with pytest.raises(UserError, match="no tokeniser there"):
        HfEncoder(weights=str(bare))
    larger = with_tensors(tiny_bert, tmp_path / "larger", dict)
    own = json.loads((larger / "tokenizer.json").read_text(encoding="utf-8"))
    own["model"]["vocab"]["zebra"] = 999
    (larger / "tokenizer.json").write_text(json.dumps(own), encoding="utf-8")
    encoder = HfEncoder(weights=str(larger))
    with pytest.raises(UserError, match="piece number 999, but the model knows"):
        encoder.encode([["zebra"]])


QUERY = "encoder.layer.1.attention.self.query.weight"


@pytest.mark.parametrize(
    "change",
    [
        lambda tensors: {f"module.{key}": value for key, value in tensors.items()},
        lambda tensors: {key: value for key, value in tensors.items() if key != QUERY},
        lambda tensors: tensors | {QUERY: torch.zeros(3, 3)},
        lambda tensors: {},
    ],
    ids=["of DistributedDataParallel", "one missing", "another size", "none"],
)
def test_weights_that_the_file_lacks_are_not_drawn_at_random(tiny_bert, tmp_path, change):
    with pytest.raises(UserError, match=r"\d+ of the weights in config.json are missing") as error:
        HfEncoder(weights=str(with_tensors(tiny_bert, tmp_path / "other", change)))
    assert any(part in str(error.value) for part in (QUERY, "embeddings"))


def with_tensors(folder, other, change):
    """A copy of the folder whose tensors were changed."""
    shutil.copytree(folder, other)
    tensors = change(load_file(other / "model.safetensors"))
    save_file(tensors, other / "model.safetensors", metadata={"format": "pt"})
    return other


def test_code_of_the_folder_never_runs(tiny_bert, tmp_path):
    own = tmp_path / "own"
    shutil.copytree(tiny_bert, own)
    about = json.loads((own / "config.json").read_text())
    about["model_type"] = "mine"
    about["auto_map"] = {"AutoConfig": "code.MineConfig", "AutoModel": "code.Mine"}
    (own / "config.json").write_text(json.dumps(about))
    (own / "code.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    with pytest.raises(UserError, match="that transformers can load"):
        HfEncoder(weights=str(own))
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes", RuntimeError),
        ("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`", RuntimeError),
        ("CUDA error: an illegal memory access was encountered", RuntimeError),
        ("CUDA error: device-side assert triggered", UserError),
        ("The size of tensor a (37) must match the size of tensor b (32)", UserError),
    ],
)
def test_an_error_of_the_machine_is_not_reported_as_too_many_pieces(tiny_bert, monkeypatch, said, kind):
    encoder = HfEncoder(weights=str(tiny_bert))

    def fail(**_):
        raise RuntimeError(said)

    monkeypatch.setattr(encoder, "model", fail)
    monkeypatch.setattr(encoder, "name", "user/repo")  # whose files are in a cache folder
    ids = torch.ones(1, 37, dtype=torch.long)
    with pytest.raises(kind) as error:
        encoder._forward(ids, ids)
    assert ("encoder.name=user/repo: cannot read 37 pieces at once" in str(error.value)) == (kind is UserError)
