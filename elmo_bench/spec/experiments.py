"""Experiments: named lists of runs, each defined once in `conf/experiment/<name>.yaml`; `Experiment` says its keys.

A variant without an encoder belongs to the last encoder of the sweep and, in reports, to any other encoder in the
ledger: they take its position. All rows of a table have the static vectors of their suite, or those that its variants
name (`encoder.vectors`, for a sweep of `suite.vectors`), where these are not their suite's. In the layout `encoders` a
variant may have a list of references, a test of each; other encoders in its position are compared with the first.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from elmo_bench.base.reading import reading
from elmo_bench.base.sources import as_list
from elmo_bench.spec.config import CONF, choices, config_file, experiment_yaml
from elmo_bench.spec.options import spelled
from elmo_bench.spec.run_spec import RunSpec
from elmo_bench.spec.settings import RATE, VECTORS

MAIN = "table1"  # compares encoders; its tasks are in the paper's order
FRACTION = ("data.train_fraction", "data.max_train", "data.least_steps")  # options that take a fraction of the data
SWEPT = ("task", "encoder", "seed", "suite", "size")  # options that are not part of a variant


@dataclass(frozen=True)
class Variant:
    """A row of an experiment's table: the options that its runs set, everything else being the default."""

    key: str  # in `reference` and `paper`
    name: str  # in the table
    options: dict[str, Any]
    encoder: str | None = None  # None: the encoder of the experiment, or any other in its position


@dataclass(frozen=True)
class Printed:
    """One figure of the paper."""

    mean: float
    sd: float | None = None  # over five seeds, if the paper prints it

    def __str__(self) -> str:
        figures = [figure for figure in (self.mean, self.sd) if figure is not None]
        digits = [1 if round(figure, 1) == figure else 2 for figure in figures]
        return " ± ".join(f"{figure:.{d}f}" for figure, d in zip(figures, (digits[0], max(digits)), strict=False))


@dataclass(frozen=True)
class PaperFigures:
    """What the paper prints for one task in one of its tables."""

    scored: str  # data set and split
    figures: dict[str, Printed]  # by variant
    gain: float | None = None


@dataclass(frozen=True)
class Experiment:
    """A file of `conf/experiment`: its name and its keys, of which `about` and `sweep` are needed."""

    name: str
    about: str  # one or two sentences, for the page and the list of experiments
    sweep: list[dict[str, list[Any]]]  # option: values, the runs are all combinations; or a list of such mappings
    caption: str = ""  # heading of its tables and section; without one, reports do not show the experiment
    order: float = float("inf")  # position of its section on the page; without one it follows the others, by name
    layout: str = "variants"  # a table a task; or another of elmo_bench/reporting/layouts, where `report` looks it up
    variants: tuple[Variant, ...] = ()  # rows of the table, in order: key, then options, `encoder` if fixed, and `name`
    axis: str = ""  # instead of variants: an option, each value of which is a row
    row: str = "{}"  # the key `name` of the yaml: what a row of the axis is called, with {} for the value
    heading: str = "variant"  # of the first column
    # The variant to compare with, or a mapping from each variant to another; null: the default run.
    reference: str | dict[str, tuple[str, ...]] | None = None
    over: str = ""  # what to call the reference; without it, the reference's encoder or variant
    least: int = 2  # how many variants of an encoder make a table
    without: tuple[str, ...] = ()  # encoders that are kept out of the table
    paper: dict[str, PaperFigures] = field(default_factory=dict)  # the paper's `scored`, `figures` and `gain`, by task

    @classmethod
    @cache
    def load(cls, name: str, folder: Path = CONF) -> "Experiment":
        """The experiment of this name. Raises UserError for an unknown name or a mistake in its file."""
        given = experiment_yaml(name, folder)
        path = config_file("experiment", name, folder)
        with reading(path, "an experiment", "See elmo_bench/spec/experiments.py for the keys."):
            return _parsed(name, given)

    def values(self, option: str) -> list[Any]:
        """What the runs of the sweep give an option, each value once; empty if it is not swept."""
        values: list[Any] = []
        for value in (value for part in self.sweep for value in part.get(option, ())):
            if value not in values:
                values.append(value)
        return values

    @property
    def encoder(self) -> str:
        """The encoder whose position others take."""
        return str((self.values("encoder") or ["elmo"])[-1])

    def references(self, variant: str) -> tuple[str, ...]:
        """The variants that a variant is compared with; none for a reference, and if it is the default run."""
        if isinstance(self.reference, dict):
            return self.reference.get(variant, ())
        return (self.reference,) if self.reference not in (None, variant) else ()  # type: ignore[return-value]

    @property
    def fixed(self) -> dict[str, Any]:
        """Options with a single value that every run of an axis has."""
        own = {option for part in self.sweep for option in part} - {*SWEPT, self.axis}
        single = {option: self.values(option) for option in own if all(option in part for part in self.sweep)}
        return {option: values[0] for option, values in single.items() if len(values) == 1}

    def variant_of(self, spec: RunSpec) -> Variant | None:
        """The variant that this run is, for any task, suite and size; None if it is not part of the experiment.

        A run on a fraction of the data is the same variant as the run on all of it, unless the experiment is about
        fractions.
        """
        if spec.encoder in self.without:
            return None
        given = () if self.axis in FRACTION else FRACTION
        changed = {option for option in spec.changes if option not in given}
        variation = {option for option in changed if not option.startswith("encoder.")}
        if VECTORS in changed and not any(VECTORS in variant.options for variant in self.variants):
            return None  # over other static vectors than the rows of this table
        if self.axis:
            return self._on_axis(spec, variation)
        fixed = {variant.encoder for variant in self.variants}
        for variant in self.variants:
            if variant.encoder is not None:
                fits = variant.encoder == spec.encoder and changed <= variant.options.keys()
                fits = fits and (VECTORS in changed or VECTORS not in variant.options)
            elif self.layout == "encoders":
                fits = variation <= variant.options.keys()
            else:  # another encoder takes the position only if it has layers too
                has_layers = "encoder.contextual.kind" in spec.settings and spec.encoder not in fixed
                fits = has_layers and variation <= variant.options.keys()
            if fits and all(spec.settings.get(option) == value for option, value in variant.options.items()):
                return variant
        return None

    def _on_axis(self, spec: RunSpec, variation: set[str]) -> Variant | None:
        settings, fixed = spec.settings, self.fixed
        option = RATE if self.axis == "lr_scale" else self.axis
        fits = all(settings.get(option, value) == value for option, value in fixed.items())
        free = {key for part in self.sweep for key in part if len(self.values(key)) > 1}
        if option not in settings or not fits or not variation <= {option, *fixed, *free}:
            return None
        value = spec.lr_scale if option == RATE else settings[option]
        return self._at(value) if isinstance(value, int | float) else None

    def _at(self, value: Any) -> Variant:
        return Variant(spelled(value), self.row.format(spelled(value)), {**self.fixed, self.axis: value})

    def position(self, encoder: str) -> tuple[int, str]:
        """The key by which a table of encoders is sorted: the variants first, then the others by name."""
        order = [variant.key for variant in self.variants]
        return order.index(encoder) if encoder in order else len(order), encoder

    def rank(self, variant: Variant) -> float:
        """The position of a variant in the table."""
        if self.axis:
            return float(variant.options[self.axis])
        return self.variants.index(variant)


