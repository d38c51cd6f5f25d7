"""From what each item counts to figures: counts -> sums -> figures. A metric says each
of its figures once.

Training scores a split, a record is checked and a paired test leaves items out, all
three by the same functions of the task's metric. Counts and sums have a name each;
`items`, the number of items, is always among the sums.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from elmo_bench.base.errors import UserError

MACRO_F1 = "macro_f1"
FINE = 1_000_000  # outcomes are whole numbers, so a fraction is stored in millionths
FRACTION = "_num"  # ends the names of counts that are fractions
ITEMS = "items"
TYPE = "type:"  # begins the names of counts and figures by type: type:NAME.COUNT

Counts = Mapping[str, np.ndarray]  # [items] by name
Sums = Mapping[str, Any]  # of counts: numbers, or arrays [...], by name


class Counting(Protocol):
    """What a metric (`training/contracts.py`) counts, and the figures of it."""

    @property
    def main(self) -> str:
        """The figure that selects the epoch, from 0 to 100; higher is better."""

    @property
    def formula(self) -> str:
        """The name in records of how the main figure follows from the counts; a change
        of it takes a new name.
        """

    @property
    def summed(self) -> tuple[str, ...]:
        """The counts that the main figure follows from, with `items`: paired tests and
        slices sum these alone.
        """

    def counts(self, gold: Any, predicted: Any) -> dict[str, np.ndarray]:
        """What each item that a paired test may leave out counts: arrays [items] of
        whole numbers from 0, by name.

        A count that is a fraction has a name that ends in `_num`, and a count of one
        type is `type:NAME.COUNT` (`text.figures.count_types`). Other names have no dot.
        Raises ValueError unless there are as many of both.
        """

    def figures(self, sums: Sums) -> dict[str, Any]:
        """Every figure by its name, from sums of counts: of sums [...] arrays [...]; of
        whole numbers whole numbers.

        Percentages are unrounded, and 0 where there is nothing to divide by. The
        figures of a type are `type:NAME.FIGURE` (`text.figures.by_type`).
        """


def scores_of(metric: Counting, counts: Counts) -> dict[str, Any]:
    """The scores of items: {"overall": {figure: number}} and, where there are types,
    "by_type": {name: the same}.

    Raises UserError if there are no items, if a figure needs a count that is missing,
    and without the main figure or if it is not from 0 to 100.
    """
    sums = sums_of(metric, counts)
    if not sums[ITEMS]:
        raise UserError("no items, so there is nothing to score. Give some.")
    return scores_from(metric, sums)


def scores_from(metric: Counting, sums: Sums) -> dict[str, Any]:
    """The same from sums, which are numbers."""
    scores: dict[str, Any] = {"overall": {}}
    for name, value in _figures(metric, sums).items():
        row, figure = scores["overall"], name
        if name.startswith(TYPE):
            kind, figure = split_type(name)
            row = scores.setdefault("by_type", {}).setdefault(kind, {})
        is_plain = type(value) in (int, float)  # most are
        row[figure] = value if is_plain else np.asarray(value).item()
    if metric.main not in scores["overall"]:
        raise UserError(
            f"Metric.figures: no '{metric.main}', which is the main figure. Add it."
        )
    main = scores["overall"][metric.main]
    if not 0 <= main <= 100:
        raise UserError(
            f"Metric.figures: '{metric.main}', the main figure, is {main}. "
            "Give a number from 0 to 100, of which higher is better."
        )
    return scores


def table_of(metric: Counting, scores: Mapping[str, Any]) -> str:
    """The scores as text: by the metric's `table` or, without one, a line for each
    figure of all items.
    """
    if table := getattr(metric, "table", None):
        return table(scores)
    shown = {
        name: f"{value:.2f}" if isinstance(value, float) else value
        for name, value in scores["overall"].items()
    }
    return "\n".join(f"{name} {value}" for name, value in shown.items())


def sums_of(metric: Counting, counts: Counts) -> dict[str, Any]:
    """The sum over the items of each count."""
    types = {name: values for name, values in counts.items() if name.startswith(TYPE)}
    every = _per_item(
        metric, {name: values for name, values in counts.items() if name not in types}
    )
    return {name: _total(values) for name, values in (every | types).items()}


def summed_types(metric: Counting) -> tuple[str, ...]:
    """The counts that the main figure sums for each type, such as `gold` for each
    label; none for most metrics.
    """
    counts: tuple[str, ...] = getattr(metric, "summed_types", ())
    return counts


def summed_names(metric: Counting, counts: Iterable[Counts]) -> tuple[str, ...]:
    """The counts that the main figure follows from, `items` last.

    `summed`, then `summed_types` of each type that any of these runs has.
    """
    types = set()
    of_types = summed_types(metric)
    if of_types:
        for run in counts:
            types |= {split_type(name)[0] for name in run if name.startswith(TYPE)}
    names = [*metric.summed]
    for kind in sorted(types):
        names += [f"{TYPE}{kind}.{count}" for count in of_types]
    return *names, ITEMS


def columns(metric: Counting, counts: Counts, names: Sequence[str]) -> np.ndarray:
    """What paired tests sum over items: float64 [items, K].

    names: the K counts of `summed_names`; a type that the counts lack has 0. Raises
    UserError if another count is missing.
    """
    wanted = set(names)
    # Counts by type are many, and widening all of them takes a gigabyte.
    needed = {
        name: values
        for name, values in counts.items()
        if not name.startswith(TYPE) or name in wanted
    }
    every = _per_item(metric, needed)
    for name in names:
        if name.startswith(TYPE) and name not in every:
            every[name] = np.zeros_like(every[ITEMS])
    return np.stack([_present(every, name) for name in names], axis=1).astype(
        np.float64
    )


def main_figure(
    metric: Counting, names: Sequence[str]
) -> Callable[[np.ndarray], np.ndarray]:
    """The function from sums of `columns` [..., K] to the main figure [...].

    names: of the columns.
    """

    def main(sums: np.ndarray) -> np.ndarray:
        return _figures(metric, _by_name(names, sums))[metric.main]

    return main


def units_of(metric: Counting, counts: Counts) -> float:
    """How many decisions or gold units the counts are of."""
    names = (*metric.summed, ITEMS)
    sums = _by_name(names, columns(metric, counts, names).sum(axis=0))
    units = getattr(metric, "units", None)
    return float(units(sums) if units else sums[ITEMS])


@lru_cache(maxsize=10_000)  # the records of a ledger have the same types
def split_type(name: str) -> tuple[str, str]:
    """The two parts of `type:NAME.COUNT`; a NAME may have dots."""
    kind, _, count = name.removeprefix(TYPE).rpartition(".")
    return kind, count


def encoded(counts: Counts) -> dict[str, np.ndarray]:
    """Counts as they are stored: fractions in millionths."""
    return {
        name: np.rint(FINE * values).astype(np.uint64)
        if name.endswith(FRACTION)
        else values
        for name, values in counts.items()
    }


def decoded(outcomes: Sums) -> dict[str, Any]:
    """The counts, or sums of them, that were stored."""
    return {
        name: values / FINE if name.endswith(FRACTION) else values
        for name, values in outcomes.items()
    }


def measure(main: str, overall: Mapping[str, float]) -> str:
    """What a main score is called: `accuracy` for an F1 whose spans are all single
    tokens, such as of plain tags.
    """
    if main == MACRO_F1:
        return "macro-F1"
    plain = overall.get("tokens", -1) == overall.get("gold") == overall.get("guessed")
    return "accuracy" if main == "f1" and plain else main


def _per_item(metric: Counting, counts: Counts) -> dict[str, np.ndarray]:
    """The counts, what follows from them item by item, and `items`; in types that sums
    and differences fit.
    """
    every = {name: _widened(values) for name, values in counts.items()}
    items = len(next(iter(every.values()), ()))
    if derived := getattr(metric, "per_item", None):
        try:
            every |= {name: _widened(values) for name, values in derived(every).items()}
        except KeyError as error:
            raise _missing(error) from None
    return every | {ITEMS: np.ones(items, np.int64)}


def _total(values: np.ndarray) -> Any:
    """The sum; of fractions in their order, so that it has the same bits everywhere."""
    if values.dtype.kind == "f":
        return values.cumsum()[-1] if len(values) else 0.0
    return values.sum(dtype=np.int64)


def _widened(values: np.ndarray) -> np.ndarray:
    return values.astype(np.float64 if values.dtype.kind == "f" else np.int64)


def _figures(metric: Counting, sums: Sums) -> dict[str, Any]:
    try:
        return metric.figures(sums)
    except KeyError as error:
        raise _missing(error) from None


def _by_name(names: Sequence[str], sums: np.ndarray) -> Sums:
    """Sums of `columns`; all other counts are 0 there, so that figures that need them
    are 0 too, and unused.
    """
    return defaultdict(float, zip(names, np.moveaxis(sums, -1, 0), strict=True))


def _present(counts: Counts, name: str) -> np.ndarray:
    if name not in counts:
        raise _missing(name)
    return counts[name]


def _missing(name: object) -> UserError:
    return UserError(
        f"outcomes without {str(name)[:60]}. Run again with overwrite=true."
    )
