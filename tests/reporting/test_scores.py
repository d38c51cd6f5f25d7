"""The glance and the tables behind it."""

import csv
import io

import numpy as np
import pytest

from elmo_bench.ledger import RunPaths, read_ledger, run_hash, write_record
from elmo_bench.reporting.formats import to_csv
from elmo_bench.reporting.gains import gains_from, holm_over
from elmo_bench.reporting.like import groups
from elmo_bench.reporting.scores import gain_table, glance, plain_gains, runs_table
from elmo_bench.reporting.select import select
from tests.ledger.records import make_record
from tests.reporting.ledgers import add


def right_on(ledger, encoder, items, *, seed=0, task="tagging", settings=None):
    """A run that has these of 10 items right."""
    correct = np.isin(np.arange(10), items)
    record = make_record(encoder=encoder, seed=seed, task=task, metric="accuracy", weights=encoder)
    if settings:
        record["identity"]["settings"] |= settings
        record["hash"] = run_hash(record["identity"])
    score = {"overall": {"accuracy": 10.0 * int(correct.sum())}}
    record["scores"] = {"dev": score, "test": score}
    write_record(RunPaths.of(ledger, record), record, {"correct": correct})


@pytest.fixture
def found(tmp_path):
    """`found() -> (groups, gains)` of the ledger in `tmp_path`."""
    return lambda: (groups(select(read_ledger(tmp_path)).rows), gains_from(tmp_path))


def test_a_gain_by_hand(tmp_path, found):
    right_on(tmp_path, "glove", [0])
    right_on(tmp_path, "elmo", range(8))  # 7 won, none lost: McNemar 2 / 2 ** 7
    right_on(tmp_path, "none", [1, 2])  # 2 won, 1 lost: p = 1
    own, gain = found()
    gains = plain_gains(own, gain)
    assert [(g.ours.label, g.summary.mean, g.comparison.p, g.comparison.p_holm, g.verdict) for g in gains] == [
        ("none", 10.0, 1.0, 1.0, "tie"),
        ("elmo", 70.0, 2 / 2**7, 4 / 2**7, "ahead"),
    ]
    assert gains[1].reduction == pytest.approx(100 * 70 / 90)
    table = gain_table("open", own, gains)
    assert [cell.text for cell in table.rows[1]] == [
        "tagging", "elmo", "1 (0)", "+70.00", "77.8 %", "0.031", "▲ ahead", "0.016", "10", "McNemar"
    ]  # fmt: skip
    [row] = glance("open", own, gains).rows
    assert [cell.text for cell in row] == [
        "tagging", "20.00 =", "10.00", "80.00 ▲", "accuracy", "3,394 examples"
    ]  # fmt: skip


def test_of_two_runs_that_nothing_tells_apart_both_are_shown_never_the_better_one(tmp_path, found):
    right_on(tmp_path, "glove", [0])
    for name, items in (("weak", range(3)), ("strong", range(8))):
        right_on(tmp_path, "elmo", items, settings={"hidden": name})
    own, gain = found()
    table = glance("open", own, plain_gains(own, gain))
    shown = dict(zip([column.name for column in table.columns], [cell.text for cell in table.rows[0]], strict=True))
    assert {name: shown[name].split()[0] for name in shown if "elmo" in name} == {
        "elmo, hidden=weak": "30.00",
        "elmo, hidden=strong": "80.00",
    }


def test_the_gain_is_over_the_seeds_that_both_have(tmp_path, found):
    for seed in (0, 1, 2):
        right_on(tmp_path, "glove", [0], seed=seed)
    right_on(tmp_path, "elmo", range(8), seed=1)
    own, gain = found()
    table = gain_table("open", own, plain_gains(own, gain))
    assert table.rows[0][[column.name for column in table.columns].index("seeds")].text == "1 (1)"


def test_programs_read_verdicts_and_seeds_in_words(tmp_path, found):
    for seed in (0, 2):
        right_on(tmp_path, "glove", [0], seed=seed)
        right_on(tmp_path, "elmo", range(8), seed=seed)
    right_on(tmp_path, "none", [1])
    next(tmp_path.rglob("none/*/seed0.npz")).unlink()
    own, gain = found()
    gains = plain_gains(own, gain)
    tables = (glance("open", own, gains), gain_table("open", own, gains), runs_table(own[0], gain))
    [one], by_encoder, runs = (list(csv.DictReader(io.StringIO(to_csv(table)))) for table in tables)
    assert [one[f"{name} verdict"] for name in ("none", "glove", "elmo")] == ["not tested", "", "ahead"]
    assert [row["verdict"] for row in by_encoder] == ["not tested", "ahead"]
    assert {row["run"]: (row["seeds"], row["verdict"]) for row in runs} == {
        "elmo": ("0, 2", "ahead"), "glove": ("0, 2", ""), "none": ("0", "not tested"),
    }  # fmt: skip
    assert {row["run"]: (row["test accuracy low"], row["test accuracy high"]) for row in runs} == {
        "elmo": ("80.0", "80.0"), "glove": ("10.0", "10.0"), "none": ("", ""),
    }  # fmt: skip


def test_holm_goes_over_the_tasks_of_the_table(tmp_path, found):
    for task in ("a", "b", "c"):
        right_on(tmp_path, "glove", [0], task=task)
        right_on(tmp_path, "elmo", range(8), task=task)
    own, gain = found()
    gains = plain_gains(own, gain)
    assert [g.comparison.p_holm for g in gains] == [3 * 2 / 2**7] * 3
    assert {g.verdict for g in gains} == {"ahead"}
    assert holm_over(gains[:1])[0].comparison.p_holm == 2 / 2**7


def test_a_missing_outcome_says_why_there_is_no_test_without_the_folder(tmp_path, found):
    right_on(tmp_path, "glove", [0])
    right_on(tmp_path, "elmo", range(8))
    next(tmp_path.rglob("elmo/*/seed0.npz")).unlink()
    own, gain = found()
    [only] = plain_gains(own, gain)
    assert (only.verdict, only.mark, only.summary.mean) == ("", "", 70.0)
    [note] = gain_table("open", own, [only]).notes
    assert note.startswith("Not tested: open/tagging/elmo/")
    assert str(tmp_path) not in note


def test_no_part_of_the_data_and_no_variation_in_the_glance(tmp_path, found):
    for encoder in ("glove", "elmo"):
        add(tmp_path, "ner", encoder, 0)
        add(tmp_path, "ner", encoder, 0, train_fraction=0.1, lift=0.3)
        add(tmp_path, "ner", encoder, 0, max_train=100, lift=0.3)
    add(tmp_path, "ner", "none", 0, train_fraction=0.1)
    add(tmp_path, "ner", "elmo", 0, kind="last", lift=0.3)
    own, gain = found()
    [row] = glance("open", own, []).rows
    assert [len(cell.text) > 0 for cell in row] == [True] * 6  # task, glove, elmo, score, data, paper
    assert row[4].text == "WNUT-17: 3,394 sentences (paper: 14,041)"
    assert row[5].text == "CoNLL-2003 test: 90.15 → 92.22 ± 0.10 (other data)"
    table = runs_table(own[0], gain)
    assert sorted(cells[0].text for cells in table.rows) == ["elmo", "elmo, mix=last", "glove"]
    papers = {cells[0].text: cells[-1].text for cells in table.rows}
    assert table.columns[-1].name == "paper: CoNLL-2003 test (other data)"
    assert papers == {"elmo": "92.22 ± 0.10", "elmo, mix=last": "", "glove": "90.15"}
