"""Real records, one of each task: they are read, written again and summed up as later versions must do it.

`python -m tests.ledger.make_golden` makes them again.
"""

import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.ledger import CLUSTER, PAIRS, RunPaths, of_split, read_all, read_outcomes, slices_of, write_record
from elmo_bench.ledger.outcomes import check_sums, formula
from elmo_bench.spec.config import suite_tasks
from tests.ledger.make_golden import GOLDEN, PROBES
from tests.runs import ROOT

RECORDS, PROBLEMS = read_all(GOLDEN)
EACH = pytest.mark.parametrize("record", RECORDS, ids=lambda record: record["spec"]["task"])
SPLITS = ("dev", "test")
UNITS = ("ner", "coref", *PROBES)  # tasks whose slices are of smaller units than items


def outcomes_of(record):
    return read_outcomes(RunPaths.of(GOLDEN, record))


def test_there_is_one_of_each_task():
    assert PROBLEMS == []
    assert [record["spec"]["task"] for record in RECORDS] == suite_tasks()


@EACH
def test_it_is_written_again_byte_for_byte(record, tmp_path):
    here, there = RunPaths.of(GOLDEN, record), RunPaths.of(tmp_path, record)
    write_record(there, record, read_outcomes(here))
    assert there.record.read_bytes() == here.record.read_bytes()
    assert there.outcomes.read_bytes() == here.outcomes.read_bytes()
    assert str(ROOT) not in here.record.read_text(encoding="utf-8")


@EACH
def test_a_changed_figure_of_any_name_does_not_follow_from_the_outcomes(record):
    """By `check_sums`, which knows no task; only the number of items, under its task's name for it, goes unnoticed."""
    stored, how = outcomes_of(record), formula(record["formula"])
    check_sums(stored, how, record["metric"], record["scores"])
    for split in SPLITS:
        for row in (record["scores"][split]["overall"], *record["scores"][split].get("by_type", {}).values()):
            for figure in row.keys() - {"sentences", "pairs", "questions", "documents", "n_props", "left_out"}:
                row[figure] += 1
                with pytest.raises(UserError, match=f"^outcomes on {split}: they add up to "):
                    check_sums(stored, how, record["metric"], record["scores"])
                row[figure] -= 1


@EACH
def test_slices_follow_from_the_record(record):
    stored, how, task = outcomes_of(record), formula(record["formula"]), record["spec"]["task"]
    for split in SPLITS:
        slices, whole = slices_of(stored, split), of_split(stored, split)
        assert len(whole[how.outcomes[0]]) == record["data"]["counts"][split]
        assert list(slices) == ["unseen", "seen", "novector", "vector"]
        for name, other in PAIRS.items():
            gold = [how.gold_of(slices[part]) for part in (name, other)]
            assert min(gold) >= 0 and max(gold) > 0
            if task != "coref":
                assert sum(gold) == how.gold_of(whole)
            assert (f"{name}.{how.outcomes[0]}" in stored) is (task in UNITS) is (name not in whole)
            for part in (name, other):
                assert 0 <= how.score_of(slices[part]) <= 100
                assert (CLUSTER in slices[part]) is (CLUSTER in whole)
        assert how.gold_of(slices["unseen"]) > 0  # 30 examples teach few words
