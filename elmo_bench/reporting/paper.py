"""The paper's figures, from `paper.yaml`: a column of their own beside ours, marked where the data is another."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

OTHER = "other data"


@dataclass(frozen=True)
class Printed:
    """One of the paper's figures."""

    mean: float
    sd: float | None = None  # over five seeds, where the paper says so

    def __str__(self) -> str:
        figures = [figure for figure in (self.mean, self.sd) if figure is not None]
        digits = 1 if all(round(figure, 1) == figure for figure in figures) else 2
        alone = 1 if round(self.mean, 1) == self.mean else 2
        return " ± ".join(f"{figure:.{alone if figure is self.mean else digits}f}" for figure in figures)


@dataclass(frozen=True)
class Column:
    """What the paper says of one task in one of its tables."""

    on: str  # data set and split
    variants: dict[str, Printed]
    gain: float | None = None
    mark: str = ""  # what to say beside figures of this suite; empty where the data is the paper's own

    @property
    def heading(self) -> str:
        """Names the data set, and says where it is not ours."""
        return f"paper: {self.on}" + (f" ({self.mark})" if self.mark else "")


@dataclass(frozen=True)
class About:
    """What a task is called and how its data is counted; a task that the paper has not is called by its name."""

    title: str
    unit: str = "examples"
    data: str = ""  # of this suite
    trained: int | None = None  # examples in the paper's training split


def about(task: str, suite: str) -> About:
    """The task's names."""
    known = _known().get(task)
    if known is None:
        return About(task)
    return About(known["title"], known["unit"], known["data"].get(suite, ""), known["trained"])


def in_paper_order(tasks: Iterable[str]) -> list[str]:
    """The paper's tasks as its table 1 has them, then the others by name."""
    order = list(_known())
    return sorted(tasks, key=lambda task: (order.index(task) if task in order else len(order), task))


def column(task: str, suite: str, table: str) -> Column | None:
    """The paper's figures for this task in this table; None where it has none."""
    known = _known().get(task, {})
    if table not in known:
        return None
    found = known[table]
    mark = "" if suite == "paper" else known.get("same", {}).get(suite, OTHER)
    return Column(
        found["scored"], {name: _printed(value) for name, value in found["variants"].items()}, found.get("gain"), mark
    )


def _printed(value: Any) -> Printed:
    return Printed(*value) if isinstance(value, list) else Printed(value)


@cache
def _known() -> dict[str, Any]:
    return yaml.safe_load(Path(__file__).with_name("paper.yaml").read_text(encoding="utf-8"))
