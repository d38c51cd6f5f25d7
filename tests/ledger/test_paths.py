"""Where files lie, and that no name leads out of the ledger."""

from pathlib import Path

import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.ledger import RunPaths, read_all, read_outcomes, run_lock, write_record
from elmo_bench.spec.config import compose
from elmo_bench.spec.run_spec import RunSpec
from tests.ledger.records import OUTCOMES

HASH = "0123456789ab"
LINK = "a symbolic link, which a ledger does not follow"
GOOD = {"ledger": Path("runs"), "suite": "open", "task": "x", "encoder": "my-enc_5.5B", "hash": HASH, "seed": 3}


@pytest.mark.parametrize("key", ["suite", "task", "encoder"])
@pytest.mark.parametrize("name", ["", ".", "..", "../up", "a/b", "/etc", "a\\b", ".hidden", "a b", "a\n", "a\0"])
def test_names_that_could_escape(key, name):
    with pytest.raises(UserError, match="not suite/task/encoder/hash/seed of a run"):
        RunPaths(**GOOD | {key: name})


@pytest.mark.parametrize("change", [{"seed": -1}, {"seed": "../1"}, {"seed": True}, {"seed": 1.0}, {"hash": "../0123"}])
def test_bad_seed_or_hash(change):
    with pytest.raises(UserError, match="not suite/task/encoder/hash/seed of a run"):
        RunPaths(**GOOD | change)


@pytest.mark.parametrize("level", range(1, 6))
def test_a_link_in_the_ledger_is_named_and_not_followed(store_record, make_record, tmp_path, level):
    """At every level: suite, task, encoder, hash, and the record itself."""
    paths = store_record()
    place = [*reversed([paths.record, *paths.record.parents][:5])][level - 1]
    outside = tmp_path / "outside"
    place.rename(outside)
    place.symlink_to(outside)
    before = sorted(path for path in outside.rglob("*"))
    (tmp_path / "link").symlink_to(tmp_path / "runs")  # the ledger itself may be one
    assert read_all(tmp_path / "link").problems[0].endswith(f"{place.name}: {LINK}")
    found = read_all(tmp_path / "runs")
    assert found.records == []
    assert found.problems == [f"{place}: {LINK}"]
    with pytest.raises(UserError, match="a symbolic link"), run_lock(paths):
        pass
    with pytest.raises(UserError, match="a symbolic link"):
        write_record(paths, make_record(test=1.0), OUTCOMES)
    assert sorted(path for path in outside.rglob("*")) == before


def test_the_work_folder_may_link_inside_the_ledger_alone(store_record, tmp_path):
    paths = store_record()
    (paths.work / "wandb" / "offline-run-1" / "logs").mkdir(parents=True)
    (paths.work / "wandb" / "latest").symlink_to("offline-run-1")
    (paths.work / "circle").symlink_to("circle")
    (paths.work / "wandb" / "latest" / "logs" / "debug-core.log").symlink_to(tmp_path)  # as wandb links its own log
    with run_lock(paths):
        pass
    (tmp_path / "mine.ckpt").touch()
    (paths.work / "best.ckpt").symlink_to(tmp_path / "mine.ckpt")
    with pytest.raises(UserError, match=r"best\.ckpt: a symbolic link out of the ledger"), run_lock(paths):
        pass


def test_outcomes_that_are_a_link_are_not_read(store_record, tmp_path):
    paths = store_record()
    paths.outcomes.rename(tmp_path / "elsewhere.npz")
    paths.outcomes.symlink_to(tmp_path / "elsewhere.npz")
    with pytest.raises(UserError, match="a link, or larger"):
        read_outcomes(paths)


@pytest.mark.parametrize("name", ["outcomes", "work"])
def test_no_file_of_a_run_may_be_a_link(store_record, tmp_path, name):
    paths = store_record()
    paths.outcomes.unlink()
    (tmp_path / "mine").write_text("mine")
    getattr(paths, name).symlink_to(tmp_path / "mine")
    with pytest.raises(UserError, match=f"{getattr(paths, name).name}: a symbolic link"), run_lock(paths):
        pass
    assert (tmp_path / "mine").read_text() == "mine"


@pytest.mark.parametrize(
    ("folder", "name"), [("my bert", "my_bert"), ("my-bert (1)", "my-bert__1_"), ("bert@2", "bert+2"), ("-x", "_x")]
)
def test_the_folder_of_a_model_has_a_name_that_a_ledger_takes(folder, name):
    run = RunSpec.of(compose("config", ["task=ner", "encoder=hf", f"encoder.name='models/{folder}'"]))
    assert run.encoder == name and RunPaths(Path("x"), run.suite, run.task, run.encoder, "0" * 12, 0)
