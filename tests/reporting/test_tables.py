"""Tables, cell by cell."""

import pytest

from elmo_bench.reporting.tables import markdown, task_table


@pytest.fixture
def sweep(make_record):
    """Two encoders, three seeds: elmo 50 ± 1, glove 47 ± 2."""
    scores = {"elmo": (49.0, 50.0, 51.0), "glove": (45.0, 47.0, 49.0)}
    return [
        make_record(encoder=name, seed=k, test=test) for name, tests in scores.items() for k, test in enumerate(tests)
    ]


def test_task_table(sweep):
    assert task_table(sweep, suite="open", task="tagging").splitlines() == [
        "| encoder |       dev f1 |          test f1 |   n (seeds) | trainable | tokens/s | minutes per run |",
        "| ------- | -----------: | ---------------: | ----------: | --------: | -------: | --------------: |",
        "| elmo    | 60.00 ± 0.00 | 50.00 ± 1.00 `*` | 3 (0, 1, 2) |   123,456 |   12,346 |             1.5 |",
        "| glove   | 60.00 ± 0.00 |     47.00 ± 2.00 | 3 (0, 1, 2) |   123,456 |   12,346 |             1.5 |",
        "",
        "`*` ahead of every other row by more than the spread: the larger of the two standard deviations, same seeds.",
    ]


def test_no_mark_unless_ahead_of_every_row(sweep, make_record):
    close = [make_record(encoder="other", seed=seed, test=test) for seed, test in enumerate((48.5, 49.5, 50.5))]
    assert "`*`" not in task_table(sweep + close, suite="open", task="tagging")
    assert "`*`" not in task_table(sweep[:3], suite="open", task="tagging")  # nobody to be ahead of
    one_seed = [record for record in sweep if record["seed"] == 0]
    assert "`*`" not in task_table(one_seed, suite="open", task="tagging")


def test_the_row_just_finished_is_pointed_at(sweep):
    table = task_table(sweep, suite="open", task="tagging", highlight=sweep[-1]["hash"])
    assert [line.split("|")[1].strip() for line in table.splitlines()[2:4]] == ["elmo", "glove ←"]
    assert task_table(sweep, suite="mini", task="tagging") == "No runs of tagging on suite mini yet."


def test_a_bar_in_a_cell_does_not_break_the_table():
    assert markdown(["a"], [["x|y"]]).splitlines()[-1] == r"| x\|y |"
