"""Bad input to the main job: one clear line, exit code 2, no traceback, and nothing half-written."""

import json
import os
import shutil
import subprocess
import sys

import h5py
import pytest
import torch

from elmo_bench.ledger import read_all
from tests.runs import GOLDEN, ROOT, files, small

TRAIN = "Ada\tB-person\nvisited\tO\nParis\tB-location\n.\tO\n\n" * 20
NAMES = {"train": "wnut17train.conll", "dev": "emerging.dev.conll", "test": "emerging.test.annotated"}


@pytest.fixture
def root(tmp_path):
    """A data folder with the files of suite=open, made up."""
    folder = tmp_path / "data" / "wnut17"
    folder.mkdir(parents=True)
    for split, name in NAMES.items():
        (folder / name).write_bytes(f"{TRAIN}{split}\tO\n\n".encode())
    return tmp_path / "data"


@pytest.fixture
def ends_in_one_line(main_job, tmp_path, capsys):
    """`ends_in_one_line(*options) -> the line`, having checked exit code and ledger."""

    def ends_in_one_line(*options, encoder="none"):
        code = main_job(*small(*options, encoder=encoder))
        said = capsys.readouterr()
        assert code == 2, said.err
        [line] = [line for line in said.err.splitlines() if not line.endswith(": reading data …")]
        assert line.startswith("elmo-bench run: ")
        assert said.out == ""
        assert read_all(tmp_path / "runs") == ([], [])
        left = files(tmp_path / "runs") if (tmp_path / "runs").exists() else []
        assert left == []
        return line

    return ends_in_one_line


def on(root, *options):
    return ("suite=open", f"data.root={root}", *options)


def test_a_missing_file(ends_in_one_line, root):
    (root / "sst").mkdir()
    assert f"{root / 'sst'}: train.txt not found" in ends_in_one_line("task=sst5", *on(root))


@pytest.fixture
def weights(tmp_path):
    return shutil.copytree(GOLDEN, tmp_path / "bilm")


def change_options(weights, change):
    options = json.loads((weights / "options.json").read_text())
    change(options)
    (weights / "options.json").write_text(json.dumps(options))


def reshape(weights):
    with h5py.File(weights / "weights.hdf5", "r+") as file:
        del file["CNN_proj/W_proj"]
        file["CNN_proj/W_proj"] = [[0.0] * 16] * 47


DAMAGES = {
    "a wrong shape": (reshape, "'CNN_proj/W_proj' has shape (47, 16), the options.json expects (48, 16)"),
    "options without a key": (
        lambda weights: change_options(weights, lambda o: o["lstm"].pop("dim")), "the key 'dim' is missing"
    ),
    "options of a network that no memory holds": (
        lambda weights: change_options(weights, lambda o: o["lstm"].update(dim=2**16, projection_dim=2**16)),
        "a network of 154,6",
    ),
    "options that are no JSON": (lambda weights: (weights / "options.json").write_text("{"), "not valid JSON"),
    "no weights": (lambda weights: (weights / "weights.hdf5").unlink(), r"expected one file *.hdf5"),
    "a cut file": (
        lambda weights: (weights / "weights.hdf5").write_bytes((GOLDEN / "weights.hdf5").read_bytes()[:5000]),
        "weights.hdf5: not a readable HDF5 file",
    ),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_weights(ends_in_one_line, weights, damage):
    change, said = DAMAGES[damage]
    change(weights)
    line = ends_in_one_line(f"encoder.weights={weights}", encoder="elmo")
    assert said in line
    assert str(weights) in line


def test_as_a_person_starts_it(tmp_path):
    done = subprocess.run(
        [sys.executable, ROOT / "run.py", "encoder=bert"], cwd=tmp_path, capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "hoose one of" in done.stderr
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["trainer=gpu"], "trainer=gpu: no NVIDIA GPU here. Use trainer=cpu."),
        (["trainer.device=cuda"], "trainer=gpu: no NVIDIA GPU here. Use trainer=cpu."),
        (["seed=4294967296"], "seed=4294967296: give a whole number from 0 to 4294967295"),
        (["logger=tensorboard"], "logger=tensorboard: tensorboard is not installed"),
        (["data.root=/nowhere"], "data.root=/nowhere: not a folder"),
    ],
)
def test_what_the_machine_lacks_is_one_line_before_torch_is_imported(main_job, capsys, monkeypatch, options, said):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setattr("elmo_bench.runner.here.find_spec", lambda module: None)
    monkeypatch.setattr("elmo_bench.runner.prepare.prepare", None)  # would read the data
    assert main_job("task=ner", "encoder=none", *options) == 2
    assert said in capsys.readouterr().err.splitlines()[-1]


def test_head_and_encoder_share_one_device(main_job, capsys):
    assert main_job("task=ner", "encoder=none", "trainer.accelerator=gpu") == 2
    assert "unknown option 'trainer.accelerator'" in capsys.readouterr().err.splitlines()[-1]


def test_a_head_that_would_see_nothing_is_one_line(main_job, capsys):
    assert main_job("task=snli", *small("place=output", encoder="elmo_only")) == 2
    assert "the head's input would be empty: choose an encoder with words, or place=input" in capsys.readouterr().err


@pytest.mark.parametrize("advice", ["", "Give task.training.batch=8."])
def test_a_full_gpu_is_one_line(main_job, capsys, monkeypatch, advice):
    said = "CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of 79.11 GiB"

    def full(*_):
        error = torch.OutOfMemoryError(f"{said} of which 1 GiB is free. Process 7 has 78 GiB.")
        if advice:
            error.add_note(advice)
        raise error

    monkeypatch.setattr("elmo_bench.runner.prepare.prepare", full)
    assert main_job("task=ner", "encoder=none") == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert f"{said} of which 1 GiB is free. {advice or 'Run fewer side by side, or give smaller batches.'}" in last
