"""Checking JSON data against type hints, so that a reader gets what the TypedDict promises."""

from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from elmo_bench.base.errors import UserError

_adapter: Any = cache(TypeAdapter)


def check(value: Any, hint: Any, where: str) -> None:
    """Raise UserError, naming the item inside `where`, unless `value` is JSON of the shape `hint`.

    A TypedDict has no key missing or unknown, and no value is converted; whole numbers pass as float. Its class comes
    from typing_extensions, as pydantic asks before Python 3.12.
    """
    try:
        _adapter(hint).validate_python(value, strict=True, extra="forbid")
    except ValidationError as error:
        wrong = error.errors(include_url=False)[0]
        *parents, last = path = wrong["loc"] or ("",)
        if wrong["type"] in ("missing", "extra_forbidden"):
            path = tuple(parents)
            why = f"{last:.60} missing" if wrong["type"] == "missing" else f"unknown key {last!s:.60}"
        else:
            why = f"{wrong['input']!r:.60} {wrong['msg'].replace('Input should', 'should')}"
        item = "".join(f"[{part}]" if isinstance(part, int) else f".{part:.60}" for part in path if part != "")
        raise UserError(f"{where}{item}: {why}") from None
