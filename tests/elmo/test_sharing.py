"""Saved, loaded, pushed and pulled encoders give the same vectors, bit for bit; errors are one line."""

import json
import re
import shutil
import time
from pathlib import Path

import pytest
import torch
from huggingface_hub import ModelCard

from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import noted
from elmo_bench.elmo.encoder import ElmoEncoder
from elmo_bench.elmo.export import export
from elmo_bench.elmo.pretrained import fetch_softmax, locate_with_softmax
from tests.elmo.bilms import RELU, random_bilm
from tests.hub import COMMIT
from tests.runs import GOLDEN, files

SENTENCES = [["The", "bank", "of", "the", "river", "."], ["naïve"], ["."] * 30]


def same(first: ElmoEncoder, second: ElmoEncoder) -> bool:
    return all(map(torch.equal, first.encode(SENTENCES), second.encode(SENTENCES)))


@pytest.fixture
def golden() -> ElmoEncoder:
    return ElmoEncoder(weights=str(GOLDEN))


def test_published_weights_are_saved_with_the_same_numbers(golden, tmp_path):
    golden.save_pretrained(tmp_path / "saved")
    assert files(tmp_path / "saved") == ["README.md", "options.json", "weights.safetensors"]
    again = ElmoEncoder.from_pretrained(tmp_path / "saved")
    assert same(golden, again)
    assert again.checksum == ElmoEncoder(weights=str(tmp_path / "saved")).checksum
    again.save_pretrained(tmp_path / "twice")
    for name in ("options.json", "weights.safetensors"):
        assert (tmp_path / "saved" / name).read_bytes() == (tmp_path / "twice" / name).read_bytes()


def test_the_card_says_what_it_is(golden, tmp_path):
    about = {"license": "cc-by-sa-3.0", "language": "en", "description": "Trained on a lake."}
    golden.save_pretrained(tmp_path, model_card_kwargs=about)
    card = ModelCard.load(tmp_path / "README.md")
    assert card.data.library_name == "elmo-bench"
    assert {"elmo", "bilm", "feature-extraction"} < set(card.data.tags)
    assert (card.data.license, card.data.language) == ("cc-by-sa-3.0", "en")
    lstm = json.loads((GOLDEN / "options.json").read_text())["lstm"]
    for text in ("Trained on a lake.", f"{lstm['dim']} cells projected to {lstm['projection_dim']}", golden.checksum):
        assert text in card.text
    assert golden.generate_model_card().data.license == "unknown"
    ours = ElmoEncoder(weights="mini").generate_model_card()
    assert ours.data.license == "cc-by-sa-3.0"
    assert "| text | English Wikipedia of 2014 and 2021, by its authors, " in ours.text
    (tmp_path / "README.md").write_text("my own words")
    golden.save_pretrained(tmp_path)
    assert (tmp_path / "README.md").read_text() == "my own words"


