"""`rows_of` and `lines_of` give what pandas' own slower functions give."""

from math import isnan

import numpy as np
import pandas as pd
import pytest

from elmo_bench.reporting.rows import lines_of, rows_of, with_plain_texts, with_texts_of_python, with_types

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


TYPES = {"n": float, "x": object, "yes": object}


@pytest.mark.parametrize("types", [{}, {"x": object}, TYPES], ids=len)
def test_types_are_those_of_astype(types):
    frame = FRAMES["of all types"].set_axis(["k", "k"])
    pd.testing.assert_frame_equal(with_types(frame, types), frame.astype(types))


def test_a_changed_copy_leaves_the_frame_as_it_was():
    frame = FRAMES["of all types"].copy()
    changed = with_types(frame, {"n": int, "x": float})
    changed["n"] += 1
    changed.loc[:, "x"] = 9.0
    pd.testing.assert_frame_equal(frame, FRAMES["of all types"])


def test_texts_are_pythons_own_inside_and_as_before_outside():
    before = pd.get_option("mode.string_storage")

    @with_texts_of_python
    def storage_of(*texts):
        return pd.Series(texts, dtype="str").dtype.storage

    assert storage_of("a", "b") == "python"
    with pytest.raises(TypeError):  # it ends when the function fails, too
        storage_of(storage=1)
    assert pd.get_option("mode.string_storage") == before


def test_plain_texts_are_objects_and_what_is_missing_stays_so():
    frame = pd.DataFrame({"text": pd.Series(["a", None], dtype="str"), "n": [1, 2]})
    plain_frame = with_plain_texts(frame)
    assert list(plain_frame.dtypes) == [object, np.dtype("int64")]
    assert plain_frame.text.tolist()[0] == "a" and plain_frame.text.isna().tolist() == [False, True]
