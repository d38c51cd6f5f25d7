"""Checking plain JSON data against type hints: what the record promises is what the reader gets."""

import math
import types
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

from elmo_bench.base.errors import UserError

_SCALARS = {str: "a text", int: "a whole number", float: "a finite number", bool: "true or false", type(None): "null"}


def check(value: Any, hint: Any, where: str) -> None:
    """Raise UserError, naming the place inside `where`, unless `value` is JSON of the shape `hint`.

    Understands TypedDict (no key too few or too many), dict[str, X], list[X], X | None, Literal, str, int, bool,
    float (finite; whole numbers pass), and Any, which is whatever JSON can hold.
    """
    origin = get_origin(hint)
    if hint is Any:
        hint = dict[str, Any] if isinstance(value, dict) else list[Any] if isinstance(value, list) else type(value)
        if hint is type(value) and hint not in _SCALARS:
            raise UserError(f"{where}: {value!r} is not something that JSON can hold")
        check(value, hint, where)
    elif is_typeddict(hint):
        _check_keys(value, hint, where)
    elif origin is dict:
        _expect(isinstance(value, dict), value, "a mapping", where)
        for key, item in value.items():
            _expect(isinstance(key, str), key, "a text, as every key must be", where)
            check(item, get_args(hint)[1], f"{where}.{key}")
    elif origin is list:
        _expect(isinstance(value, list), value, "a list", where)
        for index, item in enumerate(value):
            check(item, get_args(hint)[0], f"{where}[{index}]")
    elif origin in (Union, types.UnionType):  # X | None
        if value is not None:
            check(value, next(arm for arm in get_args(hint) if arm is not type(None)), where)
    elif origin is Literal:
        _expect(value in get_args(hint), value, " or ".join(map(repr, get_args(hint))), where)
    elif hint is float:
        _expect(type(value) in (int, float) and math.isfinite(value), value, _SCALARS[float], where)
    else:
        _expect(type(value) is hint, value, _SCALARS[hint], where)


def _check_keys(value: Any, hint: Any, where: str) -> None:
    _expect(isinstance(value, dict), value, "a mapping", where)
    hints = get_type_hints(hint)
    if missing := sorted(hint.__required_keys__ - value.keys()):
        raise UserError(f"{where}: without its {', '.join(missing)}")
    if unknown := sorted(map(str, value.keys() - hints.keys())):
        raise UserError(f"{where}: unknown key {', '.join(unknown)}")
    for key, item in value.items():
        check(item, hints[key], f"{where}.{key}")


def _expect(fine: bool, value: Any, wanted: str, where: str) -> None:
    if not fine:
        raise UserError(f"{where}: {value!r:.60} is not {wanted}")
