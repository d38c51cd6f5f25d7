"""`elmo-bench export`: the published layout, the same vectors, nothing lost and nothing written over."""

import json
import shutil

import h5py
import numpy as np
import pytest
import torch
from huggingface_hub import ModelCard
from safetensors.numpy import save_file

from elmo_bench.__main__ import main
from elmo_bench.elmo.encoder import ElmoEncoder
from tests.runs import GOLDEN, files

SENTENCES = [["The", "bank", "of", "the", "river", "."], ["naïve"], ["."] * 30]
NAMES = ["README.md", "options.json", "weights.hdf5"]


def same(first, second) -> bool:
    left, right = (ElmoEncoder(weights=str(weights)).encode(SENTENCES) for weights in (first, second))
    return all(map(torch.equal, left, right))


def contents(file):
    """Name, shape and type of every data set."""
    names: list[str] = []
    with h5py.File(file) as opened:
        opened.visit(names.append)
        return {name: (opened[name].shape, opened[name].dtype) for name in names if hasattr(opened[name], "shape")}


def test_an_hdf5_file_has_the_published_names_and_shapes_and_the_same_numbers(tmp_path, capsys):
    assert main(["export", str(GOLDEN), str(tmp_path / "out")]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [
        str(tmp_path / "out" / name) for name in ("options.json", "weights.hdf5", "README.md")
    ]
    assert files(tmp_path / "out") == NAMES
    assert contents(tmp_path / "out" / "weights.hdf5") == contents(GOLDEN / "weights.hdf5")
    with h5py.File(GOLDEN / "weights.hdf5") as golden, h5py.File(tmp_path / "out" / "weights.hdf5") as ours:
        for name in contents(GOLDEN / "weights.hdf5"):
            np.testing.assert_array_equal(ours[name], golden[name])
    options = json.loads((tmp_path / "out" / "options.json").read_bytes())
    golden_options = json.loads((GOLDEN / "options.json").read_bytes())
    assert options["char_cnn"].pop("n_characters") == 262
    assert options["char_cnn"].items() <= golden_options["char_cnn"].items()
    assert options["lstm"].items() <= golden_options["lstm"].items()
    assert same(GOLDEN, tmp_path / "out")


@pytest.fixture
def trained(tmp_path):
    """A folder as training leaves it: with a softmax and its vocabulary."""
    folder = shutil.copytree(GOLDEN, tmp_path / "trained")
    save_file({"weight": np.ones((3, 8), np.float16), "bias": np.ones(3, np.float16)}, folder / "softmax.safetensors")
    (folder / "vocabulary.txt").write_text("<S>\t0\n</S>\t0\n<UNK>\t0\n")
    return folder


def test_softmax_and_vocabulary_are_carried_over(trained, tmp_path):
    assert main(["export", str(trained), str(tmp_path / "out")]) == 0
    card = ModelCard.load(tmp_path / "out" / "README.md")
    assert ElmoEncoder(weights=str(trained)).checksum in card.text
    ElmoEncoder(weights=str(tmp_path / "out")).save_pretrained(tmp_path / "saved")
    assert same(trained, tmp_path / "saved")
    for name in ("softmax.safetensors", "vocabulary.txt"):
        assert (tmp_path / "out" / name).read_bytes() == (trained / name).read_bytes()
        assert (tmp_path / "saved" / name).read_bytes() == (trained / name).read_bytes()


@pytest.mark.slow
def test_nothing_is_written_over_unless_asked_for(tmp_path, capsys):
    assert main(["export", str(GOLDEN), str(tmp_path)]) == 0
    before = {name: (tmp_path / name).read_bytes() for name in NAMES}
    assert main(["export", "mini", str(tmp_path)]) == 2
    assert f"{tmp_path}: has options.json already. Give another folder, or --overwrite.\n" in capsys.readouterr().err
    assert {name: (tmp_path / name).read_bytes() for name in files(tmp_path)} == before
    assert main(["export", "mini", str(tmp_path), "--overwrite"]) == 0
    assert same("mini", tmp_path)
