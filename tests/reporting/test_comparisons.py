"""Gains worked out by hand, from records to verdicts."""

import csv
import io
from math import sqrt

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import nct, t

from elmo_bench.ledger import RunPaths, digest_of, read_record, write_record
from elmo_bench.reporting.comparisons import compare
from elmo_bench.reporting.pairs import pairs_of
from elmo_bench.reporting.render import to_csv
from elmo_bench.reporting.significance import holm
from elmo_bench.reporting.table1 import table1
from tests.ledger.records import changed
from tests.reporting.frames import (
    board_of,
    compare_in,
    experiment_in,
    runs_in,
    sections_of,
    systems_in,
    tables_in,
    texts,
)
from tests.reporting.ledgers import add, fill, right_on, stuck


def by_pair(comparisons):
    """{(ours, theirs): comparison}; of an experiment with one group."""
    return {(row.our_name, row.their_name): row for row in comparisons.itertuples()}


def test_a_gain_by_hand(tmp_path):
    for seed, (glove, elmo) in enumerate([([0], range(8)), ([0, 1], range(9))]):
        right_on(tmp_path, "glove", glove, seed=seed)  # 10 and 20: variance 50
        right_on(tmp_path, "elmo", elmo, seed=seed)  # 80 and 90: variance 50
        right_on(tmp_path, "none", [1, 2], seed=seed)
    _, comparisons, _ = experiment_in(tmp_path, "table1")
    tests = by_pair(comparisons)
    by_item = np.array([0, 50, *[100] * 6, 50, 0])
    items = (by_item.var(ddof=1) - np.var([0, 50, *[0] * 8], ddof=1) - np.var([*[0] * 8, 50, 0], ddof=1)) / 10
    error = sqrt(25 + 25 + items)
    df = error**4 / (25**2 / 1 + 25**2 / 1 + items**2 / 9)
    elmo = tests["elmo", "glove"]
    assert (elmo.gain, elmo.se) == (70.0, pytest.approx(error))
    assert elmo.p == elmo.p_holm == pytest.approx(2 * t.sf(70 / error, df))  # a family of one: none is another's
    assert (tests["none", "glove"].verdict, elmo.verdict) == ("tie", "ahead")
    glance, gains = tables_in(tmp_path, "table1")
    reach = t.ppf(0.975, df) * error
    found = brentq(lambda true: nct.sf(t.ppf(0.975, df), df, true) - 0.8, 0, 50)
    assert gains.texts()[0][1:11] == [
        "elmo", "glove", "primary", "2 (0, 1)", "+70.00", f"{70 - reach:+.2f} … {70 + reach:+.2f}", "▲ ahead",
        "< 0.001", "82.4 %", f"{found * error:.2f}",
    ]  # fmt: skip
    assert glance.texts()[0][:5] == [
        "Sentiment (sst5)", "accuracy", "15.00 ± 7.07", "85.00 ± 7.07 ▲", "20.00 ± 0.00 =",
    ]  # fmt: skip


def test_programs_read_verdicts_and_seeds_in_words(tmp_path):
    for seed in (0, 2):
        right_on(tmp_path, "glove", [0], seed=seed)
        right_on(tmp_path, "elmo", range(8), seed=seed)
    right_on(tmp_path, "none", [1])
    next(tmp_path.rglob("none/*/seed0.npz")).unlink()
    made = [*tables_in(tmp_path, "table1"), sections_of(board_of(tmp_path))["runs"].tables[0]]
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


def test_the_better_word_vector_and_context_are_told_apart_in_one_family(tmp_path):
    """Three differences a task, all primary; an encoder that the experiment does not name is in another family."""
    for task in ("sst5", "snli"):
        for seed, more in enumerate((0, 1)):
            for encoder, right in (("glove", 1), ("elmo_word", 4), ("elmo", 8), ("random", 1)):
                right_on(tmp_path, encoder, range(right + more), task=task, seed=seed)
    systems, comparisons, experiment = experiment_in(tmp_path, "table1")
    names = list(zip(comparisons.our_name, comparisons.their_name, strict=True))
    named = [("elmo_word", "glove"), ("elmo", "glove"), ("elmo", "elmo_word")]
    assert names == [*named, ("random", "glove")] * 2
    primary = comparisons[comparisons.family == "primary"]
    assert list(primary.gain.round(9)) == [30.0, 70.0, 40.0] * 2
    assert list(primary.p_holm) == pytest.approx(holm(list(primary.p)))
    assert list(comparisons[comparisons.family == "exploratory"].p_holm) == [1.0, 1.0]
    _, gains = tables_in(tmp_path, "table1")
    main = table1(systems, comparisons, experiment)  # without controls, such as random
    heads = ["gain: elmo − glove", "word vector: elmo_word − glove", "layers and context: elmo − elmo_word"]
    assert main.columns == ["task", "glove", "elmo", *heads]
    assert {tuple(text.split()[0] for text in row[3:]) for row in main.texts()} == {("+70.0", "+30.0", "+40.0")}
    assert [row[1:4] for row in gains.texts()[:4]] == [
        ["elmo_word", "glove", "primary"], ["elmo", "glove", "primary"], ["elmo", "elmo_word", "primary"],
        ["random", "glove", "exploratory"],
    ]  # fmt: skip


