"""The table that a sweep over several tasks ends with."""

import pytest

from elmo_bench.reporting.overview import overviews


@pytest.fixture
def ledger(make_record):
    """make_record's hashes follow from what a run is: two tasks, two encoders, two seeds of one of them."""
    return [
        make_record(task="b", encoder="none", test=10.0),
        make_record(task="b", encoder="elmo", test=20.0),
        make_record(task="a", encoder="none", test=30.0),
        make_record(task="a", encoder="elmo", test=40.0, seed=0),
        make_record(task="a", encoder="elmo", test=42.0, seed=1),
        make_record(task="c", encoder="none", test=50.0),
    ]


def test_a_line_a_task_and_a_column_an_encoder_in_the_order_of_the_sweep(ledger):
    [table] = overviews(ledger, [record["hash"] for record in ledger[:5]])
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    assert lines[0] == ["test scores on suite open:"]
    assert lines[2] == ["task", "none", "elmo"]
    assert lines[4:] == [["b (f1)", "10.00", "20.00"], ["a (f1)", "30.00", "41.00 ± 1.41"]]


def test_a_run_that_is_not_there_is_a_dash(ledger):
    [table] = overviews(ledger, [ledger[3]["hash"], ledger[0]["hash"]])
    assert [line.split("|")[1:4] for line in table.splitlines()[4:]] == [
        [" a (f1) ", " 41.00 ± 1.41 ", "     - "],
        [" b (f1) ", "            - ", " 10.00 "],
    ]


def test_one_task_needs_none(ledger):
    assert list(overviews(ledger, [record["hash"] for record in ledger[2:5]])) == []


@pytest.mark.slow
def test_a_sweep_over_tasks_ends_with_it_and_shows_no_other_suite(main_job, store_record, capsys):
    store_record(suite="open", task="ner")
    options = ("data.max_train=20", "task.training.epochs=1", "task.sizes.cpu.hidden=[4,4]", "logger=none")
    assert main_job("-m", "task=sst5,ner", "encoder=none,glove", *options) == 0
    *before, title, _, head, _, first, second = capsys.readouterr().out.splitlines()
    assert [line for line in before if " on suite " in line] == ["sst5 on suite mini:", "ner on suite mini:"]
    assert (
        title == "test scores on suite mini (data.max_train=20, task.sizes.cpu.hidden=[4,4], task.training.epochs=1):"
    )
    assert [cell.strip() for cell in head.strip("|").split("|")] == ["task", "none", "glove"]
    assert first.startswith("| sst5 (accuracy) |")
    assert second.startswith("| ner (f1)")
    assert "-" not in (cell.strip() for cell in (first + second).split("|"))
