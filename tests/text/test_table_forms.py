"""Tables of the user: separators, endings and cells that some program writes, and limits."""

import datetime
import decimal
import gzip
import re
from pathlib import Path

import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.text import parquet_rows
from elmo_bench.text.csv_rows import _QUOTED
from elmo_bench.text.cut import _mirrored
from elmo_bench.text.labelled import Labelled
from elmo_bench.text.tables import read_table, write_table
from tests.hub import as_parquet
from tests.text.test_own_data import write


def test_cells_of_parquet_have_a_limit_although_they_are_packed(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet_rows, "MOST_CELLS", 2000)
    path = Path(write(tmp_path / "x.parquet", as_parquet({f"column {n}": [True] * 300 for n in range(10)})))
    with pytest.raises(UserError, match=r"x\.parquet: more than 2,000 cells\. Leave out columns or rows\."):
        read_table(path)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ('"Comment (free; optional; max. 100)",label\na,b\n', None),
        ('"Text\n(free, short)";label\na;b\n', None),
        ('"Text\n(free, short)";label\r\na;b\r\n', None),
        ('size 5";label\na;b\n', None),
        ("a;b\r1,2,3;4\r", [{"a": "1,2,3", "b": "4"}]),
        ('a "b;c\n1;2\n', [{'a "b': "1", "c": "2"}]),
    ],
)  # fmt: skip
def test_the_separator_is_found_in_the_names_of_the_columns_and_kept(tmp_path, text, rows):
    path = Path(write(tmp_path / "x.csv", text))
    read_rows = read_table(path)
    if rows:
        assert read_rows == rows
    else:
        assert [list(row.values()) for row in read_rows] == [["a", "b"]]
    write_table(tmp_path / "out.csv", read_rows, like=path)
    assert read_table(tmp_path / "out.csv") == read_rows
    last = (text.splitlines()[-1], text[-1])
    written = (tmp_path / "out.csv").read_bytes().decode()
    assert (written.splitlines()[-1], written[-1]) == last


def test_a_quoted_cell_is_what_it_was_before():
    before = re.compile(r'"(?:[^"]|"")*"')
    for number in range(4**6):
        text = "".join('"a\n '[number >> 2 * place & 3] for place in range(6))
        assert bool(_QUOTED.fullmatch(text)) == bool(before.fullmatch(text)), text


@pytest.mark.parametrize("name", ["x.csv.GZ", "x.CSV", "x.JSONL"])
def test_the_case_of_an_ending_does_not_matter(tmp_path, name):
    content = b'{"data": [1]}\n' if "JSON" in name else b"a,b\n1,2\n"
    (tmp_path / name).write_bytes(gzip.compress(content) if "GZ" in name else content)
    assert read_table(tmp_path / name) == [{"data": [1]} if "JSON" in name else {"a": "1", "b": "2"}]


@pytest.mark.parametrize("cell", [2**63, {}])
def test_cells_that_parquet_cannot_have_are_one_line_and_leave_the_file(tmp_path, cell):
    path = tmp_path / "out.parquet"
    path.write_text("as it was")
    with pytest.raises(UserError, match=r"out\.parquet: no Parquet table \(.*Give a name that ends in \.jsonl\."):
        write_table(path, [{"id": cell}, {"id": cell}])
    assert path.read_text() == "as it was"


def test_dates_and_decimals_have_no_marks_in_csv(tmp_path):
    row = {"day": datetime.date(2020, 1, 1), "price": decimal.Decimal("1.50"), "more": {"a": 1}}
    write_table(tmp_path / "out.csv", [row])
    assert read_table(tmp_path / "out.csv") == [{"day": "2020-01-01", "price": "1.50", "more": '{"a": 1}'}]


@pytest.mark.timeout(20)  # took an hour
def test_a_long_chain_of_swapped_pairs_is_cut_at_once():
    texts = [((str(number),), (str(number + 1),)) for number in reversed(range(30_000))]
    pairs = [Labelled(pair, "a", {}) for both in texts for pair in (both, both[::-1])]
    assert len(set(_mirrored(pairs).values())) == 1
