"""The rows of a frame, one after another; and frames that are quick to select from.

Our frames have 90 columns and few rows, and pandas is slow by the column: its own
`itertuples` and `to_dict` look up every column in each call, which takes ten times as
long, and each column of its type `str` is copied by itself.
"""

from collections import namedtuple
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # what a run prints at its end imports this module, and not pandas
    import pandas as pd


def rows_of(frame: "pd.DataFrame") -> Iterator[Any]:
    """The rows as named tuples of Python's own types; a column whose name is no name of
    Python is not among them.
    """
    make = _row_type(tuple(frame.columns))._make
    return map(make, frame.to_numpy(dtype=object).tolist())


def lines_of(frame: "pd.DataFrame") -> list[dict[str, Any]]:
    """The rows as dictionaries."""
    names = list(frame.columns)
    return [
        dict(zip(names, row, strict=True))
        for row in frame.to_numpy(dtype=object).tolist()
    ]


def with_plain_texts(frame: "pd.DataFrame") -> "pd.DataFrame":
    """The frame with texts as Python's own: all such columns are one block, which is
    copied at once.
    """
    texts = [name for name, kind in frame.dtypes.items() if kind == "str"]
    # which joins columns of a type
    return frame.astype(dict.fromkeys(texts, object)).copy()


@lru_cache(maxsize=100)
def _row_type(names: tuple[str, ...]) -> Any:
    return namedtuple("Row", names, rename=True)