def experiments() -> list[str]:
    """The names of all experiments, in the order of the page."""
    return sorted(choices("experiment"), key=lambda name: (Experiment.load(name).order, name))


def _parsed(name: str, given: dict[str, Any]) -> Experiment:
    """Raises ValueError (or KeyError, TypeError, AttributeError) for what is not an experiment."""
    if unknown := given.keys() - Experiment.__dataclass_fields__.keys() | given.keys() & {"row"}:
        raise ValueError(f"unknown key {', '.join(sorted(map(str, unknown)))}")
    keys = given | {"name": name, "row": given.get("name", "{}"), "without": tuple(given.get("without", ()))}
    keys["variants"] = tuple(_variant(str(key), **options) for key, options in given.get("variants", {}).items())
    keys["paper"] = {task: _paper(**figures) for task, figures in given.get("paper", {}).items()}
    if isinstance(reference := given.get("reference"), Mapping):
        keys["reference"] = {str(ours): tuple(map(str, as_list(theirs))) for ours, theirs in reference.items()}
    elif reference is not None:
        keys["reference"] = str(reference)
    experiment = Experiment(**keys)
    _check(experiment)
    return experiment


def _variant(key: str, *, encoder: str | None = None, name: str = "", **options: Any) -> Variant:
    return Variant(key, name or key, options, encoder)


def _paper(scored: str, figures: Mapping[str, Any], gain: float | None = None) -> PaperFigures:
    return PaperFigures(scored, {str(key): Printed(*as_list(value)) for key, value in figures.items()}, gain)


def _check(experiment: Experiment) -> None:
    """Raises ValueError for keys that contradict each other."""
    if not isinstance(experiment.order, int | float) or not isinstance(experiment.least, int):
        raise ValueError(f"order: {experiment.order!s:.60} or least: {experiment.least!s:.60} is not a number")
    swept = {option for part in experiment.sweep for option in part}
    if experiment.axis and (experiment.variants or experiment.axis not in swept):
        raise ValueError(f"axis: {experiment.axis} is not in the sweep, or there are variants too")
    if wrong := [each for each in experiment.values(experiment.axis) if not isinstance(each, int | float | None)]:
        raise ValueError(f"axis: {wrong[0]!r:.60} is not a number. Name its values as variants")
    keys = {variant.key for variant in experiment.variants} or {*map(str, experiment.values(experiment.axis))}
    reference = experiment.reference
    named = reference if isinstance(reference, dict) else {reference: ()} if reference else {}
    if experiment.layout != "encoders" and any(len(several) > 1 for several in named.values()):
        raise ValueError("reference: several for one variant, which only the layout encoders takes")
    used = {*named, *chain(*named.values()), *chain(*(paper.figures for paper in experiment.paper.values()))}
    if unknown := sorted(used - keys):
        raise ValueError(f"{', '.join(unknown)}: not among the variants, which are {', '.join(sorted(keys))}")
    allowed = swept | {"mix"} | ({VECTORS} if "suite.vectors" in swept else set())
    if wrong := sorted({option for variant in experiment.variants for option in variant.options} - allowed):
        raise ValueError(f"variants: {', '.join(wrong)} is not in the sweep")
