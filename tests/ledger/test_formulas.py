"""Scores by hand from outcomes of a few items, and the committed ledger's own."""

from pathlib import Path

import numpy as np
import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.ledger import RunPaths, of_split, read_ledger, read_outcomes
from elmo_bench.ledger.formulas import FORMULAS, formula
from elmo_bench.spec.names import task_class, tasks
from tests.ledger.make_golden import GOLDEN

RUNS = Path(__file__).parents[2] / "results" / "runs"
SIDES = ("recall_num", "recall_den", "precision_num", "precision_den")
# Two documents: MUC 3/5 and 3/4, B³ 1/3 + 1/2 of 1 + 1 and 1 + 1 of 2 + 2, CEAFe nothing found.
CHAINS = {
    "muc": [(1, 2, 1, 2), (2, 3, 2, 2)],
    "bcub": [(1 / 3, 1, 1, 2), (1 / 2, 1, 1, 2)],
    "ceafe": [(0, 2, 0, 0), (0, 1, 0, 0)],
    "mentions": [(7, 7, 7, 7), (7, 7, 7, 7)],  # ignored
}


def columns(**values):
    return {name: np.array(column, dtype=np.uint8) for name, column in values.items()}


def chains():
    return {
        f"{metric}_{side}": np.array([round(row[i] * (1_000_000 if side.endswith("num") else 1)) for row in rows])
        for metric, rows in CHAINS.items()
        for i, side in enumerate(SIDES)
    }


@pytest.mark.parametrize(
    ("name", "outcomes", "score"),
    [
        ("accuracy", columns(correct=[1, 0, 1, 1]), 75.0),
        ("token-accuracy", columns(correct=[200, 200], tokens=[250, 250]), 80.0),  # sums beyond the type's 255
        ("f1-counts", columns(correct=[1, 2], guessed=[2, 2], gold=[3, 3]), 60.0),  # P 3/4, R 3/6
        ("f1-errors", columns(correct=[1, 2], excess=[1, 0], missed=[2, 1]), 60.0),  # the same
        (
            "mean-f1",
            columns(exact=[1, 0, 0], common=[2, 1, 0], guessed=[2, 1, 0], gold=[2, 3, 0]),
            50.0,
        ),  # 1, 2/4 and 0
        ("f1-counts", columns(correct=[0], guessed=[0], gold=[0]), 0.0),
        # 2 · 3/5 · 3/4 / (27/20) = 2/3; R = (5/6) / 2, P = 2/4: 5/11; 0
        ("conll-2012", chains(), 100 * (2 / 3 + 5 / 11) / 3),
    ],
)
def test_scores_by_hand(name, outcomes, score):
    assert formula(name).score_of(outcomes) == pytest.approx(score, abs=1e-4 if "muc_recall_num" in outcomes else 1e-12)


def test_a_score_of_many_sums_at_once():
    sums = np.array([[[3, 1, 3], [1, 0, 0]], [[0, 1, 1], [0, 0, 0]]], dtype=float)
    assert formula("f1-errors").score(sums).tolist() == [[60.0, 100.0], [0.0, 0.0]]


def test_an_unknown_formula_and_a_missing_array_are_one_line():
    with pytest.raises(UserError, match=r"^formula hits: unknown\. .* has accuracy, token-accuracy") as error:
        formula("hits")
    assert "\n" not in str(error.value)
    with pytest.raises(UserError, match=r"^outcomes without guessed, gold"):
        formula("f1-counts").score_of({"correct": np.array([1])})


def test_every_task_names_a_formula():
    assert {task_class(task, "metric").formula for task in tasks()} == set(FORMULAS)


@pytest.mark.parametrize("ledger", [GOLDEN, RUNS], ids=["golden", "results"])
def test_the_committed_outcomes_add_up_to_the_committed_scores(ledger):
    records, problems = read_ledger(ledger)
    assert records or ledger == RUNS  # which may have none yet
    assert not problems
    for record in records:
        outcomes = of_split(read_outcomes(RunPaths.of(ledger, record)), "test")
        score = formula(record["formula"]).score_of(outcomes)
        stored = record["scores"]["test"]["overall"][record["metric"]]
        assert score == pytest.approx(stored, abs=1e-3), (record["spec"]["task"], record["hash"], record["seed"])
