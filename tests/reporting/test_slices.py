"""Slices of test, from the flags that records of schema 3 have: shares, scores and gains by hand."""

import numpy as np
import pytest

from elmo_bench.ledger import joined
from elmo_bench.reporting.slices import slices
from tests.reporting.frames import runs_in, systems_in, texts
from tests.reporting.ledgers import of_items

UNSEEN = np.array([1, 1, 0, 0, 0, 0, 0, 0, 0, 0], bool)


def sliced(ledger, encoder, right, *, seed=0, units=None, task="sst5", **options):
    """A run that has these of 10 items right, two of which have an unseen word; or units that are no items."""
    flags = {"unseen": UNSEEN} if units is None else {"unseen.correct": units}
    outcomes = joined({split: {"correct": np.isin(np.arange(10), right), **flags} for split in ("dev", "test")})
    of_items(ledger, (task, encoder, seed), right, outcomes, **options)


def test_each_slice_has_its_share_its_score_and_its_gain(tmp_path):
    for seed in (0, 1):
        sliced(tmp_path, "glove", [0, 2, 3, 4], seed=seed)
        sliced(tmp_path, "elmo", [0, 1, 2, 3, 4, 5 + seed], seed=seed)
        sliced(tmp_path, "elmo", [0], seed=seed, train_fraction=0.1)  # less data, and a changed option: not in it
        sliced(tmp_path, "elmo", [0], seed=seed, mix="last")
        sliced(tmp_path, "elmo", [0], seed=seed, settings={"encoder.contextual.tune": "full", "encoder.tune_lr": 3e-5})
    [table] = slices(systems_in(tmp_path), runs_in(tmp_path))
    lines = texts(table)
    assert [(line["slice"], line["encoder"], line["share"]) for line in lines] == [
        (title, encoder, share)
        for title, share in (
            ("all of test", "100.0 %"),
            ("a word unseen in training", "20.0 %"),
            ("no word unseen in training", "80.0 %"),
        )
        for encoder in ("glove", "elmo")
    ]  # fmt: skip
    assert [line["score"].split()[0] for line in lines] == ["40.00", "60.00", "50.00", "100.00", "37.50", "50.00"]
    assert [line["gain over glove"] for line in lines] == ["", "+20.00", "", "+50.00", "", "+12.50"]
    assert all(bool(line["95 %"]) == (line["encoder"] == "elmo") for line in lines)
    assert [line["95 %"] == "too few" for line in lines if line["encoder"] == "elmo"] == [False, True, True]


def test_a_run_in_which_nothing_is_drawn_has_an_interval_with_one_seed(tmp_path):
    own = {"task": "classification", "suite": "reviews"}
    for seed in (0, 1):
        sliced(tmp_path, "glove", [0, 2, 3, 4], seed=seed, **own)
    sliced(tmp_path, "tfidf", [0, 1, 2, 3, 4, 5], **own)
    [table] = slices(systems_in(tmp_path), runs_in(tmp_path))
    [line, *_] = [line for line in texts(table) if line["encoder"] == "tfidf"]
    assert line["slice"] == "all of test" and line["95 %"]


def test_outcomes_that_cannot_be_read_are_named_below(tmp_path):
    sliced(tmp_path, "glove", [0])
    sliced(tmp_path, "elmo", [0])
    next(tmp_path.rglob("elmo/*/seed0.npz")).write_bytes(b"x")
    [table] = slices(systems_in(tmp_path), runs_in(tmp_path))
    assert {line["encoder"] for line in texts(table)} == {"glove"} and "95 %" not in table.columns  # a single seed
    assert any(note.startswith("Left out: open/sst5/elmo/") for note in table.notes)


@pytest.mark.parametrize("seeds", [1, 2])
def test_counts_of_units_that_are_no_items(tmp_path, seeds):
    """Of 10 items, the units of the slice count in the first three alone."""
    for seed in range(seeds):
        sliced(tmp_path, "glove", range(5), seed=seed, units=np.array([1, 0, 1, *[0] * 7]))
    [table] = slices(systems_in(tmp_path), runs_in(tmp_path))
    shown = {line["slice"]: line["score"] for line in texts(table)}
    assert shown["a word unseen in training"].startswith("20.00")
    assert shown["no word unseen in training"].startswith("30.00")
