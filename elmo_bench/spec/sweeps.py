"""The runs of a sweep: combinations of the values of options, and of an experiment."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hydra.core.override_parser.types import Override

from elmo_bench.base.errors import UserError
from elmo_bench.base.json import canonical
from elmo_bench.spec.conf_files import CONF, experiment_yaml
from elmo_bench.spec.options import parse, spelled

LEDGER = Path("results/runs")  # of commands that name none
# The `key=value`s of each option, by its key; the runs are all combinations.
Product = dict[str, list[str]]


def sweep(options: Sequence[str] = (), *, folder: Path = CONF) -> list[list[list[str]]]:
    """The `key=value`s of every option, in order; the runs are their combinations.

    That is one product, or one for each mapping of the `sweep` of `experiment=NAME`,
    whose runs have its options and `+experiment=NAME`, the name alone. If the mappings
    list all values of an option that the user gives too, it selects among their runs;
    otherwise it replaces theirs. Raises UserError for a malformed option, an unknown
    experiment or more than one.
    """
    overrides = parse(options)
    asked = _experiments(overrides, folder)
    if len(asked) > 1 or any(_names_several(override) for override in asked):
        raise UserError("experiment=…: more than one. Start one sweep for each.")
    user = _product([override for override in overrides if override not in asked])
    name = asked[0].value() if asked else None
    if name is None:
        return [list(user.values())]
    products = _planned(name, folder)
    user = {
        option: _as_listed(values, _listed(products, option))
        for option, values in user.items()
    }
    # Options whose values the experiment lists, all of them: they select its runs.
    selecting = {
        option: values
        for option, values in user.items()
        if values and _listed(products, option) >= set(values)
    }
    products = _selected(products, selecting)
    _check_selected(products, selecting, name)
    for product in products:
        _override(product, user, selecting)
    return [list(product.values()) for product in products]


def _experiments(overrides: Sequence[Override], folder: Path) -> list[Override]:
    """The options `experiment=NAME`.

    `+experiment=NAME` adds no options: it names the experiment of a run.
    """
    if not (folder / "experiment").is_dir():
        return []
    return [
        override
        for override in overrides
        if override.key_or_group == "experiment" and not override.is_add()
    ]


def _names_several(override: Override) -> bool:
    return override.is_sweep_override() or isinstance(override.value(), list)


def _planned(name: Any, folder: Path) -> list[Product]:
    """The products of an experiment. Raises UserError."""
    products = []
    for part in experiment_yaml(name, folder)["sweep"]:
        options = []
        for option, values in {"+experiment": [name], **part}.items():
            spellings = ",".join(map(spelled, values))
            options.append(f"{option}={spellings}")
        products.append(_product(parse(options)))
    return products


def _product(overrides: Sequence[Override]) -> Product:
    """The values of each option; a key that is repeated keeps its position."""
    return {
        str(override.get_key_element()): _values(override) for override in overrides
    }


def _values(override: Override) -> list[str]:
    if not override.is_sweep_override():
        return [str(override.input_line)]
    key = override.get_key_element()
    return [f"{key}={value!s}" for value in override.sweep_string_iterator()]


def _listed(products: Sequence[Product], option: str) -> set[str]:
    """All values that the products have for an option."""
    values: set[str] = set()
    for product in products:
        values.update(product.get(option, ()))
    return values


def _as_listed(values: Sequence[str], listed: set[str]) -> list[str]:
    """The user's values of an option, spelled as in the list if they are equal.

    `0.30` and `3e-1` are `0.3`.
    """
    spellings = {_parsed(value): value for value in listed}
    return [spellings.get(_parsed(value), value) for value in values]


def _parsed(option: str) -> str:
    """`key=value` with the value in one spelling, or as it is if it has none."""
    [override] = parse([option])
    try:
        return f"{override.get_key_element()}={canonical(override.value())}"
    except (TypeError, ValueError):  # NaN
        return option


def _selected(products: Sequence[Product], selecting: Product) -> list[Product]:
    """The products that have one of the values of each selecting option."""
    selected = list(products)
    for option, values in selecting.items():
        selected = [
            product
            for product in selected
            if not set(values).isdisjoint(product.get(option, ()))
        ]
    return selected


def _check_selected(products: Sequence[Product], selecting: Product, name: Any) -> None:
    """Raises UserError for a value that no run has together with the other options."""
    for option, values in selecting.items():
        left = _listed(products, option)
        for value in values:
            if value not in left:
                raise UserError(
                    f"experiment={name}: no run with {value} and the other options. "
                    "Leave out the experiment."
                )


def _override(product: Product, user: Product, selecting: Product) -> None:
    """Put the user's options into a product of an experiment."""
    for option, values in user.items():
        if option in selecting:
            product[option] = [value for value in values if value in product[option]]
        else:
            product[option] = values


def sweep_logs(ledger: Any) -> str:
    """The folder for the logs of a sweep; for another ledger, a folder next to it."""
    path = Path(str(ledger)).expanduser()
    if path == LEDGER:
        return "results/sweeps"
    return str(path.parent / f"{path.absolute().name}-sweeps")
