"""From records to rows: seeds together, newest contents current, and the baseline of a row."""

import pytest

from elmo_bench.ledger import read_ledger
from elmo_bench.reporting.rows import baseline_of, select
from tests.reporting.ledgers import add


@pytest.fixture
def rows(tmp_path):
    """`rows() -> current rows` of what was added to `tmp_path`."""
    return lambda **options: select(read_ledger(tmp_path)[0], **options).rows


def test_the_seeds_of_a_run_are_a_row_and_the_best_row_comes_first(tmp_path, rows):
    for seed in (1, 0):
        add(tmp_path, "ner", "elmo", seed)
        add(tmp_path, "ner", "elmo", seed, place="both", lift=0.1)
    assert [(row.label, row.seeds) for row in rows()] == [("elmo, place=both", [0, 1]), ("elmo", [0, 1])]


def test_the_newest_contents_are_current(tmp_path):
    old = [add(tmp_path, "ner", "elmo", k, weights="w1", created=f"2026-01-0{k + 1}T00:00:00+00:00") for k in (0, 1)]
    new = add(tmp_path, "ner", "elmo", 0, weights="w2", created="2026-01-03T00:00:00+00:00")
    records = read_ledger(tmp_path)[0]
    chosen = select(records)
    assert [row.records for row in chosen.rows] == [(new,)]
    [superseded] = chosen.superseded
    assert (superseded.hash, superseded.seeds, superseded.by) == (old[0]["hash"], (0, 1), new["hash"])
    assert len(superseded.changed) == 1
    [preferred] = select(records, prefer=old[0]["hash"]).rows
    assert preferred.records == tuple(old)


@pytest.mark.parametrize(
    ("options", "label", "changed"),
    [
        ({}, "elmo", ({}, ())),
        ({"mix": "last"}, "elmo, mix=last", ({"mix": "last"}, ())),
        ({"penalty": 0.0015625}, "elmo", ({}, ())),  # the task's λ
        ({"penalty": 1.0}, "elmo, mix.penalty=1", ({"mix.penalty": "1"}, ())),
        ({"train_fraction": 0.1}, "elmo", ({}, ("data.train_fraction", "data.least_steps"))),
        ({"max_train": 50}, "elmo", ({}, ("data.max_train",))),
        (
            {"settings": {"task.data.open.columns": None}},
            "elmo, task.data.open.columns=null",
            ({"task.data.open.columns": "null"}, ()),
        ),
    ],
)
def test_what_a_row_changes(tmp_path, rows, options, label, changed):
    add(tmp_path, "ner", "elmo", 0, **options)
    [row] = rows()
    assert (row.label, row.encoder) == (label, "elmo")
    assert (row.variation, tuple(option for option, _ in row.basis.fraction)) == changed


def test_the_baseline_has_the_same_changes_as_far_as_they_concern_it(tmp_path, rows):
    few, long = {"train_fraction": 0.1}, {"settings": {"task.training.epochs": 50}}
    for encoder, options in (("glove", {}), ("glove", few), *(("elmo", o) for o in ({}, few, {"mix": "last"}, long))):
        add(tmp_path, "ner", encoder, 0, **options)
    add(tmp_path, "sst5", "elmo", 0)
    found = rows()
    against = {}
    for row in found:
        baseline = baseline_of(row, found)
        against[row.spec.task, row.label, row.train] = baseline and (baseline.label, baseline.train)
    assert against == {
        ("ner", "elmo", 3394): ("glove", 3394),
        ("ner", "elmo", 339): ("glove", 339),
        ("ner", "elmo, mix=last", 3394): ("glove", 3394),
        ("ner", "elmo, task.training.epochs=50", 3394): None,  # glove was not trained for so long
        ("ner", "glove", 3394): None,
        ("ner", "glove", 339): None,
        ("sst5", "elmo", 93567): None,
    }
