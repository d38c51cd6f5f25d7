"""Accuracy and counts of one label an item (SNLI, SST-5), against figures worked out by hand; files of predictions."""

import re
import tracemalloc
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from sklearn.metrics import f1_score

from elmo_bench.base.errors import UserError
from elmo_bench.base.metric import columns, main_figure, units_of
from elmo_bench.ledger import joined, of_split
from elmo_bench.reporting.significance import Variance, difference
from elmo_bench.runner.contract_parts import check_metric
from elmo_bench.spec.names import task_class
from elmo_bench.tasks.snli.metric import Metric as Snli
from elmo_bench.tasks.sst5.metric import Metric as Sst5
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


def test_a_mean_over_labels_as_main_figure_needs_the_counts_of_each_label():
    class Macro(task_class("classification", "metric")):
        main = "macro_f1"

    class Types(Macro):
        formula = "macro-f1-of-a-and-b"
        summed = tuple(f"type:{label}.{count}" for label in "ab" for count in ("correct", "guessed", "gold"))

    class Ready(LabelMacroF1):
        names: ClassVar = {"a": "a", "b": "b"}

    examples = [SimpleNamespace(gold=label) for label in "aabbab"]
    assert check_metric(Ready(), examples, [*"abbbaa"]).startswith("macro_f1 66.67, by macro-f1-counts")
    with pytest.raises(UserError, match=r"Metric.summed has type:a.correct: counts of types are not kept"):
        check_metric(Types(), examples, [*"abbbaa"])
    said = "Metric.figures: macro_f1 does not follow from the sums of correct, items, which `formula`=accuracy is about"
    with pytest.raises(UserError, match=re.escape(said)) as error:
        check_metric(Macro(), examples, [*"abbbaa"])
    assert "Name what it needs in `summed`, as text.figures.LabelMacroF1 does for a mean over labels" in str(
        error.value
    )


def test_the_ready_macro_f1_is_scikit_learns_and_can_be_tested_pairwise():
    """Also from outcomes that were stored, and without the labels that no item has."""

    class Metric(LabelMacroF1):
        names: ClassVar = {label: f"no. {label}" for label in "abcd"}

    rng = np.random.default_rng(3)
    metric = Metric()
    counted = []
    for _ in range(2):
        gold = rng.choice([*"abc"], 200).tolist()
        predicted = rng.choice([*"abbcd"], 200).tolist()
        expected = 100 * f1_score(gold, predicted, labels=[*"abcd"], average="macro", zero_division=0)
        assert score(metric, gold, predicted)["overall"]["macro_f1"] == pytest.approx(expected)
        stored = joined({"dev": {}, "test": metric.counts(gold, predicted)})
        counted.append(columns(metric, of_split(stored, "test"))[None])
        of_half = main_figure(metric)(counted[-1][0, :100].sum(axis=0))
        expected = 100 * f1_score(gold[:100], predicted[:100], labels=[*"abcd"], average="macro", zero_division=0)
        assert of_half == pytest.approx(expected)
    seeds = [Variance(0.25, 2.0)] * 2
    tested = difference(*counted, main_figure(metric), seeds)
    assert tested.items.value > 0 and abs(tested.mean) < 100
    assert score(metric, ["a"], ["b"])["overall"]["macro_f1"] == 0
