"""Real records, one of each task: they are read, written again and summed up as later versions must do it.

`python -m tests.ledger.make_golden` makes them again.
"""

from zipfile import ZipFile

import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.base.metric import columns, main_figure, summed_names, units_of
from elmo_bench.ledger import CLUSTER, PAIRS, RunPaths, of_split, read_all, read_outcomes, slices_of, write_record
from elmo_bench.ledger.outcomes import check_figures, check_split, scores_by
from elmo_bench.ledger.store import _text
from elmo_bench.spec.names import metric_of
from elmo_bench.spec.task_files import suite_tasks
from tests.ledger.make_golden import GOLDEN, PROBES
from tests.runs import ROOT

RECORDS, PROBLEMS = read_all(GOLDEN)
EACH = pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.spec.task)
SPLITS = ("dev", "test")
MANY_ROWS = ("pos", "deprel")  # a row for each label
UNITS = ("ner", "coref", *PROBES)  # tasks whose slices are of smaller units than items


def outcomes_of(record):
    return read_outcomes(RunPaths.of(GOLDEN, record))


def test_there_is_one_of_each_task():
    assert PROBLEMS == []
    assert [record.spec.task for record in RECORDS] == suite_tasks()


def test_every_committed_record_is_written_again_byte_for_byte():
    records, problems = read_all(ROOT / "results" / "runs")
    assert problems == [] and len(records) > 300
    for record in records:
        path = RunPaths.of(ROOT / "results" / "runs", record).record
        assert _text(record) == path.read_bytes(), path


def arrays_in(path):
    """The bytes of each file in an archive, in order."""
    with ZipFile(path) as archive:
        return [(name, archive.read(name)) for name in archive.namelist()]


@EACH
def test_it_is_written_again_byte_for_byte(record, tmp_path):
    """Of the outcomes each array: before 3.11.4, Python writes another version of the format around them."""
    here, there = RunPaths.of(GOLDEN, record), RunPaths.of(tmp_path, record)
    write_record(there, record, read_outcomes(here))
    assert there.record.read_bytes() == here.record.read_bytes()
    assert arrays_in(there.outcomes) == arrays_in(here.outcomes)
    assert str(ROOT) not in here.record.read_text(encoding="utf-8")


@EACH
def test_every_figure_is_what_the_outcomes_give_bit_by_bit(record):
    """But coreference's numerators: they are fractions, and their outcomes are rounded to millionths."""
    metric, stored = metric_of(record.spec.task), outcomes_of(record)
    for split in SPLITS:
        counted = scores_by(stored, metric, split)
        scores = record.scores.of(split).to_json()
        if record.spec.task == "coref":
            check_split(stored, metric, split, record.scores.of(split))
        else:
            assert counted == scores
        assert [*map(list, counted.values())] == [*map(list, scores.values())]


@pytest.mark.parametrize(
    "record",
    [pytest.param(each, marks=pytest.mark.slow) if each.spec.task in MANY_ROWS else each for each in RECORDS],
    ids=lambda record: record.spec.task,
)
def test_a_changed_figure_of_any_name_does_not_follow_from_the_outcomes(record):
    stored, metric = outcomes_of(record), metric_of(record.spec.task)
    check_figures(stored, metric, record.scores)
    for split in SPLITS:
        scores = record.scores.of(split)
        for row in (scores.overall, *scores.by_type.values()):
            for figure in [*row]:
                for change in (1, -0.001):
                    row[figure] += change
                    with pytest.raises(UserError, match=f"^outcomes on {split}: they add up to "):
                        check_figures(stored, metric, record.scores)
                    row[figure] -= change


@EACH
def test_slices_follow_from_the_record(record):
    stored, task = outcomes_of(record), record.spec.task
    metric = metric_of(task)
    for split in SPLITS:
        slices, whole = slices_of(stored, split), of_split(stored, split)
        items = len(next(iter(whole.values())))
        assert items == record.data.counts.of(split)
        assert list(slices) == ["unseen", "seen", "novector", "vector"]
        for name, other in PAIRS.items():
            gold = [units_of(metric, slices[part]) for part in (name, other)]
            assert min(gold) >= 0 and max(gold) > 0
            if task != "coref":
                assert sum(gold) == units_of(metric, whole)
            assert (f"{name}.{metric.summed[0]}" in stored) is (task in UNITS) is (name not in whole)
            for part in (name, other):
                names = summed_names(metric, [])
                score = main_figure(metric, names)(columns(metric, slices[part], names).sum(axis=0))
                assert 0 <= score <= 100
                assert (CLUSTER in slices[part]) is (CLUSTER in whole)
        assert units_of(metric, slices["unseen"]) > 0  # 30 examples teach few words
