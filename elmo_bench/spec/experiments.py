"""Experiments: named lists of runs, each defined once in `conf/experiment/<name>.yaml`.

`Experiment` documents the keys of these files.

A variant without an encoder belongs to the last encoder of the sweep and, in reports,
to any other encoder in the ledger: they take its position. All rows of a table have the
static vectors of their suite, or those that its variants name (`encoder.vectors`, for a
sweep of `suite.vectors`), where these are not their suite's. A tuned encoder has a row
only if a variant sets `encoder.contextual.tune`. In the layout `encoders` a variant may
have a list of references, a test of each; other encoders in its position are compared
with the first.
"""

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from elmo_bench.base.reading import reading
from elmo_bench.base.sources import as_list
from elmo_bench.spec.conf_files import CONF, choices, config_file, experiment_yaml
from elmo_bench.spec.describe import rate_factor
from elmo_bench.spec.options import is_of_encoder_or_head, spelled
from elmo_bench.spec.run_spec import RunSpec
from elmo_bench.spec.settings import RATE, VECTORS
from elmo_bench.spec.tuning import TUNE
from elmo_bench.spec.variants import (
    PaperFigures,
    Variant,
    mapping_at,
    read_layout,
    read_mapping,
    read_paper,
    read_references,
    read_variants,
)

MAIN = "table1"  # compares encoders; its tasks are in the paper's order
# Options that take a fraction of the data.
FRACTION = ("data.train_fraction", "data.max_train", "data.least_steps", "quick")
# Options that are not part of a variant.
SWEPT = ("task", "encoder", "seed", "suite", "size")


