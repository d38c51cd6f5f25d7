"""Which system to use, in words: by dev, with what the test split shows."""

from types import SimpleNamespace

import pandas as pd
import pytest

from elmo_bench.reporting.advice import advice, advice_pairs
from elmo_bench.reporting.names import DAGGER
from elmo_bench.reporting.significance import Difference, Variance

NAN = float("nan")
SYSTEMS = {  # dev, minutes, MiB, ms
    "minilm": (93.0, 5.9, 90.2, 9.0),
    "elmo": (92.0, 23.6, 40.0, 8.0),
    "glove": (83.0, 4.0, NAN, NAN),
    "tfidf": (84.0, 0.1, NAN, NAN),
}


def systems(*names, quick=False):
    settings = {"quick": True} if quick else {}
    rows = []
    for name in names:
        dev, minutes, size, speed = SYSTEMS[name]
        row = {"hash": name, "task": "classification", "encoder": name, "run_label": name, "dev_mean": dev}
        row |= {"work_minutes": minutes, "ship_mib": size, "text_ms": speed, "n": 3, "mark": ""}
        rows.append(row | {"spec": SimpleNamespace(settings=settings)})
    return pd.DataFrame(rows)


def lines_of_tests(*lines):
    """Each line: ours, theirs, gain, low, high, verdict. Most of the error comes from the items."""
    table = pd.DataFrame(lines, columns=["ours", "theirs", "gain", "family_low", "family_high", "verdict"])
    table["conclusion"] = [verdict or "not tested" for verdict in table.verdict]
    table["family_detectable"] = 3.4
    table["family_level"] = 0.05 / len(table)
    part = Variance(0.01, 2)
    table["difference"] = [Difference(gain, (part, part), Variance(1.0, 99)) for gain in table.gain]
    return table


OVER_FLOOR = ("minilm", "tfidf", 3.1, 1.2, 5.0, "ahead")
BEHIND_FLOOR = ("minilm", "tfidf", -3.0, -5.0, -1.0, "behind")
NOT_SHOWN = ("minilm", "tfidf", 1.8, -0.5, 4.1, "tie")


