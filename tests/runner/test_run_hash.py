"""Contents of weights make a run another run, and where they lie does not; settings: tests/spec/test_run_spec.py."""

import json
import shutil

import h5py
import pytest

from elmo_bench.runner.prepare import prepare
from tests.runs import GOLDEN, described, small


def change_a_weight(folder):
    with h5py.File(folder / "weights.hdf5", "r+") as file:
        file["CNN_proj/b_proj"][0] += 1


def change_a_clip(folder):
    """Only options.json has the clip, and it changes every vector."""
    options = json.loads((folder / "options.json").read_text())
    options["lstm"]["cell_clip"] = 0.1
    (folder / "options.json").write_text(json.dumps(options))


@pytest.mark.parametrize(
    ("change", "same"),
    [
        (change_a_weight, False),
        (change_a_clip, False),
        (lambda folder: folder.rename(folder.with_name("other")), False),
        (lambda folder: None, True),
    ],
)
def test_contents_and_name_of_the_weights_are_part_of_the_run_and_their_folder_is_not(tmp_path, change, same):
    usual, changed = (
        prepare(*described(*small(f"encoder.weights={weights}"))).spec.hash
        for weights in (GOLDEN, change(shutil.copytree(GOLDEN, tmp_path / "bilm")) or tmp_path / "bilm")
    )
    assert (changed == usual) == same