@dataclass(frozen=True)
class Experiment:
    """A file of `conf/experiment`: its name and its keys.

    The keys `about` and `sweep` are needed.
    """

    name: str
    # One or two sentences, for the page and the list of experiments.
    about: str
    # {option: values}, the runs are all combinations; or a list of such mappings.
    sweep: list[dict[str, list[Any]]]
    # Heading of its tables and section. Without one, reports do not show it.
    caption: str = ""
    # Position of its section on the page. Without one it follows the others, by name.
    order: float = float("inf")
    # A table a task, or another of `variants.LAYOUTS`.
    layout: str = "variants"
    # Rows of the table, in order: key, then options, `encoder` if fixed, and `name`.
    variants: tuple[Variant, ...] = ()
    # Instead of variants: an option, each value of which is a row.
    axis: str = ""
    # The key `name` of the yaml: the name of a row of the axis, with {} for the value.
    row: str = "{}"
    # Heading of the first column.
    heading: str = "variant"
    # The variant to compare with, or a mapping from each variant to another; null: the
    # default run.
    reference: str | dict[str, tuple[str, ...]] | None = None
    # {family: {variant: references}} of tests that are judged apart from the others.
    families: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=dict)
    # What to call the reference. Without it, the reference's encoder or variant.
    over: str = ""
    # How many variants of an encoder make a table.
    least: int = 2
    # Encoders that are left out of the table.
    without: tuple[str, ...] = ()
    # The paper's `scored`, `figures` and `gain`, by task.
    paper: dict[str, PaperFigures] = field(default_factory=dict)

    @classmethod
    @cache
    def load(cls, name: str, folder: Path = CONF) -> "Experiment":
        """The experiment of this name.

        Raises UserError for an unknown name or a mistake in its file.
        """
        content = experiment_yaml(name, folder)
        path = config_file("experiment", name, folder)
        advice = "See elmo_bench/spec/experiments.py for the keys."
        with reading(path, "an experiment", advice):
            experiment = _parsed(name, content)
            _check(experiment)
            return experiment

    def values(self, option: str) -> list[Any]:
        """The values of an option in the sweep, each once; empty if it is not swept."""
        values: list[Any] = []
        for part in self.sweep:
            for value in part.get(option, ()):
                if value not in values:
                    values.append(value)
        return values

    @property
    def encoder(self) -> str:
        """The encoder whose position others take."""
        encoders = self.values("encoder") or ["elmo"]
        return str(encoders[-1])

    def references(self, variant: str) -> tuple[str, ...]:
        """The variants that a variant is compared with.

        None for a reference, and if the reference is the default run.
        """
        if isinstance(self.reference, dict):
            return self.reference.get(variant, ())
        if self.reference is None or self.reference == variant:
            return ()
        return (self.reference,)

    def family_of(self, variant: str, reference: str) -> str:
        """The family of a test of two variants; empty if `families` names none."""
        for family, tests in self.families.items():
            if reference in tests.get(variant, ()):
                return family
        return ""

    @property
    def swept(self) -> set[str]:
        """The options of the sweep."""
        return set().union(*self.sweep)

    @property
    def fixed(self) -> dict[str, Any]:
        """Options with a single value that every run of an axis has."""
        fixed: dict[str, Any] = {}
        for option in self.swept - {*SWEPT, self.axis}:
            values = self.values(option)
            in_all_parts = all(option in part for part in self.sweep)
            if in_all_parts and len(values) == 1:
                fixed[option] = values[0]
        return fixed

    def variant_of(self, spec: RunSpec) -> Variant | None:
        """The variant that this run is, for any task, suite and size.

        None if the run is not part of the experiment. A run on a fraction of the data
        is the same variant as the run on all of it, unless the experiment is about
        fractions.
        """
        if spec.encoder in self.without:
            return None
        is_about_fractions = self.axis in FRACTION
        ignored = () if is_about_fractions else FRACTION
        changed = spec.changes.keys() - set(ignored)
        if VECTORS in changed and not self._names(VECTORS):
            return None  # over other static vectors than the rows of this table
        if TUNE in spec.settings and not self._names(TUNE):
            return None  # no row of a table of frozen encoders
        if self.axis:
            return self._on_axis(spec, changed)
        for variant in self.variants:
            if _has_options(spec, variant) and self._fits(spec, variant, changed):
                return variant
        return None

    def _names(self, option: str) -> bool:
        return any(option in variant.options for variant in self.variants)

    def _fits(self, spec: RunSpec, variant: Variant, changed: set[str]) -> bool:
        """Whether a run differs from the default run in options of a variant alone.

        Its encoder is the variant's, or takes its position.
        """
        if variant.encoder is not None:
            if variant.encoder != spec.encoder or not changed <= variant.options.keys():
                return False
            return VECTORS in changed or VECTORS not in variant.options
        if not _besides_encoder(changed) <= variant.options.keys():
            return False
        if self.layout == "encoders":
            return True
        # Another encoder takes the position only if it has layers too.
        has_layers = "encoder.contextual.kind" in spec.settings
        encoders = {other.encoder for other in self.variants}
        return has_layers and spec.encoder not in encoders

    def _on_axis(self, spec: RunSpec, changed: set[str]) -> Variant | None:
        """The variant of a run in an experiment with an axis."""
        settings = spec.settings
        option = RATE if self.axis == "lr_scale" else self.axis
        fixed = self.fixed
        free = {key for key in self.swept if len(self.values(key)) > 1}
        if option not in settings:
            return None
        if not _besides_encoder(changed) <= {option, *fixed, *free}:
            return None
        for key, fixed_value in fixed.items():
            if settings.get(key, fixed_value) != fixed_value:
                return None
        value = rate_factor(spec) if option == RATE else settings[option]
        return self._at(value) if isinstance(value, int | float) else None

    def _at(self, value: Any) -> Variant:
        """The row of a value of the axis."""
        text = spelled(value)
        return Variant(text, self.row.format(text), {**self.fixed, self.axis: value})

    def position(self, encoder: str) -> tuple[int, str]:
        """The key by which a table of encoders is sorted.

        The variants come first, then the others by name.
        """
        order = [variant.key for variant in self.variants]
        if encoder in order:
            return order.index(encoder), encoder
        return len(order), encoder

    def row_order(self, variant: Variant) -> float:
        """The number by which the rows of a table of variants are sorted."""
        if self.axis:
            return float(variant.options[self.axis])
        return self.variants.index(variant)


