"""The rows of a frame, one after another; and frames that are quick to select from.

Our frames have 90 columns and few rows, and pandas is slow by the column: its own
`itertuples` and `to_dict` look up every column in each call, which takes ten times as
long, and each column of its type `str` is copied by itself. Where pyarrow is installed,
pandas keeps new texts in its memory, and takes each out of it again.
"""

from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

if TYPE_CHECKING:
    # what a run prints at its end imports this module, and not pandas
    import pandas as pd

Given = ParamSpec("Given")
Result = TypeVar("Result")


def with_texts_of_python(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """The function, in which pandas keeps texts as Python's own: a report takes two
    thirds of the time.
    """

    @wraps(function)
    def carry_out(*arguments: Given.args, **options: Given.kwargs) -> Result:
        import pandas as pd

        with pd.option_context("mode.string_storage", "python"):
            return function(*arguments, **options)

    return carry_out


def rows_of(frame: "pd.DataFrame") -> Iterator[Any]:
    """The rows as named tuples of Python's own types; a column whose name is not a
    Python identifier is left out.
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
    return with_types(frame, dict.fromkeys(texts, object))


def with_types(frame: "pd.DataFrame", types: Mapping[Any, type]) -> "pd.DataFrame":
    """The frame, in which these columns have these types.

    Columns of one type become one block. `DataFrame.astype` copies each of the others
    by itself, which takes five times as long.
    """
    import pandas as pd

    columns = {}
    for name, kind in types.items():
        values = frame[name].to_numpy(dtype=kind, copy=True)
        # a bare array of objects would become pandas' type `str`, if all are texts
        columns[name] = pd.Series(values, frame.index, dtype=kind)
    others = frame.drop(columns=list(columns))
    changed = pd.DataFrame(columns, index=frame.index)
    return pd.concat([others, changed], axis=1)[list(frame.columns)].copy()


@lru_cache(maxsize=100)
def _row_type(names: tuple[str, ...]) -> Any:
    return namedtuple("Row", names, rename=True)
