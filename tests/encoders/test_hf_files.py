"""The files of `encoder=hf`: which of them its vectors depend on, which are downloaded, and published models."""

import hashlib
import json
import shutil
import socket

import pytest
import torch
from huggingface_hub import constants
from safetensors.torch import load_file, save_file

from elmo_bench.base.errors import UserError
from elmo_bench.encoders import hf, hf_files
from elmo_bench.encoders.hf import HfEncoder
from elmo_bench.encoders.hf_files import files_of, find, only_files
from elmo_bench.encoders.hf_model import load_model
from tests.encoders.test_hf import pickled
from tests.hub import COMMIT

transformers = pytest.importorskip("transformers")
READ = ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
TEXT = ["Anna", "lives", "here", "unbelievable"]
NAME = "user/tiny"


@pytest.fixture(scope="module")
def encoder(tiny_bert):
    return HfEncoder(weights=str(tiny_bert))


def test_only_files_that_are_read_are_in_the_checksum(tiny_bert, encoder, tmp_path):
    assert [path.name for path in encoder.files] == READ
    shutil.copytree(tiny_bert, other := tmp_path / "other")
    beside = {
        "modules.json": "[]", "README.json": "{}", "generation_config.json": '{"max_length": 7}', "vocab.txt": "zebra",
        "consolidated.safetensors": "x",
        "pytorch_model.bin": "x", "model.fp16.safetensors": "x", "notes.txt": "x", "x.jinja": "x",
    }  # fmt: skip
    for name, content in beside.items():
        (other / name).write_text(content)
    same = HfEncoder(weights=str(other))
    assert same.checksum == encoder.checksum
    torch.testing.assert_close(same.encode([TEXT])[0], encoder.encode([TEXT])[0], atol=0, rtol=0)
    with only_files(other) as links:
        assert sorted(path.name for path in links.iterdir()) == READ
    for name in READ:
        content = (other / name).read_bytes()
        (other / name).write_bytes(content + b" ")
        changed = hf_files.checksum("mine", other, hf_files.contents_of(other))
        assert changed != encoder.checksum.partition(" ")[0], name
        (other / name).write_bytes(content)


def test_an_error_names_the_users_folder_and_not_the_links(tiny_bert, tmp_path):
    shutil.copytree(tiny_bert, other := tmp_path / "other")
    (other / "config.json").write_text('{"model_type": "bert", "num_hidden_layers": 1000000000}')
    with pytest.raises(UserError, match=f"^{other}/config.json: not the configuration"):
        HfEncoder(weights=str(other))


def test_a_config_that_names_another_repository_asks_nobody(tiny_bert, tmp_path, monkeypatch):
    """`transformers` asks the Hub for the backbone of a config, also with `local_files_only=True`."""
    asked = []

    def refuse(*address, **_):
        asked.append(address)
        raise OSError("no network")

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    shutil.copytree(tiny_bert, other := tmp_path / "other")
    usual = json.loads((other / "config.json").read_text())
    changes = {"model_type": "detr", "backbone": "other/repo", "use_timm_backbone": False}
    (other / "config.json").write_text(json.dumps(usual | changes))
    with pytest.raises(UserError, match=f"^{other}: its config.json asks for another repository. Save"):
        HfEncoder(weights=str(other))
    assert not asked
    assert constants.HF_HUB_OFFLINE is False


