"""A biLM by name, folder, file and address: downloaded once by the real code, and the same ever after."""

import fcntl
import hashlib
import itertools
import json
import pickle
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from elmo_bench.base.downloads import cache_folder
from elmo_bench.base.errors import UserError
from elmo_bench.elmo.encoder import ElmoEncoder
from elmo_bench.elmo.pretrained import TABLE, locate, resolve_file
from elmo_bench.elmo.weights import load_bilm, load_files, places, write_hdf5
from elmo_bench.encoders.static import load_static
from tests.elmo.bilms import IDS, RELU, random_bilm
from tests.encoders.test_cove import Harmful
from tests.loopback import loopback
from tests.runs import GOLDEN

FILES = {"options": (GOLDEN / "options.json").read_bytes(), "weights": (GOLDEN / "weights.hdf5").read_bytes()}
DIGESTS = {kind: hashlib.sha256(content).hexdigest() for kind, content in FILES.items()}
CHECKSUM = f"{DIGESTS['weights']} options {DIGESTS['options'][:12]}"
# The published addresses: under either base, and by the same path on a mirror.
SMALL = "models/elmo/2x1024_128_2048cnn_1xhighway/elmo_2x1024_128_2048cnn_1xhighway"
BASES = ("https://allennlp.s3.amazonaws.com", "https://s3-us-west-2.amazonaws.com/allennlp")


@pytest.fixture
def site(online, monkeypatch):
    """A mirror that has `small`, with the little biLM of the recorded figures in its place."""
    with loopback() as site:
        monkeypatch.setenv("ELMO_BENCH_MIRROR", f"{site.address}/copy")
        site.files |= {
            f"/copy/{SMALL}_options.json": FILES["options"],
            f"/copy/{SMALL}_weights.hdf5": FILES["weights"],
        }
        yield site


def fails(call, *arguments) -> str:
    with pytest.raises(UserError) as raised:
        call(*arguments)
    return str(raised.value)


def test_a_name_is_downloaded_at_first_use(site, monkeypatch):
    for _ in range(2):
        assert load_bilm("small")[1] == CHECKSUM
    assert sorted(site.paths) == sorted(site.files)
    monkeypatch.setenv("ELMO_BENCH_OFFLINE", "1")
    assert ElmoEncoder.from_pretrained("small").checksum == ElmoEncoder(weights="small").checksum == CHECKSUM


def test_a_file_put_there_by_hand_counts(site):
    folder, name = cache_folder() / "elmo" / "small", Path(SMALL).name
    folder.mkdir(parents=True)
    shutil.copy(GOLDEN / "weights.hdf5", folder / f"{name}_weights.hdf5")
    assert load_bilm("small")[1] == CHECKSUM
    assert site.paths == [f"/copy/{SMALL}_options.json"]  # the one that was missing


@pytest.mark.parametrize("base", BASES)
def test_the_addresses_that_allennlp_took_are_the_named_files(site, base):
    options, weights = (resolve_file(f"{base}/{SMALL}_{end}") for end in ("options.json", "weights.hdf5"))
    assert (options, weights) == locate("small") == locate(f"{base}/{SMALL}_weights.hdf5")
    assert load_files(options, weights)[1] == CHECKSUM
    assert len(site.asked) == 2


def test_any_other_address_is_downloaded_to_a_place_of_its_own(site):
    site.files |= {f"/{n}/x_{end}": FILES[end[:7]] for n in (1, 2) for end in ("options.json", "weights.hdf5")}
    one, two = (ElmoEncoder(weights=f"{site.address}/{n}/x_weights.hdf5") for n in (1, 2))
    assert one.checksum == two.checksum == CHECKSUM
    assert one.files != two.files
    assert all(path.is_relative_to(cache_folder() / "elmo" / "urls") for path in one.files + two.files)
    both = ElmoEncoder(weights=f"{site.address}/1/x_weights.hdf5", options=str(GOLDEN / "options.json"))
    assert both.checksum == CHECKSUM
    assert "the address of its options.json is unknown" in fails(load_bilm, f"{site.address}/1/x.hdf5")