@pytest.mark.parametrize(
    ("names", "lines", "said"),
    [
        (["minilm", "tfidf"], [OVER_FLOOR],
         "Use minilm. It is best on dev and better than the floor tfidf (+3.1 points on test, +1.2 to +5.0)."),
        (["tfidf", "minilm"], [("tfidf", "minilm", -3.1, -5.0, -1.2, "behind")],
         "Use minilm. It is best on dev and better than the floor tfidf (+3.1 points on test, +1.2 to +5.0)."),
        (["minilm", "tfidf"], [BEHIND_FLOOR],
         "Use tfidf: minilm is best on dev, but worse than this floor (−3.0 points on test, −5.0 to −1.0)."),
        (["minilm", "tfidf"], [NOT_SHOWN],
         "Use tfidf until more data show a gain: minilm is best on dev, but not shown to be better than this floor "
         "(+1.8 points on test, −0.5 to +4.1). "
         "A true gain of 3.4 points would be missed one time in five: more test items would help most."),
        (["minilm", "elmo", "tfidf"], [NOT_SHOWN, ("elmo", "tfidf", 2.0, 1.0, 3.0, "ahead")],
         "Use elmo: of the systems that are better than the floor tfidf (+2.0 points on test, +1.0 to +3.0) it is best "
         "on dev. minilm is best on dev, but not shown to be better than this floor (+1.8 points on test, "
         "−0.5 to +4.1)."),
        (["minilm", "elmo", "tfidf"], [BEHIND_FLOOR, ("elmo", "tfidf", 0.2, -1.0, 1.4, "tie")],
         "Use tfidf: minilm is best on dev, but worse than this floor (−3.0 points on test, −5.0 to −1.0)."),
        (["minilm", "tfidf"], [("minilm", "tfidf", 3.1, -0.2, 6.4, "ahead")],
         "Use minilm. It is best on dev and better than the floor tfidf (+3.1 points on test, −0.2 to +6.4; shown by "
         "Holm's procedure, which has no intervals)."),
        (["glove", "tfidf", "elmo", "minilm"],
         [OVER_FLOOR, ("elmo", "minilm", -0.2, -1, 0.6, "tie"), ("glove", "minilm", -8, -9, -7, "behind")],
         "Use minilm. It is best on dev and better than the floor tfidf (+3.1 points on test, +1.2 to +5.0). "
         "Not shown to be worse than minilm (5.9 minutes a run, 90 MiB to ship, 9 ms a text): "
         "elmo (−0.2 points on test; 23.6 minutes a run, 40 MiB to ship, 8 ms a text)."),
        (["glove", "elmo", "minilm"],
         [("elmo", "minilm", -0.2, -1, 0.6, "tie"), ("glove", "minilm", -1.0, -3, 1, "tie")],
         "Use minilm, which is best on dev. It was not compared with the floor: add encoder=tfidf. "
         "Not shown to be worse than minilm (5.9 minutes a run, 90 MiB to ship, 9 ms a text): "
         "elmo (−0.2 points on test; 23.6 minutes a run, 40 MiB to ship, 8 ms a text), "
         "glove (−1.0 points on test; 4.0 minutes a run)."),
        (["tfidf", "glove"], [("glove", "tfidf", 3, 1, 5, "ahead")],
         "Use tfidf, which is best on dev. glove is shown to be better than tfidf (+3.0 points on test, +1.0 to +5.0): "
         "dev and test disagree, so look at both before you choose. "
         "It takes 4.0 minutes a run, and tfidf 0.1 minutes a run."),
        (["tfidf", "glove"], [("glove", "tfidf", -1, -3, 1, "tie")], "Use tfidf, which is best on dev."),
        (["elmo", "glove"], [("elmo", "glove", 8, 7, 9, "ahead")],
         "Use elmo, which is best on dev. It was not compared with the floor: add encoder=tfidf."),
        (["elmo", "glove"], [("elmo", "glove", -5, -8, -2, "behind")],
         "Use elmo, which is best on dev. It was not compared with the floor: add encoder=tfidf. "
         "glove is shown to be better than elmo (+5.0 points on test, "
         "+2.0 to +8.0): "
         "dev and test disagree, so look at both before you choose. "
         "It takes 4.0 minutes a run, and elmo 23.6 minutes a run, 40 MiB to ship, 8 ms a text."),
    ],
)  # fmt: skip
def test_the_best_on_dev_is_named_with_what_test_shows(names, lines, said):
    assert advice(systems(*names), lines_of_tests(*lines)) == [said]


def test_of_equal_ones_on_dev_the_quickest_is_named_whatever_their_order():
    for names in (("elmo", "glove"), ("glove", "elmo")):
        table = systems(*names)
        table["dev_mean"] = 90.0
        [said] = advice(table, lines_of_tests(("elmo", "glove", 1, -2, 3, "tie")))
        assert said.startswith("Use glove, which is best on dev.") and "Not shown to be worse than glove (" in said


def test_without_a_test_it_is_said_why():
    lines = lines_of_tests(("elmo", "glove", 8, 7, 9, ""), ("elmo", "tfidf", 8, 7, 9, ""))
    table = systems("elmo", "glove", "tfidf")
    assert advice(table, lines) == []  # for a reason that a line above says, such as a damaged file
    table["mark"] = [DAGGER, DAGGER, ""]
    assert advice(table, lines) == [
        "elmo is best on dev, and not tested. Not tested, since not converged (†): elmo, glove."
    ]
    assert advice(systems("elmo"), lines) == []
    table.loc[table.encoder != "glove", "n"] = 1  # of the floor one is all; an interrupted sweep
    assert advice(table, lines) == [
        "elmo is best on dev, and not tested. A single seed is not tested (elmo): add seed=1,2. "
        "Not tested, since not converged (†): glove."
    ]
    table["n"] = 1
    assert advice(table, lines) == [
        "elmo is best on dev, and not tested. A single seed is not tested (elmo, glove): add seed=1,2."
    ]


def test_the_best_on_dev_and_the_floor_are_tested_with_every_other_one():
    for names in (["glove", "tfidf", "elmo", "minilm"], ["tfidf", "minilm"], ["elmo", "glove"], ["elmo"]):
        pairs = [frozenset(pair) for pair in advice_pairs(systems(*names)).to_numpy().tolist()]
        best = max(names, key=lambda name: SYSTEMS[name][0])
        wanted = {frozenset([best, name]) for name in names if name != best}
        if "tfidf" in names:
            wanted |= {frozenset(["tfidf", name]) for name in names if name != "tfidf"}
        assert set(pairs) == wanted and len(pairs) == len(wanted)


