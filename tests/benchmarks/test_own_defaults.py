"""Defaults of the heads for own data: what is compared on the folds, and when a default changes."""

import json

import pytest

from benchmarks.own_defaults import DEFAULT, FLOOR, SETTINGS, Item, difference, items, passes, table, write_folds
from elmo_bench.spec.run_spec import described

SETS = ("trec", "sst5", "genres")


def found(gains, default=60.0, setting="light"):
    """Scores of three folds: the default, and a setting with these gains by set and fold."""
    scores = {}
    for name, of_set in zip(SETS, gains, strict=True):
        scores[name, DEFAULT] = {fold: default + fold for fold in range(3)}
        scores[name, setting] = {fold: default + fold + gain for fold, gain in enumerate(of_set)}
        scores[name, FLOOR] = {fold: default for fold in range(3)}
    return scores


@pytest.mark.parametrize(
    ("gains", "changes"),
    [
        ([(3, 3, 3), (1, 2, 1), (0, 1, 1)], True),
        ([(1, 1, 1), (1, 1, 1), (1, 1, 0)], False),  # not more than a point
        ([(9, 0, 0), (9, 0, 0), (9, 0, 0)], False),  # one fold alone
        ([(9, 9, 9), (9, 9, 8), (-2, -2, -2)], False),  # worse on one set
        ([(9, 9, 9), (9, 9, 8), (-1, -1, -1)], True),
    ],
)
def test_a_default_changes_if_all_sets_together_gain_a_point_and_none_loses_more(gains, changes):
    assert passes(found(gains), "classification", "light") is changes


def test_a_set_without_the_setting_decides_nothing():
    scores = found([(3, 3, 3), (3, 3, 3), (3, 3, 3)])
    del scores["sst5", "light"]
    assert not passes(scores, "classification", "light")


def test_differences_are_of_the_folds_in_common():
    mean, error = difference({0: 3.0, 1: 5.0, 2: 9.0}, {0: 1.0, 1: 1.0, 4: 0.0})
    assert mean == 3.0 and error == pytest.approx(1.0)
    assert difference({0: 3.0, 1: 5.0}, {1: 1.0}) is None
    lines = table(found([(1, 1, 4)] * 3), {(name, key): [1.5] for name in SETS for key in (FLOOR, DEFAULT, "light")})
    [light] = [line for line in lines if line.startswith("| trec | light |")]
    assert light == "| trec | light | 3 | 63.00 ± 2.65 | +3.00 ± 1.53 | +2.00 ± 1.00 | 1.5 |"


def test_a_fold_compares_all_settings_before_the_next_one():
    chosen = items(["trec", "sst5"], [DEFAULT, "light"], [0, 1])
    assert [(item.fold, item.data) for item in chosen[:4]] == [(0, "trec"), (0, "trec"), (0, "sst5"), (0, "sst5")]
    assert [item.setting for item in chosen] == [DEFAULT, "light"] * 4


@pytest.mark.parametrize("name", ["trec", "upos"])
def test_every_setting_is_a_run_and_states_its_options(tmp_path, name):
    task = "tagging" if name == "upos" else "classification"
    for setting, options in SETTINGS[task].items():
        spec, setup = described(*Item(name, 1, setting).options(tmp_path))
        assert spec.suite == f"{name}-fold1" and setup.ledger == tmp_path / "runs"
        changes = {f"{key}={value}".replace(" ", "") for key, value in spec.changes.items()}
        assert changes == (set() if setting == FLOOR else {*options})


def test_each_row_is_held_out_once_and_equal_texts_stay_together(tmp_path):
    rows = [(f"text {number % 40}", "ab"[number % 2]) for number in range(80)]
    write_folds("trec", rows, tmp_path)
    held_out = []
    for fold in range(5):
        parts = {}
        for split in ("train", "test"):
            lines = (tmp_path / f"folds/trec-fold{fold}/{split}.jsonl").read_text().splitlines()
            parts[split] = [json.loads(line)["text"] for line in lines]
        assert len(parts["train"]) + len(parts["test"]) == 80
        assert {*parts["train"]}.isdisjoint(parts["test"])
        held_out += parts["test"]
    assert sorted(held_out) == sorted(text for text, _ in rows)
