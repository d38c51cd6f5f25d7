"""Gains worked out by hand, from records to verdicts."""

import csv
import io
from math import sqrt

import numpy as np
import pytest
from scipy.stats import t

from elmo_bench.ledger import RunPaths, digest_of, write_record
from elmo_bench.reporting.formats import to_csv
from elmo_bench.reporting.gains import family_of
from elmo_bench.reporting.layouts import encoders, runs
from elmo_bench.spec.experiments import Experiment
from tests.ledger.records import make_record
from tests.reporting.ledgers import spec_of

TABLE1 = Experiment.load("table1")


def right_on(ledger, encoder, items, *, seed=0, task="sst5"):
    """A run that has these of 10 items right."""
    correct, spec = np.isin(np.arange(10), items), spec_of(task, encoder)
    overall = {"overall": {"accuracy": 10.0 * int(correct.sum())}}
    record = make_record(seed=seed, metric="accuracy", formula="accuracy", scores={"dev": overall, "test": overall})
    record |= {"spec": spec.to_json(), "hash": spec.hash, "epochs": {"run": 10, "best": 3}}
    record["curves"] = {"dev": [45.0, 48.0, *[50.0] * 8], "steps": [100] * 10}
    record["outcomes"] = digest_of({"correct": correct})
    write_record(RunPaths.of(ledger, record), record, {"correct": correct})


def test_a_gain_by_hand(tmp_path, found):
    for seed, (glove, elmo) in enumerate([([0], range(8)), ([0, 1], range(9))]):
        right_on(tmp_path, "glove", glove, seed=seed)  # 10 and 20: variance 50
        right_on(tmp_path, "elmo", elmo, seed=seed)  # 80 and 90: variance 50
        right_on(tmp_path, "none", [1, 2], seed=seed)
    own, gain = found()
    [picked] = encoders.picked(TABLE1, own, gain)
    by_item = np.array([0, 50, *[100] * 6, 50, 0])
    items = (by_item.var(ddof=1) - np.var([0, 50, *[0] * 8], ddof=1) - np.var([*[0] * 8, 50, 0], ddof=1)) / 10
    error = sqrt(25 + 25 + items)
    df = error**4 / (25**2 / 1 + 25**2 / 1 + items**2 / 9)
    elmo = picked.gains["elmo"]
    assert (elmo.mean, elmo.difference.error) == (70.0, pytest.approx(error))
    assert elmo.p == elmo.p_holm == pytest.approx(2 * t.sf(70 / error, df))  # a family of one: none is another's
    assert elmo.reduction == pytest.approx(100 * 70 / 85)
    assert {name: found.verdict for name, found in picked.gains.items()} == {"none": "tie", "elmo": "ahead"}
    glance, gains = encoders.tables(TABLE1, "open", [picked])
    reach = t.ppf(0.975, df) * error
    assert [cell.text for cell in gains.rows[1]][1:8] == [
        "elmo", "primary", "2 (0, 1)", "+70.00", f"{70 - reach:+.2f} … {70 + reach:+.2f}", "82.4 %",
        f"{reach + t.ppf(0.8, df) * error:.2f}",
    ]  # fmt: skip
    assert [cell.text for cell in glance.rows[0]][:4] == [
        "Sentiment (sst5)", "20.00 ± 0.00 =", "15.00 ± 7.07", "85.00 ± 7.07 ▲",
    ]  # fmt: skip


def test_programs_read_verdicts_and_seeds_in_words(tmp_path, found):
    for seed in (0, 2):
        right_on(tmp_path, "glove", [0], seed=seed)
        right_on(tmp_path, "elmo", range(8), seed=seed)
    right_on(tmp_path, "none", [1])
    next(tmp_path.rglob("none/*/seed0.npz")).unlink()
    own, gain = found()
    made = [*encoders.tables(TABLE1, "open", encoders.picked(TABLE1, own, gain)), *runs.tables(own, gain)]
    [one], by_encoder, every = (list(csv.DictReader(io.StringIO(to_csv(table)))) for table in made)
    assert [one[f"{name} verdict"] for name in ("none", "glove", "elmo")] == ["not tested", "", "ahead"]
    assert [(row["family"], row["verdict"]) for row in by_encoder] == [
        ("exploratory", "not tested"),
        ("primary", "ahead"),
    ]
    assert {row["run"]: (row["seeds"], row["verdict"]) for row in every} == {
        "elmo": ("0, 2", "ahead"), "glove": ("0, 2", ""), "none": ("0", "not tested"),
    }  # fmt: skip
    assert {row["run"]: (row["test accuracy low"], row["test accuracy high"]) for row in every} == {
        "elmo": ("80.0", "80.0"), "glove": ("10.0", "10.0"), "none": ("", ""),
    }  # fmt: skip
    [note] = made[1].notes
    assert note.startswith("Not tested: open/sst5/none/")
    assert str(tmp_path) not in note


def test_holm_goes_over_all_tasks(tmp_path, found):
    for task in ("sst5", "snli", "squad"):
        for seed, more in enumerate((7, 8)):
            right_on(tmp_path, "glove", [0], task=task, seed=seed)
            right_on(tmp_path, "elmo", range(more), task=task, seed=seed)
            right_on(tmp_path, "none", range(2), task=task, seed=seed)
    own, gain = found()
    gains = [found.gains["elmo"] for found in encoders.picked(TABLE1, own, gain)]
    [alone] = family_of([(gains[0].ours, gains[0].theirs)], gain).values()
    assert 0 < alone.p_holm == alone.p < 0.01
    assert [g.p_holm for g in gains] == [3 * alone.p] * 3  # learned words are a family of their own


def test_a_single_seed_is_not_tested_whatever_other_runs_there_are(tmp_path, found):
    right_on(tmp_path, "elmo", range(8))
    for encoder in ("glove", "none", "elmo_only"):
        for seed in (0, 1):
            right_on(tmp_path, encoder, range(2 + seed), seed=seed)
    own, gain = found()
    [one] = encoders.picked(TABLE1, own, gain)
    elmo = one.gains["elmo"]
    assert (elmo.mean, elmo.difference, elmo.said, elmo.untested) == (55.0, None, "not tested", "a single seed")
