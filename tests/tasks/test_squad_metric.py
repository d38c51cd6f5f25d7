"""Every golden case of evaluate-v1.1.py, and the command."""

import json

import numpy as np
import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.cli import score as command
from elmo_bench.tasks.squad.metric import Metric, normalise
from tests.golden_cases import for_each, golden, score
from tests.whole.test_bad_formats import squad_json

GOLDEN = golden("squad")
METRIC = Metric()


def gold_file(path, gold):
    """A SQuAD file of these answers, {id: [texts]}."""
    questions = [(name, "?", [(text, 0) for text in texts]) for name, texts in gold.items()]
    path.write_text(squad_json({"T": ("c", questions)}), encoding="utf-8")
    return path


@for_each(GOLDEN["cases"])
def test_equals_the_official_scorer(case, _):
    overall = score(METRIC, [case["gold"]], [case["prediction"]])["overall"]
    assert overall["exact_match"] == case["exact_match"]
    assert overall["f1"] == pytest.approx(case["f1"], abs=1e-9)
    itself = score(METRIC, [case["gold"]], [case["gold"][0]])["overall"]
    assert itself["exact_match"] == 100
    assert itself["f1"] == pytest.approx(case["self_f1"], abs=1e-9)


@pytest.mark.parametrize("case", GOLDEN["files"], ids=range(len(GOLDEN["files"])))
def test_equals_the_official_scorer_on_files(tmp_path, capsys, case):
    gold = gold_file(tmp_path / "dev.json", case["gold"])
    (tmp_path / "predictions.json").write_text(json.dumps(case["predictions"]), encoding="utf-8")
    assert command.main(["squad", str(gold), str(tmp_path / "predictions.json"), "--json"]) == 0
    said = capsys.readouterr()
    scores = json.loads(said.out)
    assert scores.keys() == {"exact_match", "f1"}
    assert scores["exact_match"] == pytest.approx(case["exact_match"], abs=1e-9)
    assert scores["f1"] == pytest.approx(case["f1"], abs=1e-9)
    warned = {line.split()[2] for line in said.err.splitlines()}
    assert warned == set(case["unanswered"])
    assert all(line == f"Unanswered question {line.split()[2]} will receive score 0." for line in said.err.splitlines())


def test_outcomes_add_up_to_the_scores():
    gold, predicted = [["a b c", "b"], ["x"], ["the"]], ["b d", "x", "an"]
    outcomes = METRIC.counts(gold, predicted)
    assert {name: counts.tolist() for name, counts in outcomes.items()} == {
        "exact": [0, 1, 1], "common": [1, 1, 0], "guessed": [2, 1, 0], "gold": [1, 1, 0],
    }  # fmt: skip
    assert all(counts.dtype == np.uint32 for counts in outcomes.values())
    with np.errstate(invalid="ignore"):
        f1 = np.nan_to_num(2 * outcomes["common"] / (outcomes["guessed"] + outcomes["gold"]))
    overall = score(METRIC, gold, predicted)["overall"]
    assert overall["f1"] == pytest.approx(100 * f1.mean())
    assert overall["exact_match"] == pytest.approx(100 * outcomes["exact"].mean())


def test_the_golden_cases_have_answers_of_which_nothing_is_left():
    """Articles and punctuation alone: F1 0, and an exact match with each other; by hand, from the script's rules."""
    bare = [case for case in GOLDEN["cases"] if not all(map(normalise, (*case["gold"], case["prediction"])))]
    assert len(bare) == 9
    for answer, prediction, exact in (("the", "an", 100), ("...", "", 100), ("a", "b", 0), ("The!", "A cat", 0)):
        overall = score(METRIC, [[answer]], [prediction])["overall"]
        assert (overall["exact_match"], overall["f1"]) == (exact, 0)


def test_gold_without_answers(tmp_path):
    (tmp_path / "p.json").write_text("{}")
    with pytest.raises(UserError, match=r"dev.json: question q: no answers to compare with"):
        METRIC.score_files(gold_file(tmp_path / "dev.json", {"q": []}), tmp_path / "p.json")


def test_what_a_file_says_moves_no_cursor(tmp_path, capsys):
    (tmp_path / "p.json").write_text("{}")
    gold = gold_file(tmp_path / "dev.json", {"q\x1b[2J": ["a"]})
    gold.write_text(json.dumps(json.loads(gold.read_text(encoding="utf-8")) | {"version": "\x1b[1A"}), encoding="utf-8")
    METRIC.score_files(gold, tmp_path / "p.json")
    assert capsys.readouterr().err.splitlines() == [
        "Evaluation expects v-1.1, but got dataset with v-\\x1b[1A",
        "Unanswered question q\\x1b[2J will receive score 0.",
    ]
