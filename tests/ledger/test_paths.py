"""Where files lie, and that no name leads out of the ledger."""

from pathlib import Path

import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.ledger import RunPaths, runs_in

HASH = "0123456789ab"
GOOD = {"ledger": Path("runs"), "suite": "open", "task": "x", "encoder": "my-enc_5.5B", "hash": HASH, "seed": 3}


def test_every_path_by_hand():
    paths = RunPaths(**GOOD)
    folder = Path("runs/open/x/my-enc_5.5B/0123456789ab")
    assert paths.record == folder / "seed3.json"
    assert paths.outcomes == folder / "seed3.npz"
    assert paths.failure == folder / "seed3.failed.json"
    assert paths.lock == folder / "seed3.lock"
    assert paths.work == folder / "seed3"


@pytest.mark.parametrize("key", ["suite", "task", "encoder"])
@pytest.mark.parametrize(
    "name", ["", ".", "..", "../up", "a/b", "/etc", "a\\b", ".hidden", "a b", "a\n", "a\0", None, 3]
)
def test_names_that_could_escape(key, name):
    with pytest.raises(UserError, match=key):
        RunPaths(**GOOD | {key: name})


@pytest.mark.parametrize("change", [{"seed": -1}, {"seed": "../1"}, {"seed": True}, {"seed": 1.0}, {"hash": "../0123"}])
def test_bad_seed_or_hash(change):
    with pytest.raises(UserError, match=next(iter(change))):
        RunPaths(**GOOD | change)


def test_of_a_record(make_record):
    record = make_record(seed=7)
    assert RunPaths.of(Path("runs"), record).record == Path(f"runs/open/tagging/elmo/{record['hash']}/seed7.json")


def test_runs_in_finds_whatever_a_run_left_once_and_in_order(tmp_path):
    folder = tmp_path / "open" / "x" / "e" / HASH
    (folder / "seed10").mkdir(parents=True)
    for name in ("seed9.json", "seed9.npz", ".seed2.json.abc", "seed3.lock", "seed04.json", "notes.txt", "seeds"):
        (folder / name).touch()
    (tmp_path / "open" / "x" / "e" / "not-a-hash").mkdir()
    (tmp_path / "open" / "x" / "e" / "not-a-hash" / "seed1.json").touch()
    assert [run.seed for run in runs_in(tmp_path)] == [2, 3, 9, 10]
    assert runs_in(tmp_path / "nowhere") == []
