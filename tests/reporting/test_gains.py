"""Gains worked out by hand, from records to verdicts."""

import csv
import io
import json
from math import sqrt

import numpy as np
import pytest
from scipy.stats import t

from elmo_bench.ledger import RunPaths, digest_of, read_all, write_record
from elmo_bench.reporting import curves, encoders, layers
from elmo_bench.reporting.gains import gains_from
from elmo_bench.reporting.rows import select
from elmo_bench.reporting.significance import holm
from elmo_bench.reporting.table import to_csv
from elmo_bench.spec.experiments import Experiment
from tests.reporting.ledgers import of_items, texts

TABLE1, LADDER = Experiment.load("table1"), Experiment.load("ladder")


def right_on(ledger, encoder, items, *, seed=0, task="sst5", more=None, **options):
    """A run that has these of 10 items right; `more` outcomes."""
    outcomes = {"correct": np.isin(np.arange(10), items), **(more or {})}
    of_items(ledger, (task, encoder, seed), items, outcomes, **options)


def test_a_gain_by_hand(tmp_path, compared):
    for seed, (glove, elmo) in enumerate([([0], range(8)), ([0, 1], range(9))]):
        right_on(tmp_path, "glove", glove, seed=seed)  # 10 and 20: variance 50
        right_on(tmp_path, "elmo", elmo, seed=seed)  # 80 and 90: variance 50
        right_on(tmp_path, "none", [1, 2], seed=seed)
    own, gain = compared()
    [picked] = encoders.picked(TABLE1, own, gain)
    by_item = np.array([0, 50, *[100] * 6, 50, 0])
    items = (by_item.var(ddof=1) - np.var([0, 50, *[0] * 8], ddof=1) - np.var([*[0] * 8, 50, 0], ddof=1)) / 10
    error = sqrt(25 + 25 + items)
    df = error**4 / (25**2 / 1 + 25**2 / 1 + items**2 / 9)
    elmo = picked.gains["elmo"]
    assert (elmo.mean, elmo.difference.error) == (70.0, pytest.approx(error))
    assert elmo.p == elmo.p_holm == pytest.approx(2 * t.sf(70 / error, df))  # a family of one: none is another's
    assert {name: each.verdict for name, each in picked.gains.items()} == {"none": "tie", "elmo": "ahead"}
    glance, gains = encoders.made(TABLE1, "open", own, gain)[0]
    reach = t.ppf(0.975, df) * error
    assert [cell.text for cell in gains.rows[0]][1:11] == [
        "elmo", "glove", "primary", "2 (0, 1)", "+70.00", f"{70 - reach:+.2f} … {70 + reach:+.2f}", "▲ ahead",
        "< 0.001", "82.4 %", f"{reach + t.ppf(0.8, df) * error:.2f}",
    ]  # fmt: skip
    assert [cell.text for cell in glance.rows[0]][:5] == [
        "Sentiment (sst5)", "accuracy", "15.00 ± 7.07", "85.00 ± 7.07 ▲", "20.00 ± 0.00 =",
    ]  # fmt: skip


def test_programs_read_verdicts_and_seeds_in_words(tmp_path, compared, board):
    for seed in (0, 2):
        right_on(tmp_path, "glove", [0], seed=seed)
        right_on(tmp_path, "elmo", range(8), seed=seed)
    right_on(tmp_path, "none", [1])
    next(tmp_path.rglob("none/*/seed0.npz")).unlink()
    own, gain = compared()
    made = [*encoders.made(TABLE1, "open", own, gain)[0], board(tmp_path).suites[0].sections[-1].tables[0]]
    [one], by_encoder, every = (list(csv.DictReader(io.StringIO(to_csv(table)))) for table in made)
    assert [one[f"{name} verdict"] for name in ("none", "glove", "elmo")] == ["not tested", "", "ahead"]
    assert [(row["encoder"], row["over"], row["family"], row["verdict"]) for row in by_encoder] == [
        ("elmo", "glove", "primary", "ahead"),
        ("none", "glove", "exploratory", "not tested"),
    ]
    assert {row["run"]: (row["seeds"], row["verdict"]) for row in every} == {
        "elmo": ("0, 2", "ahead"), "glove": ("0, 2", ""), "none": ("0", "not tested"),
    }  # fmt: skip
    [note] = made[1].notes
    assert note.startswith("Not tested: open/sst5/none/")
    assert str(tmp_path) not in note


