"""Checking JSON data against type hints, so that a reader gets what the TypedDict promises."""

import math
import types
from collections.abc import Iterable
from functools import cache
from typing import Any, Literal, TypedDict, Union, get_args, get_origin, get_type_hints, is_typeddict

from elmo_bench.base.errors import UserError

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
        _check(value, hint)
    except _Mismatch as wrong:
        raise UserError(f"{where}{wrong.path}: {wrong.why}") from None


def _check(value: Any, hint: Any) -> None:
    kind, parts = _shape(hint)
    if kind is Any:
        kind = type(value)
        if kind not in (dict, list, *_SCALARS):
            raise _Mismatch(f"{value!r:.60} is not something that JSON can hold")
    if kind is Union:  # X | None
        if value is not None:
            _check(value, parts)
    elif kind is Literal:
        _expect(value in parts, value, " or ".join(map(repr, parts)))
    elif kind is list:
        _expect(type(value) is list, value, "a list")
        _check_items(((index, item, parts) for index, item in enumerate(value)), "[{}]")
    elif kind is TypedDict:
        _expect(type(value) is dict, value, "a mapping")
        _check_keys(value, *parts)
        _check_items(((key, item, parts[0][key]) for key, item in value.items()), ".{}")
    elif kind is dict:
        _expect(type(value) is dict, value, "a mapping")
        for key in value:
            _expect(type(key) is str, key, "a text, as every key must be")
        _check_items(((key, item, parts) for key, item in value.items()), ".{:.60}")
    else:
        _expect(_fits(value, kind), value, _SCALARS[kind])


def _fits(value: Any, kind: type) -> bool:
    found: Any = type(value)
    if found is int and kind in (int, float):
        return -_LARGEST <= value < _LARGEST
    return found is kind and (kind is not float or math.isfinite(value))


def _check_keys(value: dict[Any, Any], hints: dict[str, Any], required: frozenset[str]) -> None:
    if missing := required - value.keys():
        raise _Mismatch(f"{', '.join(sorted(missing)):.60} missing")
    if unknown := value.keys() - hints.keys():
        raise _Mismatch(f"unknown key {', '.join(sorted(map(str, unknown))):.60}")


def _check_items(items: Iterable[tuple[Any, Any, Any]], path: str) -> None:
    for key, item, hint in items:
        try:
            _check(item, hint)
        except _Mismatch as wrong:
            wrong.path = path.format(key) + wrong.path
            raise


@cache
def _shape(hint: Any) -> tuple[Any, Any]:
    """(kind, what its parts have to be): the hint of an item or of X | None, a Literal's values, a TypedDict's keys."""
    arguments, origin = get_args(hint), get_origin(hint)
    if is_typeddict(hint):
        return TypedDict, (get_type_hints(hint), frozenset(hint.__required_keys__))
    if origin in (Union, types.UnionType):
        return Union, next(arm for arm in arguments if arm is not type(None))
    if origin is Literal:
        return Literal, arguments
    return origin or hint, arguments[-1] if arguments else Any


def _expect(fine: bool, value: Any, wanted: str) -> None:
    if not fine:
        long = type(value) is int and abs(value) >= _LARGEST  # Python refuses to print very long ones
        raise _Mismatch(f"{'a whole number of more than 64 bits' if long else f'{value!r:.60}'} is not {wanted}")
