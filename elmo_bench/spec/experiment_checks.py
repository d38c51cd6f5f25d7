"""What the file of an experiment may not say: see `Experiment`."""

from typing import TYPE_CHECKING

from elmo_bench.spec.settings import VECTORS

if TYPE_CHECKING:
    from elmo_bench.spec.experiments import Experiment

# The modules of elmo_bench/reporting/layouts, one for each layout.
LAYOUTS = ("encoders", "fractions", "speed", "tuned", "variants", "weights")


def check(experiment: "Experiment") -> None:
    """Raises ValueError for keys of another kind, or that contradict each other."""
    for key in ("about", "caption", "row", "heading", "over", "layout", "axis"):
        value = getattr(experiment, key)
        if not isinstance(value, str):
            raise ValueError(f"{key}: {value!s:.60} is not a text")
    if experiment.layout not in LAYOUTS:
        names = ", ".join(LAYOUTS)
        raise ValueError(
            f"layout: {experiment.layout:.60} is unknown. Choose one of: {names}"
        )
    order = experiment.order
    least = experiment.least
    if not isinstance(order, int | float) or not isinstance(least, int):
        raise ValueError(
            f"order: {order!s:.60} or least: {least!s:.60} is not a number"
        )
    _check_axis(experiment)
    _check_references(experiment)
    _check_options(experiment)


def _check_axis(experiment: "Experiment") -> None:
    axis = experiment.axis
    if axis and (experiment.variants or axis not in experiment.swept):
        raise ValueError(f"axis: {axis} is not in the sweep, or there are variants too")
    for value in experiment.values(axis):
        if not isinstance(value, int | float | None):
            raise ValueError(
                f"axis: {value!r:.60} is not a number. Name its values as variants"
            )


def _check_references(experiment: "Experiment") -> None:
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


def _check_options(experiment: "Experiment") -> None:
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