def test_the_better_word_vector_and_context_are_told_apart_in_one_family(tmp_path, compared):
    """Three differences a task, all primary; an encoder that the experiment does not name is in another family."""
    for task in ("sst5", "snli"):
        for seed, more in enumerate((0, 1)):
            for encoder, right in (("glove", 1), ("elmo_word", 4), ("elmo", 8), ("random", 1)):
                right_on(tmp_path, encoder, range(right + more), task=task, seed=seed)
    own, gain = compared()
    picked = encoders.picked(TABLE1, own, gain)
    named = [("elmo_word", "glove"), ("elmo", "glove"), ("elmo", "elmo_word")]
    assert [list(one.tests) for one in picked] == [[*named, ("random", "glove")]] * 2
    for one in picked:
        assert [round(one.tests[pair].mean, 9) for pair in named] == [30.0, 70.0, 40.0]
        assert set(one.gains) == {"elmo_word", "elmo", "random"}
        assert one.gains["elmo"] is one.tests["elmo", "glove"]
    family = [one.tests[pair] for one in picked for pair in named]
    assert [each.p_holm for each in family] == pytest.approx(holm([each.p for each in family]))
    assert [one.gains["random"].p_holm for one in picked] == [1.0, 1.0]
    gains = encoders.made(TABLE1, "open", own, gain)[0][1]
    table1 = encoders.table1(TABLE1, "open", picked)  # without controls, such as random
    heads = ["gain: elmo − glove", "word vector: elmo_word − glove", "context: elmo − elmo_word"]
    assert table1.columns == ["task", "score", "glove", "elmo_word", "elmo", *heads]
    assert {tuple(cell.text.split()[0] for cell in row[5:]) for row in table1.rows} == {("+70.0", "+30.0", "+40.0")}
    assert [[cell.text for cell in row][1:4] for row in gains.rows[:4]] == [
        ["elmo_word", "glove", "primary"], ["elmo", "glove", "primary"], ["elmo", "elmo_word", "primary"],
        ["random", "glove", "exploratory"],
    ]  # fmt: skip


def test_where_arms_have_other_numbers_of_seeds_the_tables_say_how_many(tmp_path, compared):
    for encoder, seeds in (("glove", 4), ("elmo_word", 4), ("elmo", 4), ("none", 2)):
        for seed in range(seeds):
            right_on(tmp_path, encoder, [seed], seed=seed)
    own, gain = compared()
    shown = {line["encoder"]: line["n of the two"] for line in texts(encoders.made(TABLE1, "open", own, gain)[0][1])}
    assert shown == {"elmo_word": "", "elmo": "", "none": "2 and 4"}


@pytest.mark.parametrize("part", [{"train_fraction": 0.1}, {"max_train": 900}])
def test_on_a_fraction_seeds_are_paired_and_only_common_ones_count(tmp_path, compared, part):
    right = {"glove": {0: [0], 1: [0, 1], 2: [0, 2, 3]}, "elmo": {1: [0, 1, 4, 5], 2: [0, 2, 3, 4, 6], 3: range(9)}}
    for encoder, by_seed in right.items():
        for seed, items in by_seed.items():
            right_on(tmp_path, encoder, items, seed=seed, **part)
            right_on(tmp_path, encoder, items, seed=seed)
    own, gain = compared()
    for group in own:
        rows = {row.encoder: row for row in group.rows}
        paired = gain(rows["elmo"], rows["glove"])
        if not group.basis.fraction:
            assert (len(paired.difference.seeds), paired.ours.seeds) == (2, [1, 2, 3])
            continue
        gaps = np.array([
            [100.0 * (np.isin(i, [*right["elmo"][seed]]) * 1 - np.isin(i, right["glove"][seed]) * 1) for i in range(10)]
            for seed in (1, 2)
        ])  # fmt: skip
        mean = gaps.mean(axis=0)
        noise = sum((one - mean).var(ddof=1) for one in gaps) / 10 / 2 / 1
        assert (paired.ours.seeds, paired.theirs.seeds, paired.mean) == ([1, 2], [1, 2], 20.0)
        [over_seeds] = paired.difference.seeds
        assert (over_seeds.value, over_seeds.df) == (pytest.approx(max(0.0, noise)), 1)  # both seeds gain 20
        assert paired.difference.items.value == pytest.approx(max(0.0, mean.var(ddof=1) / 10 - noise))


@pytest.mark.parametrize(("seeds", "why"), [((2, 3), "no seed in common"), ((1, 2), "a single seed")])
def test_a_fraction_without_two_common_seeds_is_not_tested(tmp_path, compared, seeds, why):
    for encoder, own_seeds in (("glove", (0, 1)), ("elmo", seeds)):
        for seed in own_seeds:
            right_on(tmp_path, encoder, [seed, 5], seed=seed, train_fraction=0.1)
    [group], gain = compared()
    rows = {row.encoder: row for row in group.rows}
    assert gain(rows["elmo"], rows["glove"]).untested == why


