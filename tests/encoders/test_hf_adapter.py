"""`encoder=hf` with a LoRA adapter in the model's folder: it is merged, or refused in one sentence."""

import shutil
import sys

import pytest
import torch

from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import noted
from elmo_bench.encoders.hf import HfEncoder
from elmo_bench.encoders.hf_adapter import read_adapter
from tests.tiny_bert import ALPHA, RANK, WIDTH, lora_matrices, make_adapter

transformers = pytest.importorskip("transformers")


@pytest.fixture
def folder(tiny_bert, tmp_path):
    return shutil.copytree(tiny_bert, tmp_path / "model")


@pytest.mark.slow  # importing peft takes seconds
@pytest.mark.parametrize("prefix", ["", "bert."])
def test_the_vectors_are_those_of_the_merged_weights(folder, tmp_path, prefix):
    """The reference adds alpha / r · B A to the weights by hand. A head's weights are not used."""
    pytest.importorskip("peft")
    plain = HfEncoder(weights=str(folder))
    by_hand = shutil.copytree(folder, tmp_path / "by-hand")
    model = transformers.BertModel.from_pretrained(folder)
    tensors = lora_matrices(prefix)
    for block, layer in enumerate(model.encoder.layer):
        name = f"base_model.model.{prefix}encoder.layer.{block}.attention.self.query.lora_"
        change = tensors[f"{name}B.weight"] @ tensors[f"{name}A.weight"]
        layer.attention.self.query.weight.data += ALPHA / RANK * change
    model.save_pretrained(by_hand)
    make_adapter(folder, tensors | {"base_model.model.classifier.weight": torch.ones(2, WIDTH)})
    with noted() as notes:
        adapted = HfEncoder(weights=str(folder))
    assert notes == ["model: its LoRA adapter is merged into the model"]
    assert "with its adapter" in repr(adapted)
    text = [("Anna", "lives", "here")]
    [expected] = HfEncoder(weights=str(by_hand)).encode(text)
    [layers] = adapted.encode(text)
    torch.testing.assert_close(layers, expected)
    assert not torch.allclose(layers, plain.encode(text)[0])
    assert adapted.checksum != plain.checksum
    assert adapted.parameters == plain.parameters


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tensors", "config"),
    [
        (lora_matrices(rank=3), {}),
        (lora_matrices(), {"r": 10**9}),
        (lora_matrices(), {"rank_pattern": {"query": 10**9}}),
        (lora_matrices(), {"target_modules": ["key"]}),
        (lora_matrices(), {"target_modules": ["query", "key"]}),
        (lora_matrices() | {"base_model.model.none.lora_A.weight": torch.ones(RANK, WIDTH)}, {}),
        ({}, {}),
    ],
)
def test_an_adapter_that_does_not_fit_the_network_is_refused(folder, tensors, config):
    pytest.importorskip("peft")
    make_adapter(folder, tensors, **config)
    with pytest.raises(UserError, match="not the LoRA adapter of this model, or damaged"):
        HfEncoder(weights=str(folder))


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"peft_type": "IA3"}, "an adapter of kind 'IA3', not LORA"),
        ({"peft_type": None}, "an adapter of kind None, not LORA"),
        ({"use_dora": True}, "use_dora is a setting that is not supported"),
        ({"init_lora_weights": "pissa"}, "init_lora_weights is a setting that is not supported"),
        ({"trainable_token_indices": [1]}, "trainable_token_indices is a setting that is not supported"),
    ],
)
def test_an_adapter_that_is_not_plain_lora_is_refused(folder, config, message):
    make_adapter(folder, **config)
    with pytest.raises(UserError, match=f"{message}. Merge it with model.merge_and_unload"):
        HfEncoder(weights=str(folder))


def test_without_peft_an_adapter_is_refused(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "peft", None)
    make_adapter(folder)
    with pytest.raises(UserError, match=r"has an adapter, and peft is not installed\. Run pip install"):
        HfEncoder(weights=str(folder))


@pytest.mark.parametrize("name", ["adapter_config.json", "adapter_model.safetensors"])
def test_half_of_an_adapter_is_refused(folder, name):
    make_adapter(folder)
    (folder / name).unlink()
    with pytest.raises(UserError, match="an adapter needs adapter_config"):
        HfEncoder(weights=str(folder))


def test_an_adapter_without_its_base_says_so(tmp_path):
    make_adapter(tmp_path)
    with pytest.raises(UserError, match="an adapter without its base model there"):
        HfEncoder(weights=str(tmp_path))


@pytest.mark.parametrize(
    "config",
    [
        {"target_modules": "(.+)+query"},
        {"target_modules": ["query", "(.+)+key"]},
        {"exclude_modules": "(.+)+query"},
        {"layers_to_transform": 1, "layers_pattern": ["(.+)+layer"]},
        {"rank_pattern": {"(.+)+query": 2}},
        {"alpha_pattern": {"(.+)+query": 2}},
        {"target_modules": 1},
    ],
)
def test_no_regular_expression_of_a_stranger_reaches_peft(tmp_path, config):
    """One of these could take hours."""
    make_adapter(tmp_path, **config)
    with pytest.raises(
        UserError, match=r"adapter_config.json: \w+ has .*, expected names of modules\. List them, or: "
    ):
        read_adapter(tmp_path)


@pytest.mark.parametrize("modules", ["all-linear", "query", ["query"], ["encoder.layer.0.attention.self.query", "key"]])
def test_names_of_modules_reach_peft(tmp_path, modules):
    more = {"rank_pattern": {"layer.0.query": 2}, "layers_pattern": "layer", "exclude_modules": []}
    make_adapter(tmp_path, target_modules=modules, **more)
    settings, _ = read_adapter(tmp_path)
    assert settings.items() >= {"target_modules": modules, **more}.items()
