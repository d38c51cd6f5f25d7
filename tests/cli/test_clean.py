"""`elmo-bench clean`: what may go goes, and nothing else."""

import pytest

from elmo_bench.__main__ import main as run_command
from elmo_bench.cli import clean
from elmo_bench.ledger import RunPaths, run_lock, write_failure
from tests.ledger.records import ATTEMPT

BY_DEFAULT = [
    ".seed0.json.abc", "seed0/best.ckpt", "seed0/last.ckpt", "seed1/best.ckpt", "seed1/last.ckpt", "seed2.lock",
]  # fmt: skip
MADE = {"task": "ner", "encoder": "glove"}  # runs of a task that is not installed are never called stale


@pytest.fixture
def ledger(tmp_path, store_record, make_record):
    """A finished run (seed 0), a superseded one (seed 1), an unfinished one (seed 2), a failed one (seed 3)."""
    root = tmp_path / "runs"
    finished = store_record(**MADE, seed=0)
    stale = store_record(**MADE, seed=1, weights="old", created="2025-01-01T00:00:00+00:00")
    unfinished, failed = (RunPaths.of(root, make_record(**MADE, seed=seed)) for seed in (2, 3))
    for run in (finished, stale, unfinished):
        run.work.mkdir()
        for name in ("last.ckpt", "best.ckpt", "head.safetensors", "metrics.csv"):
            (run.work / name).write_bytes(bytes(1024))
    (finished.folder / ".seed0.json.abc").write_bytes(bytes(10))
    unfinished.lock.touch()
    write_failure(failed, ValueError("no"), attempt=ATTEMPT, spec=make_record(**MADE)["spec"])
    return root, finished, stale, unfinished, failed


def left(root):
    return {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}


def run(root, *flags):
    assert clean.main(["--ledger", str(root), *flags]) == 0


def gone(before, root):
    """What is missing now, by its path inside the run's folder."""
    return sorted("/".join(path.split("/")[4:]) for path in before - left(root))


def test_by_default_only_what_nobody_needs(ledger, capsys):
    root, finished, *_ = ledger
    before = left(root)
    run(root)
    assert gone(before, root) == BY_DEFAULT
    said = capsys.readouterr().out
    assert f"removed {finished.work / 'last.ckpt'}\n" in said
    run(root)
    assert capsys.readouterr().out == ""


def test_dry_run_changes_nothing_and_says_the_same(ledger, capsys):
    root, *_ = ledger
    before = left(root)
    run(root, "--dry-run", "--stale", "--failures", "--unfinished")
    would = capsys.readouterr().out
    assert left(root) == before
    run(root, "--stale", "--failures", "--unfinished")
    assert capsys.readouterr().out == would.replace("would remove", "removed")


WORK = ("best.ckpt", "head.safetensors", "last.ckpt", "metrics.csv")


@pytest.mark.parametrize(
    ("flag", "more"),
    [
        ("--stale", ["seed1.json", "seed1.npz", *(f"seed1/{name}" for name in WORK)]),
        ("--failures", ["seed3.failed.json"]),
        ("--unfinished", [f"seed2/{name}" for name in WORK]),
    ],
)
def test_stale_failed_and_unfinished_runs_go_when_asked_for(ledger, flag, more):
    root, *_ = ledger
    before = left(root)
    run(root, flag)
    assert gone(before, root) == sorted({*BY_DEFAULT, *more})


@pytest.mark.parametrize("dry", [[], ["--dry-run"]])
def test_a_run_that_somebody_holds_is_left_alone(ledger, capsys, dry):
    root, finished, _, unfinished, _ = ledger
    with run_lock(unfinished), run_lock(finished):
        before = left(root)
        run(root, "--unfinished", *dry)
        assert {path for path in before - left(root) if "/seed1" not in path} == set()
        assert capsys.readouterr().out.count("another process is working on this run: left to it") == 2


@pytest.fixture
def outside(tmp_path):
    """A folder of the user's, outside of the ledger."""
    home = tmp_path / "home"
    for name in (".ssh/id", ".git/config", "model.ckpt", "seed0.json"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("mine")
    return home


@pytest.mark.parametrize("level", range(5))
@pytest.mark.parametrize("flags", [[], ["--failures", "--unfinished"], ["--dry-run"]])
def test_nothing_is_removed_through_a_link(ledger, outside, capsys, level, flags):
    """The folder of a run (level 0) or one above it is a link to somewhere else."""
    root, finished, *_ = ledger
    place = [finished.work, *finished.work.parents][level]
    moved = outside / "moved"
    place.rename(moved)
    (moved / ".ssh").mkdir()
    place.symlink_to(moved)
    before = left(outside)
    assert clean.main(["--ledger", str(root), *flags]) == 2
    assert left(outside) == before
    assert place.is_symlink()
    printed = capsys.readouterr()
    assert f"elmo-bench clean: {place}: a symbolic link, which " in printed.err
    if level == 0:  # the other runs are cleaned
        assert f"{'would remove' if '--dry-run' in flags else 'removed'} {root}" in printed.out


def test_links_inside_a_run_are_removed_and_what_they_lead_to_stays(ledger, outside, capsys):
    root, finished, *_ = ledger
    (finished.work / ".home").symlink_to(outside)
    before = left(outside)
    assert clean.main(["--ledger", str(root)]) == 2  # the run is left alone: the link leads out of the ledger
    assert "a symbolic link out of the ledger" in capsys.readouterr().err
    (finished.work / ".home").unlink()
    (finished.work / ".inside").symlink_to("head.safetensors")
    assert clean.main(["--ledger", str(root)]) == 0
    assert left(outside) == before
    assert (finished.work / "head.safetensors").exists()
    assert not (finished.work / ".inside").is_symlink()


@pytest.mark.parametrize("command", [["clean", "--ledger"], ["merge"]])
def test_a_folder_that_is_no_ledger_is_left_alone_after_ten_lines(tmp_path, capsys, command):
    for number in range(30):
        (tmp_path / "home" / f"link{number}").parent.mkdir(exist_ok=True)
        (tmp_path / "home" / f"link{number}").symlink_to(tmp_path)
    assert run_command([*command, str(tmp_path / "home")]) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 11 and "Give the folder of a ledger." in said[-1]
    assert not any("emove" in line for line in said)
