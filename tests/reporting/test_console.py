"""The tables that a run and a sweep print, cell by cell."""

import pytest

from elmo_bench.ledger import read_ledger
from elmo_bench.reporting.console import overviews, task_table
from tests.reporting.ledgers import add


@pytest.fixture
def sweep(make_record):
    """Two encoders, three seeds: elmo 50 ± 1, glove 47 ± 2."""
    scores = {"elmo": (49.0, 50.0, 51.0), "glove": (45.0, 47.0, 49.0)}
    return [
        make_record(encoder=name, seed=k, test=test) for name, tests in scores.items() for k, test in enumerate(tests)
    ]


def cells(table):
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]


def test_task_table(tmp_path):
    for seed in (0, 1):
        add(tmp_path, "ner", "elmo", seed)
        newest = add(tmp_path, "ner", "glove", seed, train_fraction=0.1)
    records = read_ledger(tmp_path)[0]
    table = task_table(records, suite="open", task="ner", highlight=newest["hash"])
    head, _, *rows = cells(table)[:4]
    assert head == ["encoder", "dev f1", "test f1", "n (seeds)", "trainable", "tokens/s", "minutes per run"]
    assert rows[0][0] == "elmo"
    assert rows[1][0] == "glove, 10 % of the training data, at least 100 steps an epoch ←"
    assert rows[1][3:] == ["2 (0, 1)", "123,456", "12,346", "1.5"]
    assert task_table(records, suite="paper", task="ner") == "No runs of ner on suite paper yet."


def test_a_row_that_is_ahead_of_every_other_is_marked(sweep, make_record):
    assert [row[2] for row in cells(task_table(sweep, suite="open", task="chunking"))[2:4]] == [
        "50.00 ± 1.00 `*` †", "47.00 ± 2.00 †",  # no budget of epochs was measured for this task
    ]  # fmt: skip
    close = [make_record(encoder="other", seed=seed, test=test) for seed, test in enumerate((48.5, 49.5, 50.5))]
    assert "`*`" not in task_table(sweep + close, suite="open", task="chunking")
    assert "`*`" not in task_table(sweep[:3], suite="open", task="chunking")  # nobody to be ahead of
    one_seed = [record for record in sweep if record["seed"] == 0]
    assert "`*`" not in task_table(one_seed, suite="open", task="chunking")


def test_a_sweep_over_tasks_has_a_line_a_task_and_a_column_an_encoder(tmp_path):
    made = [
        add(tmp_path, task, encoder, seed, train_fraction=0.1)
        for task, encoder, seed in (("sst5", "none", 0), ("sst5", "elmo", 0), ("ner", "none", 0), ("ner", "none", 1))
    ]
    add(tmp_path, "coref", "none", 0)
    hashes = [record["hash"] for record in made]
    [table] = overviews(read_ledger(tmp_path)[0], hashes)
    title, _, head, _, first, second = cells(table)
    assert title == ["test scores on suite open (data.least_steps=100, data.train_fraction=0.1):"]
    assert head == ["task", "none", "elmo"]
    assert [first[0], second[0], second[2]] == ["sst5 (accuracy)", "ner (f1)", "-"]
    assert "±" in second[1]
    assert list(overviews(read_ledger(tmp_path)[0], hashes[:2])) == []  # one task
