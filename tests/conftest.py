"""What tests of several parts share."""

import functools
import gc
import os
import runpy
import sys

import pytest

# Nothing of the package is imported here: pytest-xdist reads this file before it starts the processes that test.
os.environ.setdefault("OMP_NUM_THREADS", "1")  # as `make test`: otherwise commands measure, and print, what is idle


def pytest_sessionstart() -> None:
    """Of many tests some import Lightning: as a run does, without what it looks for, which takes a second less."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        import elmo_bench.training.lightning  # noqa: F401


def pytest_collection_finish() -> None:
    """What is imported by now stays: garbage collection need not look at it again, which takes 5 % of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000)  # instead of 700 new objects


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What reads the committed ledger comes first, so that one of the processes alone reads it.

    pytest-xdist gives each process tests that follow each other.
    """
    items.sort(key=lambda item: "committed" not in getattr(item, "fixturenames", ()))


@pytest.fixture(scope="session", autouse=True)
def no_waiting_for_the_disk():
    """Nobody turns the power off: that a file is on the disk before a test goes on takes milliseconds each time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda number: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def no_downloads():
    """A test that asks for a published file by mistake ends at once; tests of downloads take the switch back."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ELMO_BENCH_OFFLINE", "1")
        yield


@pytest.fixture(autouse=True)
def threads_and_environment_as_given():
    """Some commands take all cores; the tests after them, in one of several processes, have their share alone.

    A sweep sets the environment of the processes that it starts, and so its own.
    """
    environment = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(environment)
    share = int(os.environ.get("OMP_NUM_THREADS", "0"))
    if share and "torch" in sys.modules and sys.modules["torch"].get_num_threads() != share:
        sys.modules["torch"].set_num_threads(share)


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory):
    """No test, and no process that a test starts, reads or writes the user's cache, or reads the user's settings."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("ELMO_BENCH_INCLUDE", "ELMO_BENCH_MIRROR", "HF_ENDPOINT"):
            patch.delenv(name, raising=False)
        patch.setenv("ELMO_BENCH_CACHE", str(folder := tmp_path_factory.mktemp("cache")))
        yield folder


@pytest.fixture(scope="session", autouse=True)
def small_data():
    """Runs read small cuts of the real data (see tests/data), in processes that a test starts, too."""
    from tests.runs import CUTS

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ELMO_BENCH_DATA", str(CUTS))
        yield


@pytest.fixture(scope="session", autouse=True)
def interpolations_parsed_once():
    """Parsing `${...}` again takes a third of the time of composing a config; thousands are composed here."""
    import omegaconf.base

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(omegaconf.base, "parse", functools.cache(omegaconf.base.parse))
        yield


@pytest.fixture
def refused(capsys):
    """`refused(*words) -> line`: the command ends with exit code 2 and this one line, without a traceback."""
    from elmo_bench.__main__ import main

    def refused(*words):
        capsys.readouterr()
        assert main([str(word) for word in words]) == 2
        said = capsys.readouterr().err
        assert "Traceback" not in said
        [line] = [line for line in said.splitlines() if line.startswith("elmo-bench")]
        return line

    return refused


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory):
    """A folder with a tiny BERT; copy it to change it. See tests/tiny_bert.py."""
    from tests.tiny_bert import make_tiny_bert

    return make_tiny_bert(tmp_path_factory.mktemp("models") / "tiny-bert")


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """The cache folder is the test's own, `tmp_path / "cache"`."""
    monkeypatch.setenv("ELMO_BENCH_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def online(own_cache, monkeypatch):
    """Downloads are allowed; they come from a server on this machine, which is asked again without a pause."""
    from elmo_bench.base import downloads

    monkeypatch.setattr(downloads, "PAUSES", (0.0,) * 4)
    monkeypatch.delenv("ELMO_BENCH_OFFLINE")
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def hub(online, tmp_path, monkeypatch):
    """A stand-in of the Hub for this process, with `repositories` and `asked`, and an empty cache; see tests/hub.py."""
    from huggingface_hub import constants

    from tests.hub import hub_on_loopback

    with hub_on_loopback() as (address, stand):
        monkeypatch.setenv("HF_ENDPOINT", address)
        monkeypatch.setenv("HF_TOKEN", "hf_token")
        template = f"{address}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        for name, value in {
            "ENDPOINT": address, "HUGGINGFACE_CO_URL_TEMPLATE": template, "HF_HUB_CACHE": str(tmp_path / "hub"),
            "HF_HUB_OFFLINE": False, "HF_HUB_DISABLE_XET": True,
        }.items():  # fmt: skip
            monkeypatch.setattr(constants, name, value)
        yield stand


@pytest.fixture
def hub_cache(tmp_path, monkeypatch):
    """The Hub's cache is the test's own, which is empty: `tmp_path / "hub"`."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "hub"


@pytest.fixture
def forgotten(monkeypatch):
    """This process includes no folder, and forgets those that the test includes; gives what is included."""
    import elmo_bench.encoders
    import elmo_bench.tasks
    from elmo_bench.base import include

    monkeypatch.setattr(include, "folders", [])
    for package in (elmo_bench.tasks, elmo_bench.encoders):
        monkeypatch.setattr(package, "__path__", [*package.__path__])
    return include.folders


@pytest.fixture(scope="session")
def elmo_run(tmp_path_factory, small_data):
    """(ledger, record) of the small run with ELMo and its predictions, made once. Copy the ledger to change it."""
    from tests.runs import run_small

    ledger = tmp_path_factory.mktemp("elmo_run")
    return ledger, run_small(ledger, "predictions=true")


@pytest.fixture
def make_record():
    """`make_record(encoder=…, seed=…, test=…, …) -> Record`: valid in every key; see tests/ledger/records.py."""
    from tests.ledger.records import make_record

    return make_record


@pytest.fixture
def store_record(tmp_path):
    """`store_record(**as make_record) -> RunPaths`: the same, written to the ledger `tmp_path / "runs"`."""
    from tests.ledger.records import store_record

    return lambda **changes: store_record(tmp_path / "runs", **changes)


@pytest.fixture
def undrawn(monkeypatch):
    """Blank figures, for tests of a report's text: drawing takes most of the time of a report."""
    from elmo_bench.reporting.figures import Drawing

    blank = '<svg xmlns="http://www.w3.org/2000/svg"></svg>'
    monkeypatch.setattr(Drawing, "svg", blank)
    monkeypatch.setattr(Drawing, "phone_svg", blank)


@pytest.fixture
def fake_children(monkeypatch, tmp_path):
    """Children of tests/runner/fake_child.py instead of runs, in `tmp_path`; gives the ledger."""
    from elmo_bench.runner import launchers, sweep
    from tests.runner import fake_child

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(launchers, "_child", fake_child.child)
    monkeypatch.setattr(launchers, "PRELOAD", ["tests.runner.fake_child"])
    monkeypatch.setattr(sweep, "VISIBLE", 0.5)
    return tmp_path / "runs"


@pytest.fixture
def main_job(tmp_path, monkeypatch):
    """`main_job(*options) -> exit code` of `python run.py`, in this process and in `tmp_path`; ledger `runs`."""
    from tests.runs import ROOT

    def main_job(*options: str) -> int:
        monkeypatch.chdir(tmp_path)
        options = (*options, f"ledger={tmp_path / 'runs'}")
        monkeypatch.setattr(sys, "argv", ["run.py", *sorted(options, key=lambda option: not option.startswith("-"))])
        with pytest.raises(SystemExit) as end:
            runpy.run_path(str(ROOT / "run.py"), run_name="__main__")
        return int(end.value.code or 0)

    return main_job
