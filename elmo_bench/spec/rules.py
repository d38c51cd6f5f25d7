"""Rules for the values of options: which values fit, and the error for the others."""

import re
from collections.abc import Callable, Sequence
from math import inf
from typing import Any

from omegaconf import DictConfig, OmegaConf

from elmo_bench.base.errors import UserError
from elmo_bench.base.json import canonical
from elmo_bench.spec.options import dotted

Fits = Callable[[Any], bool]
# What options take: (whether a value fits, what to give, the options).
Rules = tuple[tuple[Fits, str, tuple[str, ...]], ...]
_FOLDER_NAME = re.compile(r"\w[\w.+=-]*")  # as `ledger.RunPaths` takes it


def text(value: Any) -> bool:
    """Whether this is a text that is not empty."""
    return isinstance(value, str) and value != ""


def folder_name(value: Any) -> bool:
    """Whether a folder of the ledger may have this name, which may be a number."""
    if not isinstance(value, str | int):
        return False
    return _FOLDER_NAME.fullmatch(str(value)) is not None


def switch(value: Any) -> bool:
    """Whether this is true or false."""
    return isinstance(value, bool)


def number(
    low: float, high: float = inf, *, above: bool = False, whole: bool = False
) -> Fits:
    """A finite number from `low`, or `above` it, and below `high`.

    whole: an integer.
    """
    types = (int,) if whole else (int, float)

    def fits(value: Any) -> bool:
        if type(value) not in types:  # a bool is an int
            return False
        if above and value == low:
            return False
        return low <= value < high

    return fits


count = number(1, whole=True)
_finite = number(-inf, above=True)


def numbers(value: Any) -> bool:
    """Whether this is a list of finite numbers, such as [0, 1, 0]."""
    return isinstance(value, Sequence) and all(map(_finite, value))


def one_of(*values: str) -> tuple[Fits, str]:
    """The rule of an option that takes one of some names."""
    return values.__contains__, f"one of: {', '.join(values)}"


def joined_names(*names: str) -> tuple[Fits, str]:
    """The rule of an option that takes names with a plus between them."""

    def fits(value: Any) -> bool:
        return isinstance(value, str) and set(value.split("+")) <= {*names}

    return fits, f"one of {', '.join(names)}, or several with + between them"


def filters(value: Any) -> bool:
    """Whether this is a list of [width, number], such as [[3, 64]]."""
    if not isinstance(value, Sequence) or not value:
        return False
    return all(_filter(pair) for pair in value)


def _filter(pair: Any) -> bool:
    if not isinstance(pair, Sequence) or len(pair) != 2:
        return False
    return all(count(value) for value in pair)


def check_rules(config: DictConfig, rules: Rules, nullable: Sequence[str]) -> None:
    """Raises UserError for an option that breaks its rule, unless it is null and
    `nullable`, and for a number that no record can have."""
    for fits, wanted, options in rules:
        for option in options:
            value = OmegaConf.select(config, option)
            may_be_null = option in nullable
            is_right = may_be_null if value is None else fits(value)
            if value == "" and not is_right:
                raise UserError(f"{option}=: the value is empty. Give {wanted}.")
            if not is_right:
                written = "null" if value is None else value
                or_null = ", or null" if may_be_null else ""
                raise UserError(f"{option}={written}: give {wanted}{or_null}")
    plain: Any = OmegaConf.to_container(config, resolve=True)
    for option, value in dotted(plain).items():
        try:
            canonical(value)
        except ValueError:
            raise UserError(
                f"{option}={value}: give a finite number of at most 18 digits"
            ) from None
