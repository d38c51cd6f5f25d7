"""Checking JSON data against type hints, so that a reader gets what the TypedDict promises."""

import math
import types
from collections.abc import Callable
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

from elmo_bench.base.errors import UserError

_Check = Callable[[Any], None]
_SCALARS = {str: "a text", int: "a whole number", float: "a finite number", bool: "true or false", type(None): "null"}
_LARGEST = 2**63


class _Mismatch(Exception):
    """`path` leads from the value to the wrong item; it grows on the way up, so that a correct value costs nothing."""

    def __init__(self, why: str, path: str = ""):
        self.why, self.path = why, path


def check(value: Any, hint: Any, where: str) -> None:
    """Raise UserError, naming the item inside `where`, unless `value` is JSON of the shape `hint`.

    Understands TypedDict (no key missing or unknown), dict[str, X], list[X], X | None, Literal, str, int (64 bits),
    bool, float (finite; whole numbers pass), and Any, which is whatever JSON can hold.
    """
    try:
        _compiled(hint)(value)
    except _Mismatch as wrong:
        raise UserError(f"{where}{wrong.path}: {wrong.why}") from None


@cache
def _compiled(hint: Any) -> _Check:
    """The check of a hint, made once: a ledger has thousands of records of one shape."""
    origin = get_origin(hint)
    if hint is Any:
        return _any
    if is_typeddict(hint):
        return _keys(hint)
    if origin is Literal:
        return _one_of(get_args(hint))
    if origin in (Union, types.UnionType):  # X | None
        return _optional(_compiled(next(arm for arm in get_args(hint) if arm is not type(None))))
    if origin in (dict, list):
        item = _compiled(get_args(hint)[-1])
        return _mapping(item) if origin is dict else _list(item)
    return _scalar(hint)


def _keys(hint: Any) -> _Check:
    checks = {key: _compiled(item) for key, item in get_type_hints(hint).items()}
    required = frozenset(hint.__required_keys__)

    def check_keys(value: Any) -> None:
        _expect(type(value) is dict, value, "a mapping")
        if not required <= value.keys():
            raise _Mismatch(f"{', '.join(sorted(required - value.keys()))} missing")
        if not value.keys() <= checks.keys():
            raise _Mismatch(f"unknown key {', '.join(sorted(map(str, value.keys() - checks.keys()))):.60}")
        try:
            for key, item in value.items():
                checks[key](item)
        except _Mismatch as wrong:
            wrong.path = f".{key}{wrong.path}"
            raise

    return check_keys


def _mapping(check_item: _Check) -> _Check:
    def check_mapping(value: Any) -> None:
        _expect(type(value) is dict, value, "a mapping")
        for key in value:
            _expect(type(key) is str, key, "a text, as every key must be")
        try:
            for key, item in value.items():  # noqa: B007
                check_item(item)
        except _Mismatch as wrong:
            wrong.path = f".{key:.60}{wrong.path}"
            raise

    return check_mapping


def _list(check_item: _Check) -> _Check:
    def check_list(value: Any) -> None:
        _expect(type(value) is list, value, "a list")
        try:
            for index, item in enumerate(value):  # noqa: B007
                check_item(item)
        except _Mismatch as wrong:
            wrong.path = f"[{index}]{wrong.path}"
            raise

    return check_list


def _optional(check_item: _Check) -> _Check:
    return lambda value: None if value is None else check_item(value)


def _one_of(values: tuple[Any, ...]) -> _Check:
    return lambda value: _expect(value in values, value, " or ".join(map(repr, values)))


def _scalar(kind: type) -> _Check:
    name = _SCALARS[kind]

    def check_scalar(value: Any) -> None:
        found: Any = type(value)
        if found is int and kind in (int, float):
            fine = -_LARGEST <= value < _LARGEST
        else:
            fine = found is kind and (kind is not float or math.isfinite(value))
        if not fine:
            raise _Mismatch(f"{_short(value)} is not {name}")

    return check_scalar


def _any(value: Any) -> None:
    if type(value) is dict:
        _compiled(dict[str, Any])(value)
    elif type(value) is list:
        _compiled(list[Any])(value)
    elif type(value) in _SCALARS:
        scalar: Any = type(value)
        _compiled(scalar)(value)
    else:
        raise _Mismatch(f"{value!r:.60} is not something that JSON can hold")


def _expect(fine: bool, value: Any, wanted: str) -> None:
    if not fine:
        raise _Mismatch(f"{_short(value)} is not {wanted}")


def _short(value: Any) -> str:
    if type(value) is int and abs(value) >= _LARGEST:  # Python refuses to print very long ones
        return "a whole number of more than 64 bits"
    return f"{value!r:.60}"