def test_a_weights_file_finds_its_options(tmp_path):
    for stem in ("a_", "b_", ""):
        shutil.copy(GOLDEN / "weights.hdf5", tmp_path / f"{stem}weights.hdf5")
        shutil.copy(GOLDEN / "options.json", tmp_path / f"{stem}options.json")
        assert locate(str(tmp_path / f"{stem}weights.hdf5"))[0] == tmp_path / f"{stem}options.json"
    shutil.copy(GOLDEN / "weights.hdf5", tmp_path / "c.hdf5")
    assert "expected one file *options.json, found a_" in fails(locate, str(tmp_path / "c.hdf5"))
    for name in ("b_options.json", "options.json"):
        (tmp_path / name).unlink()
    said = fails(locate, str(tmp_path / "b_weights.hdf5"))
    assert "the only options in its folder, a_options.json, are those of a_weights.hdf5" in said
    said = fails(locate, str(tmp_path / "a_options.json"))
    assert said == f"{tmp_path}/a_options.json: not a weights file. Give one that ends in .hdf5 or .safetensors."
    options = str(tmp_path / "a_options.json")
    assert "a_options.json: mini has options of its own. Leave them out" in fails(locate, "mini", options)
    assert load_bilm(str(tmp_path / "c.hdf5"), options)[1] == CHECKSUM
    assert "c.hdf6: no such file" in fails(load_bilm, str(tmp_path / "c.hdf6"), options)
    assert "d.json: no such file" in fails(load_bilm, str(tmp_path / "c.hdf5"), str(tmp_path / "d.json"))
    (tmp_path / "sub").mkdir()
    shutil.move(tmp_path / "c.hdf5", tmp_path / "sub")
    shutil.copy(GOLDEN / "options.json", tmp_path / "sub" / "any-options.json")
    assert load_bilm(str(tmp_path / "sub" / "c.hdf5"))[1] == CHECKSUM


def test_what_does_not_exist_lists_what_does():
    for name in ("orignal", "/nowhere/at/all", "a/b/c", ""):
        message = fails(load_bilm, name)
        assert message.startswith(f"weights '{name}': no such folder or file")
        assert all(known in message for known in ("mini", "small", "medium", "original", "original_5.5B"))
    assert fails(load_bilm, "runs/my-elmo").startswith(
        "weights 'runs/my-elmo', which is no folder here: not on the Hub"
    )
    missing = fails(load_files, GOLDEN / "options.json", GOLDEN / "missing.hdf5")
    assert missing == f"{GOLDEN / 'missing.hdf5'}: cannot be read (No such file or directory)"


@pytest.mark.parametrize("lacking", ["CNN_proj/W_proj", "RNN_0/RNN/MultiRNNCell/Cell0/LSTMCell/W_P_0"])
def test_weights_without_a_projection_are_known_as_such(tmp_path, lacking):
    shutil.copytree(GOLDEN, tmp_path / "old")
    with h5py.File(tmp_path / "old" / "weights.hdf5", "a") as file:
        del file[lacking]
    assert f"no data set '{lacking}'." in fails(load_bilm, str(tmp_path / "old"))
    options = json.loads((GOLDEN / "options.json").read_text())
    options["lstm"]["projection_dim"] = None
    (tmp_path / "old" / "options.json").write_text(json.dumps(options))
    assert "lstm.projection_dim is None" in fails(load_bilm, str(tmp_path / "old"))


def write_without_projections(folder, *, clip=3.0, projection_dim=12):
    """(a biLM, a folder with its weights as bilm-tf writes them where an LSTM has no projection)."""
    shape = replace(RELU, lstm_dim=12, projection_dim=projection_dim, projection_clip=clip)
    bilm = random_bilm(shape)
    for lstm in bilm.lstms:
        lstm.projection.data.copy_(torch.eye(12, projection_dim))
    folder.mkdir()
    with (folder / "weights.hdf5").open("wb+") as file:
        write_hdf5(bilm, file)
    with h5py.File(folder / "weights.hdf5", "a") as file:
        for side, layer in itertools.product((0, 1), range(shape.layers)):
            del file[f"RNN_{side}/RNN/MultiRNNCell/Cell{layer}/LSTMCell/W_P_0"]
    (folder / "options.json").write_text(json.dumps(shape.to_json()))
    return bilm, folder