def experiments() -> list[str]:
    """The names of all experiments, in the order of the page."""

    def order(name: str) -> tuple[float, str]:
        return Experiment.load(name).order, name

    return sorted(choices("experiment"), key=order)


def _has_options(spec: RunSpec, variant: Variant) -> bool:
    settings = spec.settings
    return all(settings.get(key) == value for key, value in variant.options.items())


def _besides_encoder(options: set[str]) -> set[str]:
    """The options that are neither the encoder's nor the head."""
    return {option for option in options if not is_of_encoder_or_head(option)}


def _parsed(name: str, content: dict[str, Any]) -> Experiment:
    """The experiment of a yaml.

    Raises ValueError, KeyError, TypeError or AttributeError for other content.
    """
    # `row` is called `name` in the yaml.
    unknown = content.keys() - Experiment.__dataclass_fields__.keys()
    unknown |= content.keys() & {"row"}
    if unknown:
        keys = ", ".join(sorted(map(str, unknown)))
        raise ValueError(f"unknown key {keys}")
    without = tuple(as_list(content.get("without", ())))
    families = {}
    for family, tests in mapping_at(content, "families").items():
        families[str(family)] = read_mapping(tests)
    fields = {
        **content,
        "name": name,
        "row": content.get("name", "{}"),
        "without": without,
        "layout": read_layout(content.get("layout", Experiment.layout)),
        "variants": read_variants(content),
        "paper": read_paper(content),
        "reference": read_references(content.get("reference")),
        "families": families,
    }
    return Experiment(**fields)


def _check(experiment: Experiment) -> None:
    """Raises ValueError for keys of another kind, or that contradict each other."""
    for key in ("about", "caption", "row", "heading", "over", "axis"):
        value = getattr(experiment, key)
        if not isinstance(value, str):
            raise ValueError(f"{key}: {value!s:.60} is not a text")
    order = experiment.order
    least = experiment.least
    if not isinstance(order, int | float) or not isinstance(least, int):
        raise ValueError(
            f"order: {order!s:.60} or least: {least!s:.60} is not a number"
        )
    _check_axis(experiment)
    _check_references(experiment)
    _check_options(experiment)


def _check_axis(experiment: Experiment) -> None:
    axis = experiment.axis
    if axis and (experiment.variants or axis not in experiment.swept):
        raise ValueError(f"axis: {axis} is not in the sweep, or there are variants too")
    for value in experiment.values(axis):
        if not isinstance(value, int | float | None):
            raise ValueError(
                f"axis: {value!r:.60} is not a number. Name its values as variants"
            )


def _check_references(experiment: Experiment) -> None:
    """Raise ValueError unless the references and the paper's figures name variants."""
    keys = {variant.key for variant in experiment.variants}
    if not keys:
        keys = set(map(str, experiment.values(experiment.axis)))
    names: set[str] = set()
    if isinstance(experiment.reference, dict):
        for variant, references in experiment.reference.items():
            if len(references) > 1 and experiment.layout != "encoders":
                raise ValueError(
                    "reference: several for one variant, "
                    "which only the layout encoders takes"
                )
            names |= {variant, *references}
    elif experiment.reference:
        names.add(experiment.reference)
    for tests in experiment.families.values():
        for variant, references in tests.items():
            untested = set(references) - set(experiment.references(variant))
            if untested:
                raise ValueError(
                    f"families: {variant} and {untested.pop()} are not in `reference`"
                )
    for paper in experiment.paper.values():
        names |= paper.figures.keys()
    unknown = ", ".join(sorted(names - keys))
    if unknown:
        variants = ", ".join(sorted(keys))
        raise ValueError(f"{unknown}: not among the variants, which are {variants}")


def _check_options(experiment: Experiment) -> None:
    """The variants set options of the sweep."""
    allowed = experiment.swept | {"mix"}
    if "suite.vectors" in experiment.swept:
        allowed.add(VECTORS)
    options: set[str] = set()
    for variant in experiment.variants:
        options |= variant.options.keys()
    unknown = ", ".join(sorted(options - allowed))
    if unknown:
        raise ValueError(f"variants: {unknown} is not in the sweep")
