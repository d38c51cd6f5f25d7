"""The metric against figures of the reference scorer (golden/coref*.json), the alignment, and the score command."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array

from elmo_bench.base.errors import UserError
from elmo_bench.tasks.coref.conll import Document, write_documents
from elmo_bench.tasks.coref.metric import METRICS, SIDES, Metric, best_alignment
from tests.golden_cases import for_each, golden, score
from tests.runs import first_ones

# The second file: documents whose key or response has a span in two chains.
CASES = [case for name in ("coref", "coref_repeated") for case in golden(name)["cases"]]
METRIC = Metric()


def check(rows, wanted):
    for name in METRICS:
        for key in (*SIDES, "f1"):
            assert rows[name][key] == pytest.approx(wanted[name][key], abs=1e-9)


def write(path, documents, side):
    """Documents of so many tokens in sentences of 7, with the chains of one side."""
    blank = [
        Document(
            f"case/{n}", "000", "ca",
            tuple(("w",) * min(7, document["n_tokens"] - first) for first in range(0, document["n_tokens"], 7)),
            ("-",) * document["n_tokens"], (),
        )
        for n, document in enumerate(documents)
    ]  # fmt: skip
    write_documents(path, blank, [document[side] for document in documents])
    return path


def check_case(case):
    gold, predicted = [[document[side] for document in case["documents"]] for side in ("key", "response")]
    scores = score(METRIC, gold, predicted)
    check(scores["by_type"], case["scores"])
    assert scores["overall"]["average_f1"] == pytest.approx(case["scores"]["average_f1"], abs=1e-9)
    assert scores["overall"]["muc_f1"] == scores["by_type"]["muc"]["f1"]
    outcomes = METRIC.counts(gold, predicted)
    for name in METRICS:
        for side in SIDES:
            counted = outcomes[f"{name}_{side}"]
            assert counted.shape == (len(gold),)
            assert counted.sum() == pytest.approx(case["scores"][name][side], abs=1e-9)


@for_each(CASES[::4])
def test_a_sample_equals_the_reference_scorer(case, _):
    check_case(case)


@pytest.mark.slow
@for_each(CASES)
def test_equals_the_reference_scorer(case, _):
    check_case(case)


@pytest.mark.slow
@for_each(CASES[::7])
def test_files_equal_the_reference_scorer(case, tmp_path):
    key = write(tmp_path / "key.conll", case["documents"], "key")
    response = write(tmp_path / "response.conll", case["documents"], "response")
    found = METRIC.score_files(key, response)["scores"]
    check(found, case["scores"])
    assert found["average_f1"] == pytest.approx(case["scores"]["average_f1"], abs=1e-9)
    gold, predicted = [[document[side] for document in case["documents"]] for side in ("key", "response")]
    assert METRIC.table({"scores": found}) == METRIC.table(score(METRIC, gold, predicted))


def figures(rows):
    """Every numerator and denominator, as the reference scorer prints them."""
    return {name: [rows[name][side] for side in SIDES] for name in METRICS}


BY_HAND = {  # cells of chains in key and response; what scorer.pl v8.01 printed of them
    "a span in two chains of the key": (
        "(0) (0)|(1) (1) (1)", "(0) (0)|(1) (1)|(2) (2)",
        {"muc": [0, 3, 0, 1], "bcub": [2, 5, 3.5, 4], "ceafe": [1.5, 2, 1.5, 3], "mentions": [4, 4, 4, 4]},
    ),
    "a chain of one token behind another": (  # mentions of one token are numbered first
        "(0 0)|(0)", "(0|(1) (0)|0)|(1)", {"muc": [0, 1, 0, 1], "bcub": [1, 2, 1.5, 3]},
    ),
    "a spurious mention twice": (
        "(0) (0) (1) (1) -", "(0) (0) (1) (1) (0)|(1)", {"mentions": [4, 4, 4, 5], "bcub": [4, 4, 8 / 3, 6]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BY_HAND)
def test_files_with_repeated_mentions(name, tmp_path):
    *sides, wanted = BY_HAND[name]
    paths = [tmp_path / side for side in ("key", "response")]
    for path, cells in zip(paths, sides, strict=True):
        rows = "".join(f"d\t0\t{place}\tw\t{cell}\n" for place, cell in enumerate(cells.split()))
        path.write_text(f"#begin document (d); part 000\n{rows}#end document\n", encoding="utf-8")
    rows = figures(METRIC.score_files(*paths)["scores"])
    assert {metric: rows[metric] for metric in wanted} == {m: pytest.approx(row) for m, row in wanted.items()}


ONE = {"n_tokens": 9, "key": [[[0, 0], [2, 3]]], "response": [[[0, 0], [2, 3]], [[5, 5], [7, 7]]]}


def test_documents_that_one_side_lacks(tmp_path, capsys):
    key = write(tmp_path / "key.conll", [ONE, ONE], "key")
    response = write(tmp_path / "response.conll", [ONE], "response")
    rows = METRIC.score_files(key, response)["scores"]
    assert (rows["mentions"]["recall_num"], rows["mentions"]["recall_den"]) == (2, 4)
    assert "1 documents of" in capsys.readouterr().err
    rows = METRIC.score_files(response, key)["scores"]
    assert (rows["mentions"]["recall_den"], rows["mentions"]["precision_den"]) == (4, 2)
    assert "1 documents are not in" in capsys.readouterr().err


def test_files_that_cannot_be_scored(tmp_path):
    key = write(tmp_path / "key.conll", [ONE], "key")
    with pytest.raises(UserError, match=r"r.conll:1: 8 tokens where .*key.conll:1 has 9. Score predictions of"):
        METRIC.score_files(key, write(tmp_path / "r.conll", [{**ONE, "n_tokens": 8}], "response"))
    same = [[[n, n] for n in range(12)]]
    many = {"n_tokens": 30, "response": same * 2, "key": same}
    key = write(tmp_path / "key.conll", [many], "key")
    with pytest.raises(UserError, match=r"r.conll:1: up to here over 10 mentions of the key are repeated. Remove"):
        METRIC.score_files(key, write(tmp_path / "r.conll", [many], "response"))


@pytest.mark.parametrize("kind", first_ones(["any", "fractions", "ties"], 1))
def test_it_equals_the_dense_assignment(kind):
    rng = np.random.default_rng(0)
    for _ in range(300):
        shape = rng.integers(0, 12, 2)
        weights = {
            "any": rng.random,
            "fractions": lambda shape: rng.integers(1, 4, shape) / rng.integers(1, 5, shape),
            "ties": lambda shape: rng.integers(1, 3, shape).astype(float),
        }[kind](shape)
        weights *= rng.random(shape) < rng.random()
        best = weights[linear_sum_assignment(weights, maximize=True)].sum()
        assert best_alignment(csr_array(weights)) == pytest.approx(best, abs=1e-9)
