"""Accuracy and counts of one label an item (SNLI, SST-5), against figures worked out by hand; files of predictions."""

import re
import tracemalloc
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from elmo_bench.base.errors import UserError
from elmo_bench.base.metric import columns, main_figure, summed_names, summed_types, units_of
from elmo_bench.ledger import by_type, joined, of_split
from elmo_bench.reporting import comparisons
from elmo_bench.reporting.significance import Variance, difference
from elmo_bench.runner.contract_parts import check_metric
from elmo_bench.spec.names import metric_of, task_class
from elmo_bench.tasks.snli.metric import Metric as Snli
from elmo_bench.tasks.sst5.metric import Metric as Sst5
from elmo_bench.text import figures
from elmo_bench.text.figures import LabelMacroF1, count_types
from tests.golden_cases import score

SHORT = {"e": "entailment", "n": "neutral", "c": "contradiction", "-": "-"}
# The metric, gold, predictions; which are right, overall scores, by type (correct, guessed, gold).
PAIRS = Snli(), [SHORT[letter] for letter in "eennccc-"], [SHORT[letter] for letter in "enncccee"]
PAIRS_BY_HAND = (
    [1, 0, 1, 0, 1, 1, 0], {"accuracy": 400 / 7, "correct": 4, "pairs": 7, "left_out": 0},
    {"entailment": (1, 2, 2), "neutral": (1, 2, 2), "contradiction": (2, 3, 3)},
)  # fmt: skip
GRADES = Sst5(), [0, 1, 2, 3, 4, 4, 2, 2], [0, 2, 2, 4, 4, 3, 2, 1]
GRADES_BY_HAND = (
    [1, 0, 1, 0, 1, 0, 1, 0], {"accuracy": 50.0, "correct": 4, "sentences": 8},
    {"very negative": (1, 1, 1), "negative": (0, 1, 1), "neutral": (2, 3, 3), "positive": (0, 1, 1),
     "very positive": (1, 2, 2)},
)  # fmt: skip


@pytest.mark.parametrize(("case", "by_hand"), [(PAIRS, PAIRS_BY_HAND), (GRADES, GRADES_BY_HAND)], ids=["snli", "sst5"])
def test_figures_by_hand(case, by_hand):
    (metric, gold, predicted), (right, overall, by_type) = case, by_hand
    labelled = gold[: len(right)], predicted[: len(right)]
    scores = score(metric, *labelled)
    assert scores["overall"] == pytest.approx(overall)
    assert scores["by_type"] == {
        name: {"recall": pytest.approx(100 * correct / wanted), "correct": correct, "guessed": guessed, "gold": wanted}
        for name, (correct, guessed, wanted) in by_type.items()
    }
    counts = metric.counts(*labelled)
    assert counts["correct"].tolist() == right
    assert counts["correct"].dtype == np.uint8


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize(("case", "text"), [(PAIRS, ""), (PAIRS, "\tA man .\tA b ."), (GRADES, "\tIt works .")])
def test_a_file_has_the_scores_of_its_labels(tmp_path, case, text, ending):
    """Of SNLI without the pair that has no gold label."""
    metric, gold, predicted = case
    lines = [f"{g}\t{p}{text}{ending}" for g, p in zip(gold, predicted, strict=True)]
    (tmp_path / "predictions.tsv").write_bytes("".join(lines).encode())
    kept = [number for number, label in enumerate(gold) if label != "-"]
    wanted = score(metric, [gold[number] for number in kept], [predicted[number] for number in kept])
    if metric is PAIRS[0]:
        wanted["overall"]["left_out"] = 1
    assert metric.score_files(tmp_path / "predictions.tsv") == wanted


def test_counts_by_type_take_a_byte_an_item_and_more_only_where_they_must():
    """300 labels of 100,000 items took a gigabyte."""
    labels = [[f"label {n % 300}"] for n in range(3000)]
    counts = count_types({"gold": labels, "guessed": labels[::-1]})
    assert sum(values.nbytes for values in counts.values()) == 2 * 300 * 3000
    many = count_types({"gold": [["a"] * 300, ["a", "b"]]})
    assert {name: values.tolist() for name, values in many.items()} == {"type:a.gold": [300, 1], "type:b.gold": [0, 1]}
    metric = task_class("classification", "metric")()
    counts = metric.counts([label for [label] in labels], [label for [label] in labels])
    tracemalloc.start()
    assert units_of(metric, counts) == 3000
    joined({"dev": {}, "test": counts})
    assert tracemalloc.get_traced_memory()[1] < 3 * 3 * 300 * 3000
    tracemalloc.stop()


def test_a_long_label_takes_its_size_once():
    labels = ["x" * 10_000, *"ab" * 500]
    tracemalloc.start()
    counts = task_class("classification", "metric")().counts(labels, labels[::-1])
    assert tracemalloc.get_traced_memory()[1] < 2**20
    tracemalloc.stop()
    assert counts["correct"].sum() == 999


def test_more_labels_than_can_be_counted_are_one_line(monkeypatch, tmp_path):
    """70,000 labels of 70,000 items took 5 GB for each count."""
    monkeypatch.setattr(figures, "MOST_CELLS", 8)
    (path := tmp_path / "x.csv").write_text("gold,predicted\na,a\nb,b\n")
    assert task_class("classification", "metric")().score_files(path)["overall"]["accuracy"] == 100
    path.write_text("gold,predicted\na,a\nb,b\nc,d\n")
    with pytest.raises(UserError, match=r"4 different labels in 3 items are too many .* this is the column of labels"):
        task_class("classification", "metric")().score_files(path)


