"""Scores by hand from outcomes of a few items, and the committed ledger's own."""

import importlib
from collections import defaultdict
from itertools import combinations

import numpy as np
import pytest

import elmo_bench.tasks
from elmo_bench.base.errors import UserError
from elmo_bench.base.metric import columns, decoded, main_figure, summed_names, sums_of
from elmo_bench.ledger import RunPaths, of_split, read_all, read_outcomes
from elmo_bench.spec.names import metric_of
from tests.ledger.make_golden import GOLDEN
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


def arrays(**values):
    return {name: np.array(column, dtype=np.uint8) for name, column in values.items()}


def chains():
    return {
        f"{metric}_{side}": np.array([round(row[i] * (1_000_000 if side.endswith("num") else 1)) for row in rows])
        for metric, rows in CHAINS.items()
        for i, side in enumerate(SIDES)
    }


def main_of(metric, counts):
    """The main figure, as paired tests compute it."""
    names = summed_names(metric, [counts])
    return float(main_figure(metric, names)(columns(metric, counts, names).sum(axis=0)))


@pytest.mark.parametrize(
    ("task", "outcomes", "score"),
    [
        ("sst5", arrays(correct=[1, 0, 1, 1]), 75.0),
        ("pos", arrays(correct=[200, 200], tokens=[250, 250]), 80.0),  # sums beyond the type's 255
        ("wsd", arrays(correct=[1, 2], guessed=[2, 2], gold=[3, 3]), 60.0),  # P 3/4, R 3/6
        ("srl", arrays(correct=[1, 2], excess=[1, 0], missed=[2, 1]), 60.0),  # the same
        ("squad", arrays(exact=[1, 0, 0], common=[2, 1, 0], guessed=[2, 1, 0], gold=[2, 3, 0]), 50.0),  # 1, 2/4 and 0
        ("ner", arrays(correct=[0], guessed=[0], gold=[0]), 0.0),
        # 2 · 3/5 · 3/4 / (27/20) = 2/3; R = (5/6) / 2, P = 2/4: 5/11; 0
        ("coref", decoded(chains()), 100 * (2 / 3 + 5 / 11) / 3),
    ],
)
def test_main_scores_by_hand(task, outcomes, score):
    assert main_of(metric_of(task), outcomes) == pytest.approx(score, abs=1e-4 if task == "coref" else 1e-12)


@pytest.mark.parametrize("record", read_all(GOLDEN).records, ids=lambda record: record.spec.task)
def test_of_many_sums_there_are_as_many_figures(record):
    """All figures of resampled items, by type too, at once or one after the other."""
    metric = metric_of(record.spec.task)
    sums = sums_of(metric, of_split(read_outcomes(RunPaths.of(GOLDEN, record)), "test"))
    for count in ("correct", "guessed", "gold", "excess", "missed"):
        sums |= {f"type:{name}.{count}": 7 for name in ("A", "B")}
    several = np.array([[0, 1, 2], [3, 5, 8]])
    at_once = metric.figures({name: value * several for name, value in sums.items()})
    for place in np.ndindex(several.shape):
        single = metric.figures({name: value * several[place] for name, value in sums.items()})
        assert {name: values[place] for name, values in at_once.items()} == single
    assert {values.shape for values in at_once.values()} == {several.shape}


def test_an_array_that_is_missing_is_one_line():
    for task, counts in (("ner", {"correct": np.array([1])}), ("squad", {"exact": np.array([1])})):
        with pytest.raises(UserError, match=r"^outcomes without '?(guessed|common)'?\. Run again with overwrite=true"):
            main_of(metric_of(task), counts)


def test_a_main_score_has_the_name_that_its_task_gives_it(tmp_path):
    scores = {split: {"overall": {"# f1": 60.0}} for split in ("dev", "test")}
    path = store_record(tmp_path, task="ner", metric="# f1", scores=scores).record
    records, [problem] = read_all(tmp_path, metrics=metric_of)
    assert not records and problem.startswith(f"{path}: record.metric: '# f1' is not the main score of ner, which is")


@pytest.fixture
def task(tmp_path, monkeypatch):
    """`task(name, text)` adds a task with this `metric.py` to the installed ones."""
    monkeypatch.setattr(elmo_bench.tasks, "__path__", [*elmo_bench.tasks.__path__, str(tmp_path)])

    def task(name, text):
        (tmp_path / name).mkdir()
        (tmp_path / name / "data.py").touch()
        (tmp_path / name / "metric.py").write_text(text)
        importlib.invalidate_caches()
        return name

    return task


def test_a_metric_of_an_older_version_is_told_what_to_write(task):
    members = "class Metric:\n    main = formula = files = score = outcomes = score_files = table = None\n"
    with pytest.raises(
        UserError, match=r"^task=b_old: class Metric .* has no summed, counts, figures\. See docs/extend"
    ):
        metric_of(task("b_old", members))
    older = "from elmo_bench.text.figures import ACCURACY\n"
    with pytest.raises(
        UserError, match=r"^task=c_old: its metric\.py: cannot import name 'ACCURACY' .* See docs/extend"
    ):
        metric_of(task("c_old", older))
    assert metric_of("not_installed") is None


@pytest.mark.slow
def test_two_seeds_of_the_committed_runs_differ_on_a_twentieth_as_many_items_as_they_have_wrong():
    """So that the same answers are no chance: `Copies`. Word senses, which are learned in one epoch, may agree."""
    seeds = defaultdict(list)
    for record in read_all(RUNS).records:
        metric, stored = metric_of(record.spec.task), read_outcomes(RunPaths.of(RUNS, record))
        names = summed_names(metric, [])
        counts = np.concatenate([columns(metric, of_split(stored, split), names) for split in ("dev", "test")])
        scored = counts[:, :-1].any(axis=1) if len(metric.summed) > 1 else True  # no sentence without entities
        wrong = (main_figure(metric, names)(counts) < 100) & scored
        if record.epochs.run > 1:
            seeds[record.hash].append((counts, wrong.sum()))
    for (one, wrong), (other, _) in (pair for run in seeds.values() for pair in combinations(run, 2)):
        assert (one != other).any(axis=1).sum() >= wrong / 20 > 0  # coreference has few items, its documents