def test_the_ladder_has_the_runs_over_its_vectors_and_table_1_has_the_others(tmp_path, compared):
    """The paper's suite has its own vectors; fasttext brings its own to every suite."""
    suite = {"suite": "paper", "size": "paper"}
    for seed in (0, 1):
        for at, encoder in enumerate(("none", "glove", "bert_mini", "elmo")):
            right_on(tmp_path, encoder, range(at + seed), seed=seed, **suite)
            ladder = {"settings": {"encoder.vectors": "glove-mini"}}
            right_on(tmp_path, encoder, range(at + seed + 3), seed=seed, **ladder, **suite)
        right_on(tmp_path, "fasttext", range(9), seed=seed, **suite)
    own, gain = compared()
    [ladder] = encoders.picked(LADDER, own, gain)
    [table1] = encoders.picked(TABLE1, own, gain)
    assert {name: row.summary("test").mean for name, row in ladder.rows.items()} == {
        "none": 35.0, "glove": 45.0, "fasttext": 90.0, "bert_mini": 55.0, "elmo": 65.0,
    }  # fmt: skip
    assert {name: row.summary("test").mean for name, row in table1.rows.items()} == {
        "glove": 15.0, "elmo": 35.0, "bert_mini": 25.0, "none": 5.0,
    }  # fmt: skip
    assert list(ladder.tests) == [(name, "glove") for name in ("none", "fasttext", "bert_mini", "elmo")]
    assert ladder.gains["fasttext"].mean == 45.0
    glance, gains = encoders.made(LADDER, "paper", own, gain)[0]
    assert (glance.stem, gains.stem) == ("paper-ladder-glance", "paper-ladder-gains")
    assert glance.title == "The same 81 million tokens: test scores, suite paper"
    assert {row[3].text for row in gains.rows} == {"exploratory"}
    for name, made in (("speed", curves.speed), ("figure2", layers.weights)):
        tables, _ = made(Experiment.load(name), "paper", own, gain)
        shown = {cell.run for table in tables for row in table.rows for cell in row}
        assert not shown & {row.anchor for row in ladder.rows.values()}


def test_outcomes_of_other_items_are_named_and_not_tested(tmp_path, compared):
    for encoder in ("glove", "elmo"):
        for seed in (0, 1):
            right_on(tmp_path, encoder, [seed, 5], seed=seed)
    path = next(tmp_path.rglob("elmo/*/seed0.json"))
    record = json.loads(path.read_text(encoding="utf-8"))
    correct = np.arange(20) < 4
    record["outcomes"] = digest_of({"correct": correct})
    write_record(RunPaths.of(tmp_path, record), record, {"correct": correct})
    [group], gain = compared()
    rows = {row.encoder: row for row in group.rows}
    assert "its outcomes are of other items than" in gain(rows["elmo"], rows["glove"]).untested


def rows_in(ledger):
    return {row.label: row for row in select(read_all(ledger).records).rows}


def test_a_gain_is_of_the_split_that_is_asked_for(tmp_path):
    for seed in (0, 1):
        right_on(tmp_path, "glove", [seed], seed=seed)
        right_on(tmp_path, "elmo", range(7 + seed), seed=seed)
    rows, gain = rows_in(tmp_path), gains_from(tmp_path)
    gains = [gain(rows["elmo"], rows["glove"], split=split) for split in ("dev", "test", "dev")]
    assert [(each.split, each.mean) for each in gains] == [("dev", 0.0), ("test", 65.0), ("dev", 0.0)]


@pytest.mark.parametrize(
    ("ours", "theirs", "why"),
    [
        ([0, 1] * 5, [0] * 5 + [1] * 5, "its outcomes are of other items"),
        (None, [0, 1] * 5, "its outcomes are of other items"),
        ([0] * 10, [0] * 10, "its outcomes are of a single item"),
    ],
    ids=["G8cluster", "G9keys", "G10single"],
)
def test_arms_with_other_clusters_or_a_single_one_are_not_tested(tmp_path, ours, theirs, why):
    for seed in (0, 1):
        for encoder, clusters in (("glove", theirs), ("elmo", ours)):
            more = {} if clusters is None else {"cluster": np.array(clusters)}
            right_on(tmp_path, encoder, range(2 + seed + 4 * (encoder == "elmo")), seed=seed, more=more)
    rows = rows_in(tmp_path)
    found = gains_from(tmp_path)(rows["elmo"], rows["glove"])
    assert why in found.untested
    assert (found.difference, found.verdict) == (None, "")
