"""Contents of weights make a run another run, and where they lie does not; settings: tests/spec/test_run_spec.py."""

import json
import shutil

from elmo_bench.runner.prepare import prepare
from tests.runs import GOLDEN, described, small


def hash_of(*overrides, encoder="elmo"):
    """The hash of a run, which reads data and weights and trains nothing."""
    return prepare(*described(*small(*overrides, encoder=encoder))).spec.hash


def copied_weights(folder):
    shutil.copytree(GOLDEN, folder)
    return folder


def test_other_contents_of_the_weights_are_another_run(tmp_path):
    import h5py

    folder = copied_weights(tmp_path / "bilm")
    assert hash_of(f"encoder.weights={folder}") == hash_of()
    with h5py.File(folder / "weights.hdf5", "r+") as file:
        file["CNN_proj/b_proj"][0] += 1
    assert hash_of(f"encoder.weights={folder}") != hash_of()


def test_options_of_the_weights_are_part_of_them(tmp_path):
    """Only options.json has the clips and the activation, which change every vector."""
    folder = copied_weights(tmp_path / "bilm")
    options = json.loads((folder / "options.json").read_text())
    options["lstm"]["cell_clip"] = 0.1
    (folder / "options.json").write_text(json.dumps(options))
    assert hash_of(f"encoder.weights={folder}") != hash_of()


def test_the_folder_of_the_weights_is_no_part_of_the_run_but_their_name_is(tmp_path):
    folder = copied_weights(tmp_path / "elsewhere" / "bilm")
    assert hash_of(f"encoder.weights={folder}") == hash_of()
    assert hash_of(f"encoder.weights={folder.rename(folder.with_name('other'))}") != hash_of()
