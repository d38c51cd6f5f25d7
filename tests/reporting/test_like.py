"""Which rows may stand in one column."""

import pytest

from elmo_bench.ledger import read_ledger
from elmo_bench.reporting.like import groups
from elmo_bench.reporting.select import select
from tests.reporting.ledgers import add


@pytest.fixture
def grouped(tmp_path):
    """`grouped(**flags) -> groups` of what was added to `tmp_path`."""
    return lambda **flags: groups(select(read_ledger(tmp_path)).rows, **flags)


def test_one_group_where_all_is_alike(tmp_path, grouped):
    for encoder in ("glove", "elmo"):
        add(tmp_path, "ner", encoder, 0)
    [group] = grouped()
    assert (group.name, group.stem, len(group.rows)) == ("ner", "open-ner", 2)


@pytest.mark.parametrize(
    ("options", "apart"),
    [({"size": "paper"}, "size"), ({"version": 2}, "version"), ({"data": "other"}, "data")],
)
def test_unlike_rows_are_kept_apart_unless_asked(tmp_path, grouped, options, apart):
    add(tmp_path, "ner", "glove", 0)
    add(tmp_path, "ner", "elmo", 0)
    add(tmp_path, "ner", "none", 0, **options)
    first, second = grouped()
    assert [row.newest["encoder"] for row in first.rows] == ["elmo", "glove"]  # most encoders first
    assert [row.newest["encoder"] for row in second.rows] == ["none"]
    assert first.apart.startswith(f"{apart}=")
    assert first.apart != second.apart
    assert first.stem != second.stem
    [both] = grouped(unlike=True)
    assert {row.label for row in both.rows} == {
        f"elmo, {first.apart}",
        f"glove, {first.apart}",
        f"none, {second.apart}",
    }


def test_part_of_the_data_stands_beside_the_whole_of_it_but_not_among_it(tmp_path, grouped):
    add(tmp_path, "ner", "glove", 0)
    add(tmp_path, "ner", "glove", 0, train_fraction=0.1)
    add(tmp_path, "ner", "glove", 0, max_train=50)
    [group] = grouped()
    [whole] = group.whole
    assert not whole.partial
    shares = {row.label: group.share(row) for row in group.rows}
    assert shares == {
        "glove": 1.0,
        "glove, data.train_fraction=0.1": 339 / 3394,
        "glove, data.max_train=50": 50 / 3394,
    }


def test_part_of_unknown_data_makes_no_whole(tmp_path, grouped):
    add(tmp_path, "ner", "glove", 0, train_fraction=0.1)
    [group] = grouped()
    assert group.whole == []
    assert group.most is None
    assert group.share(group.rows[0]) == 0.1