def test_where_arms_have_other_numbers_of_seeds_the_tables_say_how_many(tmp_path):
    for encoder, seeds in (("glove", 4), ("elmo_word", 4), ("elmo", 4), ("none", 2)):
        for seed in range(seeds):
            right_on(tmp_path, encoder, [seed], seed=seed)
    shown = {line["encoder"]: line["n of the two"] for line in texts(tables_in(tmp_path, "table1")[1])}
    assert shown == {"elmo_word": "", "elmo": "", "none": "2 and 4"}


def test_all_runs_on_a_fraction_say_which_gains_come_from_fewer_seeds(tmp_path):
    for encoder, seeds in (("glove", (0, 1, 2)), ("elmo", (1, 2, 3)), ("elmo_word", (0, 1, 2)), ("none", (0, 1))):
        for seed in seeds:
            add(tmp_path, "ner", encoder, seed, train_fraction=0.1)
    [table] = sections_of(board_of(tmp_path))["runs"].tables
    shown = {line["run"]: line["n of the two"] for line in texts(table)}
    assert shown == {"glove": "", "elmo": "2 and 2", "elmo_word": "", "none": "2 and 2"}


@pytest.mark.parametrize("part", [{"train_fraction": 0.1}, {"max_train": 900}])
def test_on_a_fraction_seeds_are_paired_and_only_common_ones_count(tmp_path, part):
    right = {"glove": {0: [0], 1: [0, 1], 2: [0, 2, 3]}, "elmo": {1: [0, 1, 4, 5], 2: [0, 2, 3, 4, 6], 3: range(9)}}
    for encoder, by_seed in right.items():
        for seed, items in by_seed.items():
            right_on(tmp_path, encoder, items, seed=seed, **part)
            right_on(tmp_path, encoder, items, seed=seed)
    for _, group in systems_in(tmp_path).groupby("basis"):
        hashes = group.set_index("encoder").hash
        [paired] = compare(runs_in(tmp_path), pairs_of([(hashes["elmo"], hashes["glove"])])).itertuples()
        if not group.fraction.iloc[0]:
            assert (len(paired.difference.seeds), paired.n_ours, paired.n_theirs) == (2, 3, 3)
            continue
        gaps = np.array([
            [100.0 * (np.isin(i, [*right["elmo"][seed]]) * 1 - np.isin(i, right["glove"][seed]) * 1) for i in range(10)]
            for seed in (1, 2)
        ])  # fmt: skip
        mean = gaps.mean(axis=0)
        noise = sum((one - mean).var(ddof=1) for one in gaps) / 10 / 2 / 1
        assert (paired.n_ours, paired.n_theirs, paired.gain) == (2, 2, 20.0)
        assert (paired.our_scores, paired.their_scores) == ((40.0, 50.0), (20.0, 30.0))  # seeds 1 and 2
        [over_seeds] = paired.difference.seeds
        assert (over_seeds.value, over_seeds.df) == (pytest.approx(max(0.0, noise)), 1)  # both seeds gain 20
        assert paired.difference.items.value == pytest.approx(max(0.0, mean.var(ddof=1) / 10 - noise))


@pytest.mark.parametrize(("seeds", "why"), [((2, 3), "no seed in common"), ((1, 2), "a single seed")])
def test_a_fraction_without_two_common_seeds_is_not_tested(tmp_path, seeds, why):
    for encoder, own_seeds in (("glove", (0, 1)), ("elmo", seeds)):
        for seed in own_seeds:
            right_on(tmp_path, encoder, [seed, 5], seed=seed, train_fraction=0.1)
    assert compare_in(tmp_path, "elmo", "glove").untested == why