def test_saving_to_a_folder_with_other_weights_is_refused(golden, tmp_path):
    shutil.copy(GOLDEN / "weights.hdf5", tmp_path / "other.hdf5")
    with pytest.raises(UserError, match=r"has other\.hdf5 already\. Save to a folder without weights\.$"):
        golden.save_pretrained(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["other.hdf5"]


def test_an_encoder_of_a_module_has_no_files_to_save(tmp_path):
    said = "saved: these weights were not read from files. Save their training's output."
    with pytest.raises(UserError, match=f"{re.escape(said)}$"):
        ElmoEncoder.of(random_bilm(RELU), "in memory").save_pretrained(tmp_path / "saved")
    assert files(tmp_path) == []


@pytest.mark.filterwarnings("ignore:Use 'content=<...>':DeprecationWarning")  # huggingface_hub 2.4 of its own client
def test_pushed_and_pulled_it_is_the_same(golden, hub, monkeypatch):
    address = golden.push_to_hub("me/elmo", private=True, model_card_kwargs={"license": "mit", "repo_id": "me/elmo"})
    assert address.endswith(f"/me/elmo/commit/{COMMIT}")
    pushed = hub.repositories["me/elmo"]
    assert {*pushed} == {"README.md", "options.json", "weights.safetensors"}
    card = pushed["README.md"].decode()
    assert 'from_pretrained("me/elmo")' in card
    assert "license: mit" in card
    pushed |= {"code/weights.safetensors": b"junk", "pytorch_model.bin": b"junk", "config.json": b'{"stateful": true}'}
    pulled = ElmoEncoder.from_pretrained("me/elmo")
    assert same(golden, pulled)
    assert not pulled.stateful
    assert not [asked for asked in hub.asked if "code/" in asked or ".bin" in asked or "config.json" in asked]
    for name in ("me/elmo", "me/elmo@main", f"me/elmo@{COMMIT}"):
        assert ElmoEncoder(weights=name).checksum == pulled.checksum
    hub.asked.clear()
    monkeypatch.setenv("ELMO_BENCH_OFFLINE", "1")
    assert ElmoEncoder.from_pretrained("me/elmo").checksum == pulled.checksum
    with pytest.raises(UserError, match=r"^weights 'me/other', which is no folder here: not on the Hub, or no network"):
        ElmoEncoder.from_pretrained("me/other")
    assert hub.asked == []


@pytest.mark.filterwarnings("ignore:Use 'content=<...>':DeprecationWarning")  # huggingface_hub 2.4 of its own client
def test_a_softmax_goes_to_the_hub_and_comes_back_where_it_is_asked_for(hub, tmp_path):
    folder = shutil.copytree(GOLDEN, tmp_path / "trained")
    beside = {"softmax.safetensors": b"softmax", "vocabulary.txt.xz": b"words"}
    for name, content in beside.items():
        (folder / name).write_bytes(content)
    ElmoEncoder(weights=str(folder)).push_to_hub("me/trained")
    assert beside.items() <= hub.repositories["me/trained"].items()
    hub.asked.clear()
    ElmoEncoder(weights="me/trained")
    assert not [asked for asked in hub.asked if "softmax" in asked]
    _, _, softmax, vocabulary = locate_with_softmax("me/trained")
    assert (softmax.read_bytes(), vocabulary.read_bytes()) == (b"softmax", b"words")


@pytest.mark.filterwarnings("ignore:Use 'content=<...>':DeprecationWarning")
def test_a_softmax_of_the_hub_is_saved_and_exported(golden, hub, tmp_path, monkeypatch):
    """It is downloaded first: an encoder does not read it."""
    golden.save_pretrained(tmp_path / "plain")
    weights = {path.name: path.read_bytes() for path in (tmp_path / "plain").iterdir()}
    softmax = {"softmax.safetensors": b"softmax", "vocabulary.txt.xz": b"words"}
    hub.repositories |= {"me/plain": weights, "me/trained": weights | softmax, "me/too": weights | softmax}
    for name, wanted in (("me/trained", [*softmax]), ("me/plain", [])):
        export(name, tmp_path / "exported" / name)
        assert files(tmp_path / "exported" / name) == sorted(["README.md", "options.json", "weights.hdf5", *wanted])
    for path in ("weights.hdf5", "/weights.hdf5"):  # of no repository
        fetch_softmax(Path(path))
    hub.repositories["me/half"] = weights | softmax
    ElmoEncoder(weights="me/half")  # its softmax is not in the cache
    encoder = ElmoEncoder.from_pretrained("me/too", cache_dir=tmp_path / "elsewhere")
    with monkeypatch.context() as patch, noted() as notes:
        patch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # nobody listens there
        patch.setattr(time, "sleep", lambda _: None)  # huggingface_hub tries again for 23 s
        encoder.save_pretrained(tmp_path / "alone")
    assert files(tmp_path / "alone") == ["README.md", "options.json", "weights.safetensors"]
    assert notes == ["me/too: cannot be asked for a softmax; what is here is written"]
    with monkeypatch.context() as patch, noted() as notes:
        patch.setenv("ELMO_BENCH_OFFLINE", "1")
        assert len(export("me/plain", tmp_path / "offline")) == 3 and not notes
        export("me/half", tmp_path / "half")
    assert notes == ["me/half: cannot be asked for a softmax; what is here is written"]
    encoder.save_pretrained(tmp_path / "saved")
    assert files(tmp_path / "saved") == sorted(["README.md", "options.json", "weights.safetensors", *softmax])


def test_what_the_hub_lacks_is_one_line(hub, monkeypatch):
    hub.repositories["me/empty"] = {"README.md": b""}
    for name, said in {
        "me/nothing": r"^weights 'me/nothing', which is no folder here: not on the Hub, or no network \(404",
        "me/empty@v2": r"^weights 'me/empty@v2', which is no folder here: not on the Hub",
        "me/empty": r"(expected one file|no such folder)",
    }.items():
        with pytest.raises(UserError, match=said):
            ElmoEncoder.from_pretrained(name)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # nobody listens there
    with pytest.raises(UserError, match="not on the Hub, or no network"):
        ElmoEncoder.from_pretrained("me/unseen")