def test_a_mean_over_labels_as_main_figure_needs_the_counts_of_each_label():
    class Macro(task_class("classification", "metric")):
        main = "macro_f1"

    class Types(Macro):
        formula = "macro-f1-of-a-and-b"
        summed = tuple(f"type:{label}.{count}" for label in "ab" for count in ("correct", "guessed", "gold"))

    class Ready(LabelMacroF1):
        names: ClassVar = {"a": "a", "b": "b"}

    examples = [SimpleNamespace(gold=label) for label in "aabbab"]
    assert check_metric(Ready(), examples, [*"abbbaa"]).startswith("macro_f1 66.67, by macro-f1 from")
    with pytest.raises(UserError, match=r"Metric.summed has type:a.correct: the types of other data have other names"):
        check_metric(Types(), examples, [*"abbbaa"])
    said = "Metric.figures: macro_f1 does not follow from the sums of correct, items, which `formula`=accuracy is about"
    with pytest.raises(UserError, match=re.escape(said)) as error:
        check_metric(Macro(), examples, [*"abbbaa"])
    wanted = (
        "Name what it needs in `summed` and `summed_types`, as text.figures.LabelMacroF1 does for a mean over labels"
    )
    assert wanted in str(error.value)


class FixedLabels(LabelMacroF1):
    names: ClassVar = {label: f"no. {label}" for label in "abcd"}


@pytest.mark.parametrize(
    "metric", [FixedLabels(), metric_of("classification", "macro_f1"), metric_of("pairs", "macro_f1")]
)
def test_macro_f1_is_scikit_learns_and_is_tested_pairwise(metric):
    """From stored outcomes, where one of two runs predicts a label that the other and gold lack."""
    rng = np.random.default_rng(3)
    gold = rng.choice([*"abc"], 200).tolist()
    answers = [rng.choice([*drawn], 200).tolist() for drawn in ("abbcd", "abc")]
    runs = []
    for predicted in answers:
        assert score(metric, gold, predicted)["overall"]["macro_f1"] == pytest.approx(macro(gold, predicted))
        stored = joined({"dev": {}, "test": metric.counts(gold, predicted)})
        runs.append(of_split(stored, "test", summed_types(metric)))
    names = summed_names(metric, runs)
    assert len(names) == 4 * 3 + 1
    figure = main_figure(metric, names)
    counted = [columns(metric, run, names) for run in runs]
    for of_run, predicted in zip(counted, answers, strict=True):
        assert figure(of_run.sum(axis=0)) == pytest.approx(macro(gold, predicted))
        assert figure(of_run[:100].sum(axis=0)) == pytest.approx(macro(gold[:100], predicted[:100]))
    alone = figure(counted[0])
    assert alone.tolist() == [100.0 * (right == guess) for right, guess in zip(gold, answers[0], strict=True)]
    tested = difference(counted[0][None], counted[1][None], figure, [Variance(0.25, 2.0)] * 2)
    assert tested.mean == pytest.approx(macro(gold, answers[0]) - macro(gold, answers[1]))
    assert tested.items.value > 0
    assert score(metric, ["a"], ["b"])["overall"]["macro_f1"] == 0


def macro(gold, predicted):
    return 100 * f1_score(gold, predicted, average="macro", zero_division=0)


@settings(deadline=None)
@given(items=st.lists(st.lists(st.sampled_from("abcd"), max_size=3), min_size=1, max_size=8))
def test_counts_by_type_come_back_item_by_item(items):
    counts = count_types({"gold": items, "guessed": items[::-1]})
    stored = joined({"dev": {}, "test": counts | {"correct": np.ones(len(items), np.uint8)}})
    back = of_split(stored, "test", ("gold",))
    wanted = {name: values.tolist() for name, values in counts.items() if name.endswith(".gold")}
    assert {name: back[name].tolist() for name in back if name != "correct"} == wanted
    assert of_split(stored, "test").keys() == {"correct"}


def test_more_counts_by_item_than_memory_takes_are_one_line(monkeypatch):
    metric = metric_of("classification", "macro_f1")
    runs = [metric.counts([*"aabb"], [*predicted]) for predicted in ("aabb", "abab")]
    stored = joined({"dev": {}, "test": runs[0]})
    arms = {"one": runs[0]}, {"other": runs[1]}
    monkeypatch.setattr(by_type, "MOST_NUMBERS", 4 * 6 - 1)
    with pytest.raises(UserError, match=r"^2 labels of 4 items take too much memory item by item"):
        of_split(stored, "test", summed_types(metric))
    monkeypatch.setattr(comparisons, "MOST_NUMBERS", 4 * 7 * 2 - 1)
    with pytest.raises(UserError, match=r"^macro_f1 of 4 items, 2 runs and 7 counts: a test takes too much memory"):
        comparisons.difference_of(arms, [Variance(0.1, 1.0)] * 2, metric)


def test_a_task_has_its_usual_metric_unless_it_has_the_named_one():
    assert [metric_of("classification", main).main for main in (None, "accuracy", "macro_f1", "f2")] == [
        "accuracy", "accuracy", "macro_f1", "accuracy",
    ]  # fmt: skip
    assert metric_of("sst5", "macro_f1").main == "accuracy"
