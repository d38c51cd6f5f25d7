"""The wheel and the sdist install `elmo_bench` alone, and its commands work in an empty folder without a clone."""

import os
import subprocess
import sys
import tarfile
import zipfile

import pytest

from tests.runs import ROOT

pytestmark = pytest.mark.slow


def call(*command, cwd, **env):
    done = subprocess.run(
        [*map(str, command)], cwd=cwd, env={**os.environ, **env}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """A repository of the files that git tracks, as a release is built from."""
    clone = tmp_path_factory.mktemp("clone")
    call("git", "checkout-index", "--all", f"--prefix={clone}/", cwd=ROOT)
    for command in ("init -q", "add .", "-c user.name=x -c user.email=x@y commit -qm x"):
        call("git", *command.split(), cwd=clone)
    return clone


@pytest.fixture(scope="module")
def sdist(clone, tmp_path_factory):
    out = tmp_path_factory.mktemp("sdist")
    code = f"from setuptools import build_meta; print(build_meta.build_sdist({str(out)!r}))"
    call(sys.executable, "-c", code, cwd=clone)
    [path] = out.glob("*.tar.gz")
    return path


@pytest.fixture(scope="module", params=["clone", "sdist"])
def installed(request, clone, sdist, tmp_path_factory):
    """A folder in which the wheel is unpacked, made from a clone or from the sdist."""
    source, out, folder = clone, tmp_path_factory.mktemp("wheel"), tmp_path_factory.mktemp("site")
    if request.param == "sdist":
        with tarfile.open(sdist) as archive:
            archive.extractall(unpacked := tmp_path_factory.mktemp("source"), filter="data")
        [source] = unpacked.iterdir()
    else:  # what an earlier build left is not installed
        (left := clone / "build/lib/elmo_bench/conf/experiment/gone.yaml").parent.mkdir(parents=True, exist_ok=True)
        left.touch()
    code = f"from setuptools import build_meta; print(build_meta.build_wheel({str(out)!r}))"
    call(sys.executable, "-c", code, cwd=source)
    [wheel] = out.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def test_nothing_but_the_package_is_installed(installed):
    assert {path.name for path in installed.iterdir() if not path.name.endswith(".dist-info")} == {"elmo_bench"}
    assert not [path for path in installed.rglob("*") if path.is_symlink() or path.name == "__pycache__"]
    compiled = {path.name for folder in ("elmo_bench", "tasks") for path in (ROOT / folder).rglob("*.[ch]")}
    assert {path.name for path in installed.rglob("*.[ch]")} == compiled != set()
    assert not [*installed.rglob("gone.yaml")]
    assert "elmo-bench = elmo_bench.__main__:entry" in next(installed.glob("*.dist-info/entry_points.txt")).read_text()


def test_a_wheel_that_was_made_in_a_clone_or_from_an_sdist_knows_its_commit(installed):
    code = "from elmo_bench.ledger import environment; e = environment([]); print(len(e['commit'] or ''), e['dirty'])"
    said = call(sys.executable, "-c", code, cwd=installed)
    assert said == "40 False\n"


def test_the_commands_work_in_an_empty_folder(installed, tmp_path):
    def bench(*arguments):
        return call(sys.executable, "-m", "elmo_bench", *arguments, cwd=tmp_path, PYTHONPATH=str(installed))

    code = "import elmo_bench; print(elmo_bench.__file__)"
    where = call(sys.executable, "-c", code, cwd=tmp_path, PYTHONPATH=str(installed))
    assert where.startswith(str(installed))
    tiny = ["task.training.epochs=1", "data.max_train=32"]
    bench("run", "task=ner", "encoder=elmo", *tiny)
    [record] = tmp_path.glob("results/runs/open/ner/elmo/*/seed0.json")
    assert "1 done" in bench("status", "task=ner", "encoder=elmo", *tiny)
    bench("report")
    assert (tmp_path / "results" / "index.html").is_file()
    bench("sweep", "task=sst5", "encoder=none,glove", *tiny)
    (tmp_path / "new.txt").write_text("EU O\nrejects O\n\n")
    bench("predict", record, "new.txt", "out.txt")
    assert (tmp_path / "out.txt").read_text().startswith("EU")
    (tmp_path / "sentences.txt").write_text("A sentence\n")
    bench("embed", "sentences.txt", "out.h5")
    assert (tmp_path / "out.h5").stat().st_size
    bench("score", "ner", "out.txt")