def test_lstms_without_projections_have_the_identity(tmp_path):
    """The reference computes with the identity. In bilm-tf no output reaches 1, so the clip of 3 is never used."""
    bilm, folder = write_without_projections(tmp_path / "none")
    loaded, _ = load_bilm(str(folder))
    for lstm in loaded.lstms:
        assert torch.equal(lstm.projection, torch.eye(12).expand(2, 12, 12))
    expected, _ = bilm(IDS)
    layers, _ = loaded(IDS)
    assert torch.equal(layers, expected)
    save_file(
        {name: view.contiguous() for name, view in places(bilm) if "W_P_0" not in name}, tmp_path / "x.safetensors"
    )
    again, _ = load_files(folder / "options.json", tmp_path / "x.safetensors")
    assert torch.equal(again(IDS)[0], expected)


def test_projections_that_only_some_lstms_lack_or_that_clips_need_are_missed(tmp_path):
    _, folder = write_without_projections(tmp_path / "clipped", clip=0.5)
    assert "has no projections (/W_P_0), to which bilm-tf applies proj_clip=0.5" in fails(load_bilm, str(folder))
    _, folder = write_without_projections(tmp_path / "narrow", projection_dim=5)
    assert "no data set 'RNN_0/RNN/MultiRNNCell/Cell0/LSTMCell/W_P_0'" in fails(load_bilm, str(folder))
    _, folder = write_without_projections(tmp_path / "some")
    with h5py.File(folder / "weights.hdf5", "a") as file:
        file["RNN_1/RNN/MultiRNNCell/Cell2/LSTMCell/W_P_0"] = np.eye(12)
    assert "no data set 'RNN_0/RNN/MultiRNNCell/Cell0/LSTMCell/W_P_0'" in fails(load_bilm, str(folder))


def test_a_weights_file_that_another_process_has_locked_is_read(tmp_path):
    shutil.copytree(GOLDEN, tmp_path / "old")
    with (tmp_path / "old" / "weights.hdf5").open("rb+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert load_bilm(str(tmp_path / "old"))[1] == load_bilm(str(GOLDEN))[1]


def test_nothing_is_executed(tmp_path):
    shutil.copy(GOLDEN / "options.json", tmp_path)
    for name in ("weights.hdf5", "weights.safetensors", "pytorch_model.bin"):
        (tmp_path / name).write_bytes(pickle.dumps(Harmful(tmp_path / "sprung")))
        assert "not a readable" in fails(load_files, tmp_path / "options.json", tmp_path / name)
    assert not (tmp_path / "sprung").exists()


def archive(path: Path, names: list[str]) -> tuple[bytes, str]:
    with zipfile.ZipFile(path, "w") as file:
        for number, name in enumerate(names):
            file.writestr(name, f"word {number} 0.5\nother 0.25 -1\n")
    return path.read_bytes(), hashlib.sha256(path.read_bytes()).hexdigest()


def test_vectors_by_name_come_from_their_archive(site, tmp_path, monkeypatch):
    several, sha = archive(tmp_path / "a.zip", ["glove.6B.50d.txt", "glove.6B.100d.txt"])
    single, other = archive(tmp_path / "b.zip", ["glove.840B.300d.txt"])
    monkeypatch.setitem(TABLE["archives"]["glove.6B"], "sha256", sha)
    monkeypatch.setitem(TABLE["archives"]["glove.840B.300d"], "sha256", other)
    site.files |= {"/copy/data/glove.6B.zip": several, "/copy/data/glove.840B.300d.zip": single}
    for _ in range(2):
        assert [load_static(f"glove.6B.{n}d").vectors[0, 0] for n in (50, 100)] == [0, 1]
        table = load_static("glove.840B.300d")
    assert (table.words, table.checksum) == (["word", "other"], other)
    assert site.paths == ["/copy/data/glove.6B.zip", "/copy/data/glove.840B.300d.zip"]
    assert "not a zip archive with glove.6B.300d.txt" in fails(load_static, "glove.6B.300d")
    assert "join words.lst and embeddings.txt" in fails(load_static, "senna")
