"""Scores by hand from outcomes of a few items, and the committed ledger's own."""

import importlib
from collections import defaultdict
from itertools import combinations

import numpy as np
import pytest

import elmo_bench.tasks
from elmo_bench.base.errors import UserError
from elmo_bench.ledger import RunPaths, of_split, read_all, read_outcomes
from elmo_bench.ledger.outcomes import formula
from elmo_bench.spec.names import task_class
from tests.ledger.records import store_record
from tests.runs import ROOT

RUNS = ROOT / "results" / "runs"
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
        # 1, 2/4 and 0
        ("mean-f1", columns(exact=[1, 0, 0], common=[2, 1, 0], guessed=[2, 1, 0], gold=[2, 3, 0]), 50.0),
        ("f1-counts", columns(correct=[0], guessed=[0], gold=[0]), 0.0),
        # 2 · 3/5 · 3/4 / (27/20) = 2/3; R = (5/6) / 2, P = 2/4: 5/11; 0
        ("conll-2012", chains(), 100 * (2 / 3 + 5 / 11) / 3),
    ],
)
def test_scores_by_hand(name, outcomes, score):
    assert formula(name).score_of(outcomes) == pytest.approx(score, abs=1e-4 if "muc_recall_num" in outcomes else 1e-12)


def test_an_unknown_formula_and_a_missing_array_are_one_line():
    with pytest.raises(UserError, match=r"^formula hits: no task here has it, so it cannot be tested"):
        formula("hits")
    with pytest.raises(UserError, match=r"^outcomes without guessed, gold"):
        formula("f1-counts").score_of({"correct": np.array([1])})


def test_a_main_score_has_the_name_that_its_task_gives_it(tmp_path):
    scores = {split: {"overall": {"# f1": 60.0}} for split in ("dev", "test")}
    path = store_record(tmp_path, task="ner", metric="# f1", scores=scores).record
    records, [problem] = read_all(tmp_path, sums=True)
    assert not records and problem.startswith(f"{path}: record.metric: '# f1' is not the main score of ner, which is")


@pytest.fixture
def task(tmp_path, monkeypatch):
    """`task(name, formula)` adds the metric of a task with such a `formula` to the installed ones."""
    monkeypatch.setattr(elmo_bench.tasks, "__path__", [*elmo_bench.tasks.__path__, str(tmp_path)])

    def task(name, text):
        (tmp_path / name).mkdir()
        (tmp_path / name / "data.py").touch()
        (tmp_path / name / "metric.py").write_text(
            "from elmo_bench.base.formula import *\nclass Metric:\n    main = files = score = outcomes = None\n"
            f"    score_files = table = None\n    formula = {text}\n"
        )
        importlib.invalidate_caches()
        return name

    return task


def test_a_formula_of_an_included_task_is_found_and_its_own_task_comes_first(task):
    text = "Formula('{}', ('hits',), with_items, lambda sums: {} * sums[..., 0], lambda sums: sums[1])"
    task("a_counting", text.format("hits-formula", 1))
    other = task("b_counting", text.format("hits-formula", 2))
    hits = {"hits": np.array([3, 4])}
    assert formula("hits-formula").score_of(hits) == formula("hits-formula", "not_installed").score_of(hits) == 7
    assert formula("hits-formula", other).score_of(hits) == 14
    assert formula("f1-counts", other) is formula("f1-counts")


def test_a_metric_of_an_older_version_is_told_what_to_write(task):
    name = task("c_old", "'f1-counts'")
    assert formula("f1-counts", name).name == "f1-counts"  # of another task
    with pytest.raises(UserError, match=rf"^task={name}: Metric\.formula is 'f1-counts', not a Formula"):
        task_class(name, "metric")


def test_two_seeds_of_the_committed_runs_differ_on_a_twentieth_as_many_items_as_they_have_wrong():
    """So that the same answers are no chance: `Copies`. Word senses, which are learned in one epoch, may agree."""
    seeds = defaultdict(list)
    for record in read_all(RUNS).records:
        how, stored = formula(record["formula"]), read_outcomes(RunPaths.of(RUNS, record))
        counts = np.concatenate([how.counts_of(of_split(stored, split)) for split in ("dev", "test")])
        wrong = (how.score(counts) < 100) & counts.any(axis=1)
        if record["epochs"]["run"] > 1:
            seeds[record["hash"]].append((counts, wrong.sum()))
    for (one, wrong), (other, _) in (pair for run in seeds.values() for pair in combinations(run, 2)):
        assert (one != other).any(axis=1).sum() >= wrong / 20 > 0  # coreference has few items, its documents


def test_the_committed_outcomes_add_up_to_the_committed_scores():
    assert not read_all(RUNS, sums=True).problems  # of the golden records: test_golden.py
