"""Scores by hand from outcomes of a few items, and the committed ledger's own."""

from pathlib import Path

import numpy as np
import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.ledger import read_ledger
from elmo_bench.reporting.compare import with_outcomes
from elmo_bench.reporting.formulas import formula_of, score_of

RUNS = Path(__file__).parents[2] / "results" / "runs"
SIDES = ("recall_num", "recall_den", "precision_num", "precision_den")
# Two documents: MUC 3/5 and 3/4, B³ 1/3 + 1/2 of 1 + 1 and 1 + 1 of 2 + 2, CEAFe nothing found.
CHAINS = {
    "muc": [(1, 2, 1, 2), (2, 3, 2, 2)],
    "bcub": [(1 / 3, 1, 1, 2), (1 / 2, 1, 1, 2)],
    "ceafe": [(0, 2, 0, 0), (0, 1, 0, 0)],
    "mentions": [(7, 7, 7, 7), (7, 7, 7, 7)],  # does not count
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
    ("outcomes", "score"),
    [
        (columns(correct=[1, 0, 1, 1]), 75.0),
        (columns(correct=[200, 200], tokens=[250, 250]), 80.0),  # sums beyond the type's 255
        (columns(correct=[1, 2], guessed=[2, 2], gold=[3, 3]), 60.0),  # P 3/4, R 3/6
        (columns(correct=[1, 2], excess=[1, 0], missed=[2, 1]), 60.0),  # the same
        (columns(exact=[1, 0, 0], common=[2, 1, 0], guessed=[2, 1, 0], gold=[2, 3, 0]), 50.0),  # 1, 2/4 and 0
        (columns(correct=[0], guessed=[0], gold=[0]), 0.0),
        # 2 · 3/5 · 3/4 / (27/20) = 2/3; R = (5/6) / 2, P = 2/4: 5/11; 0
        (chains(), 100 * (2 / 3 + 5 / 11) / 3),
    ],
)
def test_scores_by_hand(outcomes, score):
    assert score_of(outcomes) == pytest.approx(score, abs=1e-4 if "muc_recall_num" in outcomes else 1e-12)


def test_a_score_of_many_sums_at_once():
    formula = formula_of(columns(correct=[], excess=[], missed=[]))
    sums = np.array([[[3, 1, 3], [1, 0, 0]], [[0, 1, 1], [0, 0, 0]]], dtype=float)
    assert formula.score(sums).tolist() == [[60.0, 100.0], [0.0, 0.0]]


def test_unknown_names_are_one_line():
    with pytest.raises(UserError, match=r"outcomes named hits: no formula.*correct, gold, guessed") as error:
        formula_of({"hits": np.array([1])})
    assert "\n" not in str(error.value)


def test_the_committed_outcomes_amount_to_the_committed_scores():
    found = with_outcomes(RUNS, read_ledger(RUNS))
    assert found
    for record, outcomes in found:
        said = record["scores"]["test"]["overall"][record["metric"]]
        assert score_of(outcomes) == pytest.approx(said, abs=1e-3), (record["task"], record["encoder"], record["seed"])
