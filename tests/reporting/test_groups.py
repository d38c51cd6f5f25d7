"""Which rows are comparable."""

import pytest

from elmo_bench.ledger import read_all
from elmo_bench.reporting.groups import groups, in_paper_order, task_info
from elmo_bench.reporting.leaderboard import spent
from elmo_bench.reporting.rows import select
from tests.reporting.ledgers import add, fill, today


@pytest.fixture
def grouped(tmp_path):
    """`grouped() -> groups` of what was added to `tmp_path`."""
    return lambda: groups(select(read_all(tmp_path).records).rows)


@pytest.mark.parametrize(
    ("options", "differs"),
    [
        ({"size": "paper"}, "size=paper"),
        ({"version": 99}, f"version=99, protocol {today()[1]}"),
        ({"data": "x"}, "3,384 examples"),
    ],
)
def test_rows_on_another_basis_are_apart(tmp_path, grouped, options, differs):
    fill(tmp_path, "ner", "glove elmo")
    add(tmp_path, "ner", "none", 0, **options)
    first, second = grouped()
    assert [row.spec.encoder for row in first.rows] == ["elmo", "glove"]  # most encoders first
    assert [row.spec.encoder for row in second.rows] == ["none"]
    assert (second.differs, second.heading) == (differs, f"Named entities (ner, {differs})")
    assert first.stem != second.stem


def test_a_fraction_of_the_data_is_a_group_with_it_in_the_heading(tmp_path, grouped):
    add(tmp_path, "ner", "glove", 0)
    add(tmp_path, "ner", "glove", 0, train_fraction=0.3)
    add(tmp_path, "ner", "glove", 0, max_train=50)
    whole, *parts = grouped()
    assert (whole.fraction, whole.whole) == ("", 3394)
    assert {part.heading for part in parts} == {
        "Named entities (ner, 30 % of the training data, at least 100 steps an epoch)",
        "Named entities (ner, at most 50 training examples)",
    }
    assert {part.share(part.rows[0]) for part in parts} == {1018 / 3394, 50 / 3394}
    assert whole.share(whole.rows[0]) == 1.0
    assert {part.any_amount.heading for part in parts} == {"Named entities (ner)"}
    assert {part.any_amount.stem for part in parts} == {"open-ner"}


def test_core_hours_are_processor_time_and_hours_of_a_gpu_are_not(tmp_path, grouped):
    fill(tmp_path, "ner", "glove", seeds=2)
    [group] = grouped()
    one, two = group.rows[0].records
    for record in (one, two):
        record["cost"] |= {"seconds": 3600.0, "cpu_seconds": 4 * 3600.0}
    two["environment"] = two["environment"] | {"device": "NVIDIA H100"}
    assert spent(group.rows) == "2 runs took 4.0 core-hours and 1.0 hours on NVIDIA H100."


def test_names_of_tasks_and_their_order():
    assert in_paper_order({"zebra", "sst5", "ner", "squad", "ape"}) == ["squad", "ner", "sst5", "ape", "zebra"]
    assert (task_info("ner", "open").data, task_info("ner", "open").unit) == ("WNUT-17", "sentences")
    assert task_info("zebra", "open").title == "zebra"
    assert task_info("ner", "open").beside_paper("x") == "x (other data)"
    assert task_info("ner", "paper").beside_paper("x") == "x"
    assert task_info("sst5", "open").beside_paper("x") == "x (same data, smaller models)"
