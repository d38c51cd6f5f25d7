"""A sweep: the end of each run is read from the ledger, by its attempt."""

import errno
import importlib
import json
import os
import platform
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from elmo_bench.__main__ import entry, main
from elmo_bench.base.errors import UserError
from elmo_bench.cli.sweep import _records
from elmo_bench.ledger import Spec, run_lock
from elmo_bench.runner import launchers
from elmo_bench.runner import sweep as module
from elmo_bench.runner.plan import plan
from elmo_bench.runner.states import RunState
from elmo_bench.runner.sweep import run_sweep
from tests.ledger.records import holders_in, make_record
from tests.runner import fake_child
from tests.runner.fake_child import DONE, FAILED, KILLED, SILENT, SKIPPED, SLOW, USER_ERROR
from tests.runs import ROOT


def options(ledger, *seeds, jobs=2):
    return [f"seed={','.join(map(str, seeds))}", f"ledger={ledger}", f"launcher.jobs={jobs}"]


def results(ledger, *seeds, jobs=2, trainer="cpu"):
    planned = plan([*options(ledger, *seeds, jobs=jobs), f"trainer={trainer}"])
    return {result.run.seed: result for result in run_sweep(planned, entry)}


def test_every_end_is_told_apart_and_each_child_has_a_gpu(fake_children, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,5")
    found = results(fake_children, DONE, FAILED, USER_ERROR, KILLED, SILENT, jobs=4, trainer="gpu")
    assert {seed: (result.state, result.code) for seed, result in found.items()} == {
        DONE: ("done", 0),
        FAILED: ("failed", 1),
        USER_ERROR: ("failed", 2),
        KILLED: ("failed", 1),
        SILENT: ("failed", 1),
    }
    assert found[DONE].record.seed == DONE
    assert found[USER_ERROR].note == "vectors.txt: no such file"
    for seed, why in (
        (FAILED, "ValueError: no such layer;"),
        (KILLED, "killed by SIGKILL, as the system does when memory runs out;"),
        (SILENT, "the last line;"),
    ):
        assert found[seed].note.startswith(why)
        log = found[seed].note.rpartition("see ")[2]
        assert Path(log).read_text().startswith(f"seed {seed}\n")
    said = [path.read_text().splitlines()[1] for path in fake_children.parent.rglob("*.log")]
    assert {*said} == {"0.5 of gpu 3", "0.5 of gpu 5"}


def test_a_run_on_the_cpu_sees_no_gpu(fake_children, monkeypatch):
    """It would take some of a card's memory, and end where the card is full."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,5")
    assert results(fake_children, DONE, jobs=4)[DONE].state == "done"
    [log] = fake_children.parent.rglob("*.log")
    assert log.read_text().splitlines()[1].endswith("of gpu ")


IMPORTED = {
    (): [],
    ("task=classification", "data.file=x.csv"): [launchers.NLTK],
    ("task=classification", "data.file=x.csv", "task.data.tokenizer=spaces"): [],
    ("task=snli", "suite=open"): [],  # its texts are tokenised
    ("encoder=bert_mini",): [launchers.TRANSFORMERS],
    ("encoder=elmo", "encoder.contextual.kind=[hf]"): [],  # its run says that there is no such kind
    ("encoder=elmo_bert_mini", "task=pairs", "data.file=x.csv"): [launchers.NLTK, launchers.TRANSFORMERS],
}


@pytest.mark.parametrize("chosen", IMPORTED)
def test_what_takes_long_to_import_is_imported_once_for_all_runs_that_need_it(chosen, tmp_path):
    jobs = [SimpleNamespace(run=run) for run in plan([*chosen, f"ledger={tmp_path}"]).runs]
    assert launchers._imported(jobs) == [*launchers.PRELOAD, *IMPORTED[chosen]]


@pytest.mark.parametrize(("early", "package"), [(launchers.NLTK, "nltk"), (launchers.TRANSFORMERS, "transformers")])
def test_a_broken_package_ends_only_the_runs_that_need_it(early, package, tmp_path, monkeypatch):
    (tmp_path / f"{package}.py").write_text("raise RuntimeError('broken')")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    for name in [name for name in sys.modules if name.partition(".")[0] == package or name == early]:
        monkeypatch.delitem(sys.modules, name)
    importlib.import_module(early)
    with pytest.raises(RuntimeError, match="broken"):
        importlib.import_module(package)


@pytest.mark.slow
def test_the_first_line_says_how_much_there_is_to_do(fake_children, capsys):
    """A minute for the run of this task that the ledger has; the run that is done takes none."""
    for run in plan(options(fake_children, SKIPPED)).runs:
        fake_child.write(
            fake_child.paths(run.spec, run.seed, fake_children), run.spec, "1" * 32, started=time.time() - 60
        )
    assert main(["sweep", *options(fake_children, SKIPPED, DONE, SILENT)]) == 1
    first = capsys.readouterr().out.splitlines()[0]
    assert first == "3 runs, 1 of them done; about 2 min left, one after the other, 1 min with 2 at once"


@pytest.mark.slow
def test_what_an_earlier_attempt_left_is_not_taken_for_this_one(fake_children):
    """An old record of runs that are now killed, left without a word, or skipped."""
    for run in plan(options(fake_children, KILLED, SILENT, SKIPPED)).runs:
        place = fake_child.paths(run.spec, run.seed, fake_children)
        fake_child.write(place, run.spec, f"{run.seed:032}")
    found = results(fake_children, KILLED, SILENT, SKIPPED)
    states = {seed: result.state for seed, result in found.items()}
    assert states == {KILLED: "failed", SILENT: "failed", SKIPPED: "skipped"}
    assert found[SKIPPED].record.attempt == f"{SKIPPED:032}"


def test_a_run_that_another_process_holds_is_left_to_it(fake_children):
    """Also if an earlier attempt left a record on other data; a child that ends without a word then skipped nothing."""
    [run] = plan(options(fake_children, SKIPPED)).runs
    place = fake_child.paths(run.spec, run.seed, fake_children)
    fake_child.write(place, run.spec, f"{run.seed:032}")
    with run_lock(place, spec=Spec(**run.spec.to_json())):
        [result] = results(fake_children, SKIPPED).values()
    assert (result.state, result.code) == ("held", 0)
    assert result.note == f"{platform.node()}, process {os.getpid()}"
    [result] = results(fake_children, SKIPPED).values()
    assert result.state == "skipped"


def test_a_record_that_does_not_pass_the_check_is_a_failure(fake_children):
    [run] = plan(options(fake_children, SKIPPED)).runs
    paths = fake_child.paths(run.spec, run.seed, fake_children)
    fake_child.write(paths, run.spec, f"{run.seed:032}")
    content = json.loads(paths.record.read_bytes())
    content["scores"]["test"]["overall"]["f1"] = 99.0
    paths.record.write_text(json.dumps(content), encoding="utf-8")
    [result] = results(fake_children, SKIPPED).values()
    assert (result.state, result.code, result.record) == ("failed", 2, None)
    assert "outcomes on test: they add up to f1" in result.note


def test_the_tables_the_list_of_failures_and_the_exit_code(fake_children, capsys):
    assert main(["sweep", *options(fake_children, DONE, FAILED, USER_ERROR)]) == 2
    printed = capsys.readouterr()
    assert f"seed={DONE} ledger={fake_children}: done: dev f1 60.00, test f1 50.00  {fake_children}" in printed.out
    assert "test scores on suite open" in printed.out
    lines = [line for line in printed.err.splitlines() if line.startswith("elmo-bench sweep: ")]
    assert "2 runs failed:" in printed.err
    assert sorted(line.rpartition(": ")[2].partition(";")[0] for line in lines) == ["no such file", "no such layer"]
    assert main(["sweep", *options(fake_children, FAILED)]) == 1
    assert capsys.readouterr().out.startswith("1 run, 0 of them done; ")


def test_tables_and_the_next_commands_have_the_order_of_the_plan():
    """Runs that are there come first, and others end in any order."""
    planned = plan(["encoder=glove,elmo", "seed=0,1"])
    *done, failed = planned.runs
    records = [make_record(spec=run.spec.to_json(), seed=run.seed) for run in done]
    results = [RunState(run, "done", record) for run, record in zip(done, records, strict=True)]
    assert _records([RunState(failed, "failed"), *results[::-1]], planned) == records


def test_a_full_disk_is_named_where_a_log_is_empty(tmp_path, monkeypatch):
    """Nothing is left of the try."""
    log = tmp_path / "001.log"
    log.touch()
    assert module._why_empty(log) == "it printed nothing"

    def full(path, content):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", full)
    assert "No space left on device" in module._why_empty(log)
    assert [*tmp_path.iterdir()] == [log]


INTERRUPTED = """
import signal, sys
from elmo_bench.runner import launchers
from elmo_bench.cli.entry import main_into_pipe
from tests.runner import fake_child
if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # this test may run in the background of a shell
    launchers._child, launchers.PRELOAD = fake_child.child, []
    sys.exit(main_into_pipe(["sweep", *sys.argv[1:]]))
"""


@pytest.fixture
def slow(tmp_path):
    """(a sweep in a process of its own, the process of its child)."""
    command = [sys.executable, "-c", INTERRUPTED, *options(tmp_path / "runs", SLOW, DONE, jobs=1)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=pipe, stderr=pipe, text=True) as process:
        deadline = time.monotonic() + 60
        while not (holders := holders_in(tmp_path / "runs")) and time.monotonic() < deadline:
            time.sleep(0.05)
        yield process, holders[0].pid


@pytest.mark.slow
def test_children_end_with_a_sweep_that_is_killed(tmp_path, slow):
    slow[0].kill()
    deadline = time.monotonic() + 20
    while holders_in(tmp_path / "runs") and time.monotonic() < deadline:  # the lock ends with the child
        time.sleep(0.1)
    assert not holders_in(tmp_path / "runs")


@pytest.mark.parametrize("kind", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_an_interrupt_ends_the_children(tmp_path, slow, kind):
    process, child = slow
    process.send_signal(kind)
    _, printed = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted: 2 runs left, or fewer. Start the same sweep again to make them." in printed
    assert "Traceback" not in printed
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)
    assert not list(tmp_path.rglob("*.lock"))  # the child had the time to release its lock


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ("launcher=slrum", "unknown launcher; choose one of: local, ray, slurm (did you mean 'slurm'?)"),
        ("launcher=local,slurm", "launcher has 2 values, but all runs of a sweep share it"),
        ("encoder=none,glvoe", "unknown encoder"),
    ],
)
def test_a_mistake_is_one_line_before_the_first_run(fake_children, wrong, why, refused):
    assert why in refused("sweep", f"ledger={fake_children}", wrong)
    assert not fake_children.exists()


@pytest.mark.parametrize("name", ["slurm", "ray"])
def test_a_launcher_that_is_not_installed_says_what_to_install(fake_children, name, monkeypatch):
    monkeypatch.setitem(sys.modules, {"slurm": "submitit", "ray": "ray"}[name], None)
    with pytest.raises(UserError, match=rf"pip install 'elmo-bench\[{name}\]'"):
        list(run_sweep(plan([f"ledger={fake_children}", f"launcher={name}"]), entry))
