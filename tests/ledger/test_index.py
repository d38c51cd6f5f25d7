"""The index makes reading fast and never wrong: whatever happens to it, `read_all` says what the files say."""

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from elmo_bench.ledger import RunPaths, check_record, index, read_all, read_ledger, store
from elmo_bench.ledger.record import brief

ROOT = Path(__file__).parents[2]
READ = store.read_record_at


@pytest.fixture
def ledger(store_record, tmp_path, monkeypatch):
    """Six records; the files are old enough for the index."""
    monkeypatch.setenv("ELMO_BENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(index, "YOUNG", -(10**12))
    for seed in range(3):
        for encoder in ("elmo", "glove"):
            store_record(seed=seed, encoder=encoder, test=40.0 + seed)
    return tmp_path / "runs"


@pytest.fixture
def opened(monkeypatch):
    """The names of the records that were opened since."""
    names, real = [], store.read_record_at
    monkeypatch.setattr(store, "read_record_at", lambda run: names.append(run.record) or real(run))
    return names


def truth(ledger):
    """What `read_all` must say of the records, read without the index."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "read_record_at", READ)
        return [brief(record) for record in read_ledger(ledger)[0]]


def file_of(tmp_path):
    [path] = (tmp_path / "cache/ledgers").iterdir()
    return path


def records(ledger):
    return sorted(ledger.rglob("seed?.json"))


def edit(path, **changes):
    """Change a record in place: the inode stays."""
    record = json.loads(path.read_text()) | changes
    with path.open("r+") as handle:
        handle.write(json.dumps(record))
        handle.truncate()


def test_a_record_is_opened_once_until_its_file_changes(ledger, opened):
    assert read_all(ledger).records == truth(ledger)
    opened.clear()
    assert read_all(ledger).records == truth(ledger)
    assert len(opened) == 0
    assert len(read_all(ledger, task="tagging", encoder="elmo").records) == 3
    path = records(ledger)[1]
    edit(path, created="2027-01-02T03:04:05+00:00")
    assert read_all(ledger).records == truth(ledger)
    assert read_all(ledger).records[1]["created"].startswith("2027")
    assert opened == [path]


def test_a_change_that_keeps_size_and_time_is_seen(ledger):
    read_all(ledger)
    path = records(ledger)[0]
    before = path.stat()
    text = path.read_text()
    with path.open("r+") as handle:
        handle.write(text.replace("2026-01-02", "2027-01-02"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    assert read_all(ledger).records[0]["created"].startswith("2027")


def test_a_file_that_may_still_change_is_not_trusted(ledger, opened, monkeypatch):
    monkeypatch.setattr(index, "YOUNG", 3600 * 10**9)
    for _ in range(2):
        assert read_all(ledger).records == truth(ledger)
    assert len(opened) == 12


def test_records_that_are_removed_damaged_or_linked_are_gone(ledger, tmp_path):
    read_all(ledger)
    first, second, third, *_ = records(ledger)
    first.unlink()
    second.write_text("{")
    third.rename(tmp_path / "elsewhere.json")
    third.symlink_to(tmp_path / "elsewhere.json")
    for _ in range(2):
        found = read_all(ledger)
        assert found.records == truth(ledger)
        assert len(found.records) == 3
        assert [str(second) in found.problems[-1], str(third) in found.problems[0]] == [True, True]
    with sqlite3.connect(file_of(tmp_path)) as connection:
        assert connection.execute("SELECT count(*) FROM records").fetchone() == (4,)  # and the damaged file's last one
    connection.close()


def test_only_valid_records_are_kept(ledger, tmp_path):
    path = records(ledger)[0]
    edit(path, seed=9)  # belongs elsewhere
    for _ in range(2):
        assert "belongs at" in read_all(ledger).problems[0]


def test_a_deleted_index_is_made_again(ledger, tmp_path, opened):
    read_all(ledger)
    file_of(tmp_path).unlink()
    opened.clear()
    assert read_all(ledger).records == truth(ledger)
    assert len(opened) == 6
    assert file_of(tmp_path).stat().st_size > 0


@pytest.mark.parametrize("start", range(8))
def test_a_damaged_index_gives_no_wrong_answer(ledger, tmp_path, start):
    """Bytes all over the file are overwritten."""
    read_all(ledger)
    path = file_of(tmp_path)
    whole = path.read_bytes()
    for offset in range(start, len(whole), 131 * 8):
        path.write_bytes(whole[: offset * 7 % len(whole)] + b"7" * 5 + whole[offset * 7 % len(whole) + 5 :])
        assert read_all(ledger).records == truth(ledger)
        path.write_bytes(whole[:offset])
        assert read_all(ledger).records == truth(ledger)


@pytest.mark.parametrize("content", [b"", b"not a database at all, " * 400])
def test_a_foreign_file_is_replaced(ledger, tmp_path, opened, content):
    read_all(ledger)
    file_of(tmp_path).write_bytes(content)
    for _ in range(2):
        assert read_all(ledger).records == truth(ledger)
    assert len(opened) == 12


def test_a_foreign_database_is_replaced(ledger, tmp_path):
    read_all(ledger)
    path = file_of(tmp_path)
    path.unlink()
    connection = sqlite3.connect(path)
    connection.executescript("CREATE TABLE records (mine); PRAGMA user_version = 7;")
    connection.close()
    for _ in range(2):
        assert read_all(ledger).records == truth(ledger)


def test_another_version_of_the_package_starts_anew(ledger, opened, monkeypatch):
    read_all(ledger)
    opened.clear()
    monkeypatch.setattr(index, "_version", lambda: 12345)
    assert read_all(ledger).records == truth(ledger)
    assert len(opened) == 6


def test_an_index_that_is_locked_is_done_without(ledger, tmp_path, monkeypatch):
    read_all(ledger)
    monkeypatch.setattr(index, "WAIT", 0.05)
    other = sqlite3.connect(file_of(tmp_path), isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    assert read_all(ledger).records == truth(ledger)
    other.close()
    assert file_of(tmp_path).stat().st_size > 0


def test_an_index_that_is_read_only_is_read(ledger, tmp_path, opened, monkeypatch):
    read_all(ledger)
    real, path = sqlite3.connect, file_of(tmp_path)
    read_only = f"file:{path}?mode=ro"
    monkeypatch.setattr(
        sqlite3, "connect", lambda name, **given: real(read_only if name == path else name, uri=True, **given)
    )
    edit(records(ledger)[0], created="2027-01-02T03:04:05+00:00")
    opened.clear()
    for _ in range(2):
        assert read_all(ledger).records == truth(ledger)
    assert len(opened) == 2
    assert path.exists()


def test_without_a_cache_folder_everything_works(ledger, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("ELMO_BENCH_CACHE", str(tmp_path / "file"))
    assert read_all(ledger).records == truth(ledger)


def test_nothing_is_written_to_the_ledger(ledger):
    before = sorted(ledger.rglob("*"))
    read_all(ledger)
    assert sorted(ledger.rglob("*")) == before


def test_two_processes_at_once(ledger):
    code = f"""
from elmo_bench.ledger import index, read_all
from pathlib import Path
index.YOUNG = -10**12
for _ in range(20):
    assert len(read_all(Path({str(ledger)!r})).records) == 6
"""
    started = [subprocess.Popen([sys.executable, "-c", code], cwd=ROOT) for _ in range(2)]
    assert [process.wait(120) for process in started] == [0, 0]
    assert read_all(ledger).records == truth(ledger)


def test_results_are_kept_by_key(ledger, tmp_path):
    with index.Index(ledger) as one:
        one.store_results({"a": ["randomisation", 0.25, 7]})
    with index.Index(ledger) as one:
        assert one.results() == {"a": ["randomisation", 0.25, 7]}
    path = file_of(tmp_path)
    path.write_bytes(path.read_bytes().replace(b"0.25", b"0.75"))
    with index.Index(ledger) as one:
        assert one.results() == {}


def test_a_brief_record_has_no_scores_by_type_and_the_best_weights(make_record):
    record = make_record()
    record["scores"]["test"]["by_type"] = {"PER": {"f1": 40.0}}
    check_record(record)
    short = brief(record)
    assert short["scores"] == {split: {"overall": record["scores"][split]["overall"]} for split in ("dev", "test")}
    assert short["layer_weights"] == [{}, record["layer_weights"][1]]
    assert brief(short) == short
    assert RunPaths.of(Path("runs"), short) == RunPaths.of(Path("runs"), record)
