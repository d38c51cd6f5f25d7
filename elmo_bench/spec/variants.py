"""Rows of an experiment's table, its layout, and the paper's figures for its rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from elmo_bench.base.sources import as_list

# The modules of elmo_bench/reporting/layouts, one for each layout.
LAYOUTS = ("encoders", "fractions", "speed", "tuned", "variants", "weights")


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


def mapping_at(content: Mapping[str, Any], key: str) -> Mapping[Any, Any]:
    """The mapping at a key of a yaml; {} without one. Raises ValueError."""
    value = content.get(key) or {}
    if not isinstance(value, Mapping):
        raise ValueError(f"{key}: give a mapping")
    return value


def read_variants(content: Mapping[str, Any]) -> tuple[Variant, ...]:
    """The variants of a yaml. Raises ValueError."""
    variants = []
    for key, options in mapping_at(content, "variants").items():
        if not isinstance(options, Mapping):
            raise ValueError(f"variants.{key}: give a mapping of options")
        variants.append(_variant(str(key), **options))
    return tuple(variants)


def _variant(
    key: str, *, encoder: str | None = None, name: str = "", **options: Any
) -> Variant:
    return Variant(key, name or key, options, encoder)


def read_paper(content: Mapping[str, Any]) -> dict[str, PaperFigures]:
    """The paper's figures of a yaml, by task. Raises ValueError."""
    paper = {}
    for task, figures in mapping_at(content, "paper").items():
        is_mapping = isinstance(figures, Mapping)
        if not is_mapping or not {"scored", "figures"} <= figures.keys():
            raise ValueError(f"paper.{task}: give a mapping with scored and figures")
        paper[task] = _figures(**figures)
    return paper


def _figures(
    scored: str, figures: Mapping[str, Any], gain: float | None = None
) -> PaperFigures:
    printed = {str(key): Printed(*as_list(value)) for key, value in figures.items()}
    return PaperFigures(scored, printed, gain)


def read_layout(value: Any) -> str:
    """Raises ValueError unless the layout of a yaml is one of `LAYOUTS`."""
    if value not in LAYOUTS:
        names = ", ".join(LAYOUTS)
        raise ValueError(f"layout: {value!s:.60} is unknown. Choose one of: {names}")
    return str(value)


def read_references(value: Any) -> str | dict[str, tuple[str, ...]] | None:
    """The reference of a yaml: none, a variant, or the references of each variant."""
    if value is None:
        return None
    return read_mapping(value) if isinstance(value, Mapping) else str(value)


def read_mapping(value: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """One or several references of each variant."""
    references = {}
    for variant, others in value.items():
        references[str(variant)] = tuple(map(str, as_list(others)))
    return references
