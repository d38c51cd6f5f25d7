"""Scores by label of data of the user's own."""

from types import SimpleNamespace

import pandas as pd

from elmo_bench.reporting.by_label import MOST, by_label
from elmo_bench.reporting.names import counted


def scores(**figures):
    return SimpleNamespace(test=SimpleNamespace(by_type=figures))


def label(recall, gold, **more):
    return {"recall": recall, "gold": gold, **more}


def table(*runs):
    frame = pd.DataFrame([{"hash": name, "scores": each} for name, each in runs])
    names = list(dict.fromkeys(name for name, _ in runs))
    return by_label(frame, pd.DataFrame([{"hash": name, "run_label": name} for name in names]))


def test_a_line_for_each_label_has_means_over_seeds_the_most_frequent_first():
    found = table(
        ("elmo", scores(press=label(40.0, 27), news=label(80.0, 90))),
        ("elmo", scores(press=label(42.0, 27), news=label(90.0, 90))),
        ("glove", scores(press=label(50.0, 27), news=label(70.0, 90), new=label(0.0, 0))),
    )
    assert found.title == "recall of each label on test, mean over seeds"
    assert found.columns == ["label", "in test", "elmo", "glove"]
    assert found.texts() == [["news", "90", "85.0", "70.0"], ["press", "27", "41.0", "50.0"]]


def test_spans_have_f1_and_few_labels_are_shown():
    types = {f"L{number:02}": label(1.0, 100 - number, f1=2.0) for number in range(MOST + 3)}
    found = table(("elmo", scores(**types)), ("glove", scores(**types)))
    assert found.title == "F1 of each label on test, mean over seeds"
    assert (len(found.shown), len(found.lines)) == (MOST, MOST + 3)
    assert counted(found.folded, found.kind) == "3 rarer labels"
    assert found.texts()[0] == ["L00", "100", "2.0", "2.0"]


def test_without_labels_there_is_no_table():
    assert table(("elmo", scores())) is None
    assert table(("elmo", scores(only=label(100.0, 5)))) is None


def test_a_system_may_have_the_name_of_another_column():
    found = table(("label", scores(press=label(40.0, 27), news=label(80.0, 90))), ("gold", scores()))
    assert found.texts() == [["news", "90", "80.0", "0.0"], ["press", "27", "40.0", "0.0"]]
