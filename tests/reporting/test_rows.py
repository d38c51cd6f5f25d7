"""`rows_of` and `lines_of` give what pandas' own slower functions give."""

from math import isnan

import numpy as np
import pandas as pd
import pytest

from elmo_bench.reporting.rows import lines_of, rows_of

ALL_TYPES = {
    "n": [1, 2],
    "x": [0.5, float("nan")],
    "yes": [True, False],
    "text": pd.Series(["a", None], dtype=object),
}
FRAMES = {
    "of one type": pd.DataFrame({"a": [1, 2], "b": [3, 4]}),
    "of all types": pd.DataFrame(ALL_TYPES),
    "of lists and whole numbers with gaps": pd.DataFrame({"seeds": [(0, 1), (2,)], "count": pd.array([1, pd.NA])}),
    "with another index and columns that are no names": pd.DataFrame({"elmo mean": [1.5], "class": [2]}, index=["k"]),
    "without rows": pd.DataFrame({"a": [], "b": []}),
    "without columns": pd.DataFrame(index=[0, 1]),
}


def plain(value):
    """Comparable, with its type; of whole numbers with gaps pandas leaves numpy's, and None for what is missing."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or value is pd.NA:
        return "missing"
    return type(value), "missing" if isinstance(value, float) and isnan(value) else value


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_rows_are_those_of_pandas(frame):
    ours = [list(map(plain, row)) for row in rows_of(frame)]
    theirs = [list(map(plain, row)) for row in frame.itertuples(index=False)]
    assert ours == theirs
    lines = [{name: plain(value) for name, value in line.items()} for line in lines_of(frame)]
    assert lines == [{name: plain(value) for name, value in line.items()} for line in frame.to_dict("records")]


def test_a_row_has_its_columns_by_name():
    [first, second] = rows_of(FRAMES["of all types"])
    assert (first.n, first.x, first.yes, first.text) == (1, 0.5, True, "a")
    assert second.text is None
