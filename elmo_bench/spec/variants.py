"""Rows of an experiment's table, and the paper's figures for them."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Variant:
    """A row of an experiment's table.

    Its runs set the options; everything else is the default.
    """

    key: str  # in `reference` and `paper`
    name: str  # in the table
    options: dict[str, Any]
    # None: the encoder of the experiment, or any other in its position.
    encoder: str | None = None


@dataclass(frozen=True)
class Printed:
    """One figure of the paper."""

    mean: float
    sd: float | None = None  # over five seeds, if the paper prints it

    def __str__(self) -> str:
        """With two digits, or with one if the paper prints no more."""
        digits = _digits(self.mean)
        mean = f"{self.mean:.{digits}f}"
        if self.sd is None:
            return mean
        digits = max(digits, _digits(self.sd))
        return f"{mean} ± {self.sd:.{digits}f}"


def _digits(figure: float) -> int:
    return 1 if round(figure, 1) == figure else 2


@dataclass(frozen=True)
class PaperFigures:
    """What the paper prints for one task in one of its tables."""

    scored: str  # data set and split
    figures: dict[str, Printed]  # by variant
    gain: float | None = None