def test_a_best_on_dev_without_a_test_is_not_recommended():
    """Though others are tested with each other."""
    table = systems("minilm", "elmo", "tfidf")
    lines = lines_of_tests(("elmo", "tfidf", 2.0, 1.0, 3.0, "ahead"), ("minilm", "tfidf", 3, 1, 5, ""))
    table["n"] = [1, 3, 1]
    assert advice(table, lines) == [
        "minilm is best on dev, and not tested. A single seed is not tested (minilm): add seed=1,2."
    ]
    table["n"], table["mark"] = 3, [DAGGER, "", ""]
    assert advice(table, lines) == [
        "minilm is best on dev, and not tested. Not tested, since not converged (†): minilm."
    ]


def test_a_floor_that_is_not_converged_is_named():
    table = systems("minilm", "elmo", "tfidf")
    table["mark"] = ["", "", DAGGER]
    [said] = advice(table, lines_of_tests(("minilm", "elmo", 2.0, 1.0, 3.0, "ahead"), (*OVER_FLOOR[:5], "")))
    assert said == "Use minilm, which is best on dev. Not tested, since not converged (†): tfidf."


def test_of_several_floors_the_best_on_dev_is_the_floor():
    table = systems("minilm", "tfidf", "tfidf")
    table["hash"] = ["minilm", "tfidf", "other"]
    table["dev_mean"] = [93.0, 80.0, 84.0]
    assert advice_pairs(table).to_numpy().tolist() == [["minilm", "other"], ["minilm", "tfidf"], ["tfidf", "other"]]


@pytest.mark.parametrize(
    ("seeds", "items", "what"),
    [
        (Variance(0.01, 2), Variance(1.0, 100), "test items"),
        (Variance(5.0, 2), Variance(1.0, 100), "seeds"),
        (Variance(0.9, 2), Variance(1.0, 100), "seeds"),  # twice the items find less: the few seeds weigh more
    ],
)
def test_what_would_help_is_what_finds_smaller_gains(seeds, items, what):
    lines = lines_of_tests(NOT_SHOWN)
    lines["difference"] = [Difference(1.8, (seeds,), items)]
    lines["family_level"] = 0.05 / 5
    [said] = advice(systems("minilm", "tfidf"), lines)
    assert said.endswith(f": more {what} would help most.")


def test_what_would_help_is_judged_at_the_level_of_the_tie():
    """By 39 tests of which 36 are shown, one level says seeds and the other items."""
    lines = lines_of_tests(NOT_SHOWN)
    lines["difference"] = [Difference(1.8, (Variance(0.3, 2),), Variance(1.0, 399))]
    for level, what in ((0.05 / 39, "seeds"), (0.05 / 3, "test items")):
        [said] = advice(systems("minilm", "tfidf"), lines.assign(family_level=level))
        assert said.endswith(f": more {what} would help most.")


def test_of_two_that_agree_on_every_item_no_gain_is_named_that_was_missed():
    lines = lines_of_tests(("minilm", "tfidf", 0.0, 0.0, 0.0, "tie"))
    lines["difference"] = [Difference(0.0, (Variance(0.0, 2),), Variance(0.0, 99))]
    [said] = advice(systems("minilm", "tfidf"), lines)
    assert said.startswith("Use tfidf until more data show a gain") and "missed" not in said


def test_quick_runs_name_the_best_on_dev_and_say_that_this_is_no_answer():
    [said] = advice(systems("minilm", "tfidf", quick=True), lines_of_tests(OVER_FLOOR))
    assert said.startswith("After a fifth of the steps (quick=true) minilm is best on dev: minilm 93.0, tfidf 84.0.")
    assert "Use" not in said and said.endswith("Leave out quick=true for an answer.")


def test_a_system_with_a_single_seed_is_named_beside_tested_ones():
    table = systems("minilm", "tfidf", "elmo")
    table["n"] = [3, 1, 1]
    [said] = advice(table, lines_of_tests(OVER_FLOOR))
    assert said.endswith("(+3.1 points on test, +1.2 to +5.0). A single seed is not tested (elmo): add seed=1,2.")
