"""Real runs on every launcher: the scores of one after the other; runs and sweeps that are killed."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.ledger import read_all
from elmo_bench.runner import jobs, launchers, schedulers
from tests.ledger.records import holders_in
from tests.runs import ROOT, result, small

FAKE_SLURM = ("sbatch", "srun", "sacct", "scancel")
AT_ONCE = {
    "local": ["launcher=local", "launcher.jobs=2"],
    "submitit": ["launcher=slurm", "launcher.cluster=local"],
    "slurm": ["launcher=slurm", "launcher.jobs=2", "launcher.partition=short", "+launcher.extra.account=mine"],
    "ray": ["launcher=ray", "launcher.jobs=2"],
}
NEEDS = {"submitit": "submitit", "slurm": "submitit", "ray": "ray"}


@pytest.fixture
def environment(tmp_path):
    """Of a sweep: a cluster of its own, and a home for Ray's token."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "states").mkdir()
    fake = Path(__file__).with_name("fake_slurm.py").read_text(encoding="utf-8")
    for name in FAKE_SLURM:
        script = tmp_path / "bin" / name
        script.write_text(f"#!{sys.executable}\n{fake}", encoding="utf-8")
        script.chmod(0o755)
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return os.environ | {
        "PATH": path, "FAKE_SLURM": str(tmp_path / "states"), "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)
    }  # fmt: skip


def start(folder, environment, *options):
    """`python run.py -m` in a process of its own, in `folder`; ledger `runs`."""
    command = [sys.executable, str(ROOT / "run.py"), "-m", *options, f"ledger={folder / 'runs'}"]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, cwd=folder, env=environment, start_new_session=True, **streams)


def sweep(folder, environment, *options):
    """(exit code, standard output, standard error) of such a process."""
    with start(folder, environment, *options) as process:
        return (process.wait(timeout=600), *process.communicate())


def options(*more):
    return small("task.training.epochs=1", *more, encoder="glove")


@pytest.mark.slow
@pytest.mark.parametrize("launcher", AT_ONCE)
def test_runs_at_once_give_what_one_after_the_other_gives(tmp_path, environment, launcher):
    """Three seeds; then a fourth, while the others are skipped, whichever way they were made."""
    pytest.importorskip(NEEDS.get(launcher, "elmo_bench"))
    (tmp_path / "serial").mkdir()
    assert sweep(tmp_path / "serial", environment, *options("seed=0,1,2"), "launcher.jobs=1")[0] == 0
    code, printed, errors = sweep(tmp_path, environment, *options("seed=0,1,2"), *AT_ONCE[launcher])
    assert code == 0, errors
    serial, at_once = (read_all(folder / "runs") for folder in (tmp_path / "serial", tmp_path))
    assert len(serial.records) == 3
    assert [result(record) for record in serial.records] == [result(record) for record in at_once.records]
    assert at_once.problems == []
    assert {record.environment.threads for record in at_once.records} == {1}
    assert len(list((tmp_path / "runs").rglob("head.safetensors"))) == 3
    assert "test scores on suite open" in printed
    again = sweep(tmp_path, environment, *options("seed=0,3"), *AT_ONCE[launcher])
    assert (again[0], again[1].count(": already in the ledger"), again[1].count(": done: ")) == (0, 1, 1), again[2]
    if launcher == "slurm":
        script = (tmp_path / "states" / "script").read_text(encoding="utf-8")
        assert "#SBATCH --partition=short" in script
        assert "#SBATCH --account=mine" in script


@pytest.mark.slow
@pytest.mark.parametrize("launcher", ["local", "submitit"])
def test_a_run_that_is_killed_fails_alone(tmp_path, environment, launcher):
    """Killed while it trains, found by its lock; the other run, with two epochs instead of many, is done."""
    pytest.importorskip(NEEDS.get(launcher, "elmo_bench"))
    given = options("task.training.epochs=2,100000", "task.training.patience=100000", *AT_ONCE[launcher])
    with start(tmp_path, environment, *given) as process:
        deadline = time.monotonic() + 300
        killed = False
        while not killed and time.monotonic() < deadline:
            time.sleep(0.1)
            for holder in holders_in(tmp_path / "runs"):
                if holder.spec.settings["task.training.epochs"] == 100_000:
                    os.kill(holder.pid, signal.SIGKILL)
                    killed = True
        assert process.wait(timeout=300) == 1
        _, errors = process.communicate()
    assert "epochs=100000" in errors
    assert "killed by" in errors
    found = read_all(tmp_path / "runs")
    assert [record.spec.settings["task.training.epochs"] for record in found.records] == [2]


