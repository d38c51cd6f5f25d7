"""Less training data."""

import pytest

from elmo_bench.ledger import read_ledger
from elmo_bench.reporting.fractions import Point, curves, fraction_tables, needed, percent
from elmo_bench.reporting.gains import gains_from
from elmo_bench.reporting.like import groups
from elmo_bench.reporting.select import select
from tests.reporting.ledgers import add


@pytest.fixture
def baseline(make_record):
    """Scores 10, 20, 40 with 1, 10, 100 % of the data."""
    rows = [select([make_record(encoder="glove", test=test)]).rows[0] for test in (10.0, 20.0, 40.0)]
    return [Point(share, row) for share, row in zip((0.01, 0.1, 1.0), rows, strict=True)]


@pytest.mark.parametrize(
    ("score", "said"),
    [
        (10.0, "1 %"),
        (15.0, "3.2 %"),  # half way between 1 and 10 on a log axis: the root of 10
        (20.0, "10 %"),
        (30.0, "31.6 %"),
        (40.0, "100 %"),
        (40.1, "> 100 %"),
        (9.9, "< 1 %"),
    ],
)
def test_needed(baseline, score, said):
    assert str(needed(score, baseline)) == said


def test_percent():
    assert [percent(share) for share in (0.001, 0.0107, 0.03, 0.3, 1)] == ["0.1 %", "1.1 %", "3 %", "30 %", "100 %"]


def test_the_table_holds_every_part_and_says_which(tmp_path):
    for encoder in ("glove", "elmo"):
        for options in ({}, {"train_fraction": 0.1}, {"train_fraction": 0.01}):
            add(tmp_path, "sst5", encoder, 0, **options)
        add(tmp_path, "ner", encoder, 0)
    add(tmp_path, "sst5", "elmo", 0, place="input", train_fraction=0.1)  # differs in more than its data
    found = groups(select(read_ledger(tmp_path)).rows)
    assert {group.task: sorted(curves(group)) for group in found} == {"ner": [], "sst5": ["elmo", "glove"]}
    [table] = fraction_tables(found, gains_from(tmp_path))
    assert table.stem == "open-sst5-figure1"
    cells = [[cell.text for cell in row][:3] for row in table.rows]
    assert cells == [
        ["1 %", "936", "elmo"], ["1 %", "936", "glove"], ["10 %", "9,357", "elmo"], ["10 %", "9,357", "glove"],
        ["100 %", "93,567", "elmo"], ["100 %", "93,567", "glove"],
    ]  # fmt: skip
    names = [column.name for column in table.columns]
    gained = [row[names.index("gain over glove")].text for row in table.rows]
    assert [bool(text) for text in gained] == [True, False] * 3
    assert [row[names.index("p (Holm)")].text != "" for row in table.rows] == [True, False] * 3
    needs = [row[names.index("glove needs")] for row in table.rows[::2]]
    assert [cell.text.startswith(">") for cell in needs] == [False, True, True]
    assert 0.01 < needs[0].order < needs[1].order == needs[2].order == 1  # sorted by the share, with and without bound