@pytest.mark.slow
def test_the_ladder_has_the_runs_over_its_vectors_and_table_1_has_the_others(tmp_path):
    """The paper's suite has its own vectors; fasttext brings its own to every suite."""
    suite = {"suite": "paper", "size": "paper"}
    for seed in (0, 1):
        for at, encoder in enumerate(("none", "glove", "bert_mini", "elmo")):
            right_on(tmp_path, encoder, range(at + seed), seed=seed, **suite)
            ladder = {"settings": {"encoder.vectors": "glove-mini"}}
            right_on(tmp_path, encoder, range(at + seed + 3), seed=seed, **ladder, **suite)
        right_on(tmp_path, "fasttext", range(9), seed=seed, **suite)
    ladder, comparisons, _ = experiment_in(tmp_path, "ladder")
    table, _, _ = experiment_in(tmp_path, "table1")
    assert dict(zip(ladder.name, ladder.test_mean, strict=True)) == {
        "none": 35.0, "glove": 45.0, "fasttext": 90.0, "bert_mini": 55.0, "elmo": 65.0,
    }  # fmt: skip
    assert dict(zip(table.name, table.test_mean, strict=True)) == {
        "glove": 15.0, "elmo": 35.0, "bert_mini": 25.0, "none": 5.0,
    }  # fmt: skip
    assert list(comparisons.our_name) == ["none", "fasttext", "bert_mini", "elmo"]
    assert set(comparisons.their_name) == {"glove"}
    assert by_pair(comparisons)["fasttext", "glove"].gain == 45.0
    glance, gains = tables_in(tmp_path, "ladder")
    assert (glance.stem, gains.stem) == ("paper-ladder-glance", "paper-ladder-gains")
    assert glance.title == "The same 81 million tokens: test scores, suite paper"
    assert {row[3] for row in gains.texts()} == {"exploratory"}
    for name in ("speed", "figure2"):
        shown = {anchor for other in tables_in(tmp_path, name) for anchor in other.anchors(other.lines)}
        assert not shown & set(ladder.anchor)


def test_a_fraction_with_a_seed_that_is_not_converged_has_no_verdict_although_the_seed_is_not_compared(tmp_path):
    fill(tmp_path, "ner", "glove elmo", seeds=2, train_fraction=0.1)
    assert compare_in(tmp_path, "elmo", "glove").verdict != ""
    stuck(tmp_path, "ner", "elmo", 2, train_fraction=0.1)
    row = compare_in(tmp_path, "elmo", "glove")
    assert (row.n_ours, row.both_converged, row.verdict, row.conclusion) == (2, False, "", "not converged")


def test_where_all_items_differ_alike_nothing_is_tested(tmp_path):
    for seed in (0, 1):
        right_on(tmp_path, "glove", [], seed=seed)
        right_on(tmp_path, "elmo", range(10), seed=seed)
    row = compare_in(tmp_path, "elmo", "glove")
    assert row.untested.endswith("so nothing says how far the difference varies. Compare on more data")
    assert (row.gain, row.verdict) == (100.0, "")


def test_outcomes_of_other_items_are_named_and_not_tested(tmp_path):
    for encoder in ("glove", "elmo"):
        for seed in (0, 1):
            right_on(tmp_path, encoder, [seed, 5], seed=seed)
    path = next(tmp_path.rglob("elmo/*/seed0.json"))
    correct = np.arange(20) < 4
    record = changed(read_record(path), {"outcomes": digest_of({"correct": correct})})
    write_record(RunPaths.of(tmp_path, record), record, {"correct": correct})
    assert "its outcomes are of other items than" in compare_in(tmp_path, "elmo", "glove").untested


def test_a_gain_is_of_the_split_that_is_asked_for(tmp_path):
    for seed in (0, 1):
        right_on(tmp_path, "glove", [seed], seed=seed)
        right_on(tmp_path, "elmo", range(7 + seed), seed=seed)
    for split, gain in (("dev", 0.0), ("test", 65.0)):
        row = compare_in(tmp_path, "elmo", "glove", split)
        assert (row.split, row.gain, row.test_gain) == (split, gain, 65.0)


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
    row = compare_in(tmp_path, "elmo", "glove")
    assert why in row.untested
    assert (row.difference, row.verdict, row.conclusion) == (None, "", "not tested")