# With the kills of `pretrain` (tests/pretraining), thirty.
@pytest.mark.slow
def test_two_sweeps_of_which_one_is_killed_ten_times_share_a_ledger(tmp_path, environment):
    """SIGKILL at some moment of a run or of starting: each of twelve runs is made once, and nothing else is left."""
    rng, runs = random.Random(1), 12
    given = options("encoder=none,glove", "seed=0,1,2", "task.training.optimizer.lr=0.001,0.002", "launcher.jobs=2")
    processes = [start(tmp_path, environment, *given) for _ in range(2)]
    for wanted in sorted(rng.choices(range(runs - 4), k=10)):
        number, deadline = rng.randrange(2), time.monotonic() + 300
        while len(list(tmp_path.rglob("runs/**/seed*.json"))) < wanted and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(rng.uniform(0, 0.5))
        assert processes[number].poll() is None
        os.killpg(processes[number].pid, signal.SIGKILL)
        processes[number].communicate()
        processes[number] = start(tmp_path, environment, *given)
    printed = [process.communicate(timeout=600)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    left = read_all(tmp_path / "runs")
    assert (len(left.records), left.problems) == (runs, [])
    assert "".join(printed).count(": done: ") <= runs
    assert not [path for path in (tmp_path / "runs").rglob("*") if path.suffix in (".lock", ".ckpt")]


@pytest.mark.parametrize(("free", "fits"), [(6, True), (5, False)])
def test_a_run_waits_for_the_memory_that_the_running_ones_have_still_to_take(monkeypatch, free, fits):
    monkeypatch.setattr(launchers, "available_memory", lambda: free)
    monkeypatch.setattr(launchers, "resident_memory", lambda pid: pid)
    jobs = [launchers.Job(None, "", Path(), memory) for memory in (4, 2, 3)]

    class Child(SimpleNamespace):
        __hash__ = object.__hash__

    running = {Child(pid=1): (jobs[0], "0"), Child(pid=7): (jobs[1], "0")}
    assert launchers._fits(jobs[2], running) is fits  # 3 more of the first, and 3 of its own
    assert launchers._fits(jobs[2], {})


@pytest.mark.parametrize("visible", ["", "5,7", "5,7,-1"])
def test_the_next_run_gets_the_gpu_that_is_free(monkeypatch, visible):
    """Of two GPUs, three runs at once and five runs."""
    first, second = visible.split(",")[:2] if visible else ("0", "1")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    started = []

    def start_(_server, job, _command, gpu, share):
        child = SimpleNamespace(job=job, gpu=gpu, share=share, exitcode=None, sentinel=None, pid=0)
        child = type("Child", (SimpleNamespace,), {"__hash__": object.__hash__})(**vars(child))
        started.append(child)
        return child

    ends = iter([1, 0, 3, 2, 4])  # the runs by number, in the order in which they end

    def one_ends(*_, **__):
        started[next(ends)].exitcode = 0

    monkeypatch.setattr(launchers, "gpus", lambda: 2)
    monkeypatch.setattr(launchers, "available_memory", lambda: 9)
    monkeypatch.setattr(launchers, "resident_memory", lambda pid: 0)
    monkeypatch.setattr(launchers, "_fork_server", lambda jobs: None)
    monkeypatch.setattr(launchers, "_start", start_)
    monkeypatch.setattr(launchers, "wait", one_ends)
    monkeypatch.setattr(launchers, "ended", lambda job, code: job)
    monkeypatch.setattr(launchers, "_end", lambda children: None)
    run = SimpleNamespace(setup=SimpleNamespace(device="cuda", encoders={}))
    runs = [launchers.Job(run, "", Path(str(number)), 0) for number in range(5)]
    carried_out = [job for job in launchers._local(runs, {"jobs": 3}, None) if job is not None]
    assert [child.gpu for child in started] == [first, second, first, second, first]
    assert {child.share for child in started} == {0.5}
    assert [runs.index(job) for job in carried_out] == [1, 0, 3, 2, 4]


@pytest.mark.parametrize(("on_gpus", "at_once", "gpus", "share"), [(2, 8, 1, 1 / 2), (5, 3, 2, 1 / 2), (0, 8, 1, 1)])
def test_runs_share_a_gpu_with_those_that_use_it(on_gpus, at_once, gpus, share):
    devices = ["cuda"] * on_gpus + ["cpu"] * 3
    runs = [SimpleNamespace(setup=SimpleNamespace(device=device, encoders={})) for device in devices]
    assert launchers._share([launchers.Job(run, "", Path(), 0) for run in runs], at_once, gpus) == share


@pytest.mark.parametrize(("address", "cores"), [("auto", None), (None, 6)])
def test_ray_gets_as_many_runs_at_once_as_are_asked_for_and_what_each_needs(monkeypatch, address, cores):
    """Of a running cluster, too, whose cores are not limited."""
    pending, most, started, needed = [], [], {}, {}

    def remote(**options):
        needed.update(options)
        return lambda _: SimpleNamespace(remote=submit)

    def submit(arguments, *_):
        assert "trainer.threads=3" in arguments
        pending.append(f"task {len(most)}")
        most.append(len(pending))
        return pending[-1]

    ray = SimpleNamespace(
        init=lambda **options: started.update(options), shutdown=lambda: None, remote=remote,
        wait=lambda *_, **__: ([pending.pop(0)], []), get=lambda _: 0,
    )  # fmt: skip
    monkeypatch.setitem(sys.modules, "ray", ray)
    runs = [launchers.Job(SimpleNamespace(options=()), str(number), Path(str(number)), 0) for number in range(5)]
    given = {"jobs": 2, "address": address, "cpus": 3, "gpus": 0.5}
    carried_out = [each.job for each in schedulers.ray_tasks(runs, given) if each is not None]
    assert carried_out == runs
    assert max(most) == 2
    assert (started["address"], started["num_cpus"]) == (address, cores)
    assert needed == {"num_cpus": 3, "num_gpus": 0.5, "max_retries": 0}


@pytest.mark.parametrize(
    ("message", "more", "why"),
    [
        ("the worker died\nat noon", {}, "Ray: the worker died"),
        ("a traceback", {"cause": FileNotFoundError("no such folder\nat all")}, "Ray: no such folder"),
        ("a traceback", {"cause": MemoryError()}, "Ray: MemoryError"),
    ],
)
def test_a_run_that_ray_lost_is_one_line_and_the_next_one_is_started(monkeypatch, message, more, why):
    class RayError(Exception):
        pass

    def get(handle):
        if handle == "0":
            error = RayError(message)
            vars(error).update(more)
            raise error
        return 0

    ray = SimpleNamespace(
        init=lambda **_: None, shutdown=lambda: None, exceptions=SimpleNamespace(RayError=RayError), get=get,
        remote=lambda **_: lambda _: SimpleNamespace(remote=lambda arguments, log, *_: Path(log).name),
        wait=lambda handles, **_: (handles, []),
    )  # fmt: skip
    monkeypatch.setitem(sys.modules, "ray", ray)
    runs = [launchers.Job(SimpleNamespace(options=()), str(number), Path(str(number)), 0) for number in range(2)]
    given = {"jobs": 1, "address": "auto", "cpus": 1, "gpus": 0}
    found = [each for each in schedulers.ray_tasks(runs, given) if each is not None]
    assert found == [jobs.Ended(runs[0], None, why), jobs.Ended(runs[1], 0)]


def test_jobs_of_schedulers_import_from_the_folders_of_the_sweep_and_not_from_the_current_one(tmp_path, monkeypatch):
    """A `random.py` beside the data would end every job."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "random.py").write_text("raise SystemExit('the wrong one')")
    monkeypatch.setattr(sys, "path", [*sys.path, str(ROOT)])
    log = tmp_path / "log"
    assert schedulers._on_worker(["--version"], str(log), str(tmp_path), jobs.imports()) == 0
    assert "the wrong one" not in log.read_text()
    assert schedulers._on_node(["--version"], jobs.imports()) == 0


SLURM = {"jobs": None, "partition": None, "timeout_min": 60, "cpus": 2, "gpus_per_node": None, "mem_gb": None}
SUBMITIT = {"name": "elmo-bench", "timeout_min": 60, "cpus_per_task": 2}


@pytest.mark.parametrize(
    ("options", "parameters"),
    [
        ({"extra": {}}, {"slurm_array_parallelism": 7, "slurm_additional_parameters": {}}),
        (
            {"jobs": 3, "partition": "short", "gpus_per_node": 1, "mem_gb": 8, "extra": {"account": "mine"}},
            {
                "slurm_array_parallelism": 3, "slurm_partition": "short", "gpus_per_node": 1, "mem_gb": 8,
                "slurm_additional_parameters": {"account": "mine"},
            },
        ),
    ],
    ids=["null", "set"],
)  # fmt: skip
def test_what_slurm_is_asked_for(options, parameters):
    """An option that is null is not passed on: the cluster's own value holds."""
    assert schedulers._slurm_parameters(SLURM | options, 7) == SUBMITIT | parameters


@pytest.mark.parametrize(
    ("failed", "ended"),
    [
        (None, (0, "")),
        (RuntimeError("  ran out of time\nand more"), (None, "Slurm job 7_2: ran out of time")),
        (MemoryError(), (None, "Slurm job 7_2: MemoryError")),
    ],
)
def test_a_job_of_slurm_that_failed_is_one_line_with_its_number(tmp_path, failed, ended):
    log = tmp_path / "7_2.out"
    handle = SimpleNamespace(
        job_id="7_2", paths=SimpleNamespace(stdout=str(log)), exception=lambda: failed, result=lambda: 0
    )
    job = launchers.Job(None, "", Path(), 0)
    assert schedulers._ended_on_node(handle, job) == (job, *ended, log)


@pytest.mark.parametrize("fails", ["AutoExecutor", "map_array"])
def test_a_slurm_that_takes_no_jobs_is_one_line(tmp_path, monkeypatch, fails):
    class Executor:
        def __init__(self, folder, cluster):
            stop("AutoExecutor")

        def update_parameters(self, **_):
            pass

        def map_array(self, *_):
            stop("map_array")

    def stop(name):
        if name == fails:
            raise RuntimeError('Could not detect "srun"\nand more')

    utils = SimpleNamespace(FailedJobError=ArithmeticError)
    library = SimpleNamespace(AutoExecutor=Executor, core=SimpleNamespace(utils=utils))
    monkeypatch.setitem(sys.modules, "submitit", library)
    options = dict.fromkeys(("gpus_per_node", "mem_gb", "partition", "jobs")) | {"cluster": "slurm", "extra": {}}
    options |= {"timeout_min": 1, "cpus": 1}
    job = SimpleNamespace(log=tmp_path / "log", arguments=lambda threads: [])
    with pytest.raises(UserError) as error:
        next(schedulers.slurm([job], options))
    failed = 'the jobs could not be submitted (Could not detect "srun")'
    assert str(error.value) == f"launcher=slurm: {failed}. Check sbatch, or use launcher=local."


@pytest.mark.parametrize(
    ("message", "reason"), [("Ray is not running\nat all", "Ray is not running"), ("", "ConnectionError")]
)
def test_an_address_without_ray_is_one_line(monkeypatch, message, reason):
    def init(**_):
        raise ConnectionError(message)

    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(init=init))
    with pytest.raises(UserError) as error:
        schedulers._connect({"jobs": None, "address": "host:1", "cpus": 1})
    assert str(error.value) == f"launcher.address=host:1: no Ray there ({reason}). Give auto or HOST:PORT."
