"""Outcomes in memory: those read last."""

from elmo_bench.ledger import RunPaths, read_all
from elmo_bench.reporting import outcomes
from elmo_bench.spec.names import metric_of
from tests.reporting.ledgers import fill


def test_outcomes_in_memory_are_bounded(tmp_path, monkeypatch):
    """A record has up to 64 MiB of them, and a ledger thousands of records."""
    records = fill(tmp_path, "sst5", "glove elmo", seeds=3)
    paths = [RunPaths.of(tmp_path, record) for record in records]
    read_again = []
    original = outcomes.read_outcomes
    monkeypatch.setattr(outcomes, "read_outcomes", lambda run: read_again.append(run) or original(run))
    size = sum(values.nbytes for values in original(paths[0]).values())
    monkeypatch.setattr(outcomes, "MAX_CACHED", 3 * size + size // 2)
    read = outcomes.CachedOutcomes()
    for run in (*paths[:3], *paths[:3]):
        read(run)
    assert read_again == paths[:3]
    for run in (paths[3], paths[1], paths[0]):  # the first is out, the second is not
        read(run)
    assert read_again == [*paths[:4], paths[0]]
    monkeypatch.setattr(outcomes, "MAX_CACHED", 0)
    assert read(paths[5]) is read(paths[5])  # one at least, however large


def test_outcomes_that_were_checked_are_not_read_again(tmp_path, monkeypatch):
    fill(tmp_path, "ner", "glove elmo", seeds=1)
    read = outcomes.CachedOutcomes()
    ledger = read_all(tmp_path, metrics=metric_of, keep=read.keep)
    paths = [RunPaths.of(tmp_path, record) for record in ledger.records]
    expected = [outcomes.read_outcomes(run) for run in paths]
    monkeypatch.setattr(outcomes, "read_outcomes", None)
    for run, right in zip(paths, expected, strict=True):
        kept = read(run)
        assert kept.keys() == right.keys() and all((kept[name] == right[name]).all() for name in kept)


def test_outcomes_of_a_damaged_record_are_not_kept(tmp_path):
    records = fill(tmp_path, "ner", "glove elmo", seeds=1)
    RunPaths.of(tmp_path, records[0]).outcomes.write_bytes(RunPaths.of(tmp_path, records[1]).outcomes.read_bytes())
    kept = []
    ledger = read_all(tmp_path, metrics=metric_of, keep=lambda run, _: kept.append(run))
    assert len(ledger.problems) == 1
    assert kept == [RunPaths.of(tmp_path, record) for record in ledger.records] and len(kept) == 1