@pytest.mark.parametrize("where", ["beside", "absolute", "below", "link"])
def test_an_index_names_files_of_the_folder_alone(tiny_bert, encoder, tmp_path, where):
    shutil.copytree(tiny_bert, other := tmp_path / "other")
    tensors = load_file(other / "model.safetensors")
    (other / "model.safetensors").unlink()
    names = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    index = {key: names[number % 2] for number, key in enumerate(tensors)}
    for name in names:
        save_file({key: tensors[key] for key in index if index[key] == name}, other / name, {"format": "pt"})

    def write():
        (other / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": index}))

    write()
    found = HfEncoder(weights=str(other))
    torch.testing.assert_close(found.encode([TEXT])[0], encoder.encode([TEXT])[0], atol=0, rtol=0)
    (other / "below").mkdir()
    moved = {"beside": "../x.safetensors", "absolute": f"{tmp_path}/x.safetensors", "below": "below/x.safetensors",
             "link": "x.safetensors"}[where]  # fmt: skip
    (other / names[1]).rename(tmp_path / "x.safetensors" if where == "link" else other / moved)
    if where == "link":
        (other / moved).symlink_to(tmp_path / "x.safetensors")
    index = {key: name if name == names[0] else moved for key, name in index.items()}
    write()
    with pytest.raises(UserError, match=f"index.json: names {moved[:60]}.*, not a file of this model"):
        HfEncoder(weights=str(other))


@pytest.mark.parametrize("name", ["tokenizer_config.json", "special_tokens_map.json"])
def test_a_tokeniser_names_no_file(tiny_bert, tmp_path, name):
    """`transformers` opens a vocabulary by its path."""
    shutil.copytree(tiny_bert, other := tmp_path / "other")
    (other / "tokenizer.json").unlink()
    vocabulary = (other / "vocab.txt").rename(tmp_path / "vocab.txt")
    usual = json.loads((other / name).read_text()) if (other / name).exists() else {}
    (other / name).write_text(json.dumps(usual | {"vocab": str(vocabulary)}))
    with pytest.raises(UserError, match=f"{name}: names {str(vocabulary)[:60]}"):
        HfEncoder(weights=str(other))


@pytest.mark.parametrize("kind", ["safetensors", "pickled", "slow"])
def test_only_files_that_are_read_are_downloaded(tiny_bert, tmp_path, hub, kind):
    source = pickled(tiny_bert, tmp_path / "source", dict) if kind == "pickled" else tiny_bert
    files = {path.name: path.read_bytes() for path in source.iterdir()}
    files |= {"vocab.txt": b"x", "modules.json": b"[]", "model.onnx": b"x", "consolidated.safetensors": b"x"}
    files |= {"elmo_weights.hdf5": b"x", "pytorch_model.bin": files.get("pytorch_model.bin", b"x")}
    if kind == "slow":
        del files["tokenizer.json"]
    hub.repositories[NAME] = files
    found = find(NAME)
    more = {"safetensors": [], "pickled": ["pytorch_model.bin"], "slow": ["vocab.txt"]}[kind]
    less = {"safetensors": [], "pickled": ["model.safetensors"], "slow": ["tokenizer.json"]}[kind]
    assert sorted(path.name for path in found.iterdir()) == sorted({*READ, *more} - {*less})
    assert files_of(found) == sorted(found.iterdir())


@pytest.fixture
def published(tiny_bert, tmp_path, hub_cache, monkeypatch):
    """A published model with stand-ins for its package and the Hub's cache: (the package's folder, the cache's)."""
    pins = {name: hashlib.sha256((tiny_bert / name).read_bytes()).hexdigest() for name in READ}
    model = {"repository": NAME, "package": "elmo-bench-stand-in", "version": "0.1.0",
             "folder": "elmo_bench_stand_in/model", "sha256": pins}  # fmt: skip
    monkeypatch.setitem(hf_files.PUBLISHED, "tiny", model)
    site = tmp_path / "site"
    repository = hub_cache / "models--user--tiny"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(COMMIT)
    (about := site / "elmo_bench_stand_in-0.1.0.dist-info").mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: elmo-bench-stand-in\nVersion: 0.1.0\n")
    (site / "elmo_bench_stand_in").mkdir()
    (site / "elmo_bench_stand_in" / "__init__.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(str(site))
    return site / "elmo_bench_stand_in" / "model", repository / "snapshots" / COMMIT


def test_a_published_model_is_the_same_from_the_cache_and_from_its_package(tiny_bert, encoder, published):
    checksums = []
    for place in published:
        shutil.copytree(tiny_bert, place)
        (place / "README.md").write_text("of the repository")
        (place / "modules.json").write_text("[]")
        assert find("tiny") == place
        found = HfEncoder(weights="tiny")
        torch.testing.assert_close(found.encode([TEXT])[0], encoder.encode([TEXT])[0], atol=0, rtol=0)
        checksums.append(found.checksum)
    assert checksums == [encoder.checksum] * 2
    (published[1] / "tokenizer.json").unlink()  # a cache without all of the files is not used
    assert find("tiny") == published[0]


@pytest.mark.parametrize("name", [*READ, "added_tokens.json"])
def test_a_published_model_with_another_file_is_refused(tiny_bert, published, name):
    shutil.copytree(tiny_bert, published[0])
    with (published[0] / name).open("ab") as file:
        file.write(b" ")
    with pytest.raises(UserError, match=f"model/{name}: not the file of the published tiny"):
        HfEncoder(weights="tiny")


@pytest.mark.parametrize("name", ["config.json", "tokenizer_config.json", "added_tokens.json"])
def test_a_file_that_changes_while_it_is_read_is_refused(tiny_bert, tmp_path, monkeypatch, name):
    """Its checksum is of other bytes than the vectors."""
    shutil.copytree(tiny_bert, other := tmp_path / "other")

    def load_and_change(folder):
        found = load_model(folder)
        with (folder / name).open("a") as file:
            file.write(" ")
        return found

    monkeypatch.setattr(hf, "load_model", load_and_change)
    with pytest.raises(UserError, match=r"other.*: changed while it was read\. Start again\."):
        HfEncoder(weights=str(other))


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"transformers_weights": "../other.safetensors"}, "names a file of weights"),
        ({"text_config": {"transformers_weights": "/tmp/other.safetensors"}}, "names a file of weights"),
        ({"quantization_config": {"quant_method": "gptq"}}, "chooses a library"),
        ({"text_config": {"quantization_config": {"quant_method": "awq"}}}, "chooses a library"),
        ({"num_hidden_layers": [10**9]}, "not the configuration of these weights"),
        (
            {"model_type": "openai-gpt", "n_positions": 9000, "n_layer": 1, "n_embd": 8, "n_head": 1},
            "masks and tables of 324,.* bytes, but the weights have",
        ),
        (
            {"model_type": "switch_transformers", "num_experts": 10**5, "d_model": 8, "d_ff": 8, "num_heads": 1},
            "more layers or experts than these weights hold",
        ),
    ],
)
def test_a_config_that_asks_for_more_than_the_weights_is_refused(tiny_bert, tmp_path, config, message):
    shutil.copytree(tiny_bert, other := tmp_path / "other")
    usual = json.loads((other / "config.json").read_text())
    (other / "config.json").write_text(json.dumps({"vocab_size": 9, "model_type": usual["model_type"]} | config))
    with pytest.raises(UserError, match=f"config.json: {message}"):
        HfEncoder(weights=str(other))


def test_a_limit_that_is_no_number_is_one_line(tiny_bert, tmp_path):
    shutil.copytree(tiny_bert, other := tmp_path / "other")
    about = json.loads((other / "tokenizer_config.json").read_text(encoding="utf-8"))
    about["model_max_length"] = "512"
    (other / "tokenizer_config.json").write_text(json.dumps(about), encoding="utf-8")
    with pytest.raises(UserError, match="a transformer whose limits are numbers"):
        HfEncoder(weights=str(other))
