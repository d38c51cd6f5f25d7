"""Checking JSON data against pydantic models and type hints."""

from functools import cache
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from elmo_bench.base.errors import UserError

_adapter: Any = cache(TypeAdapter)
_ABSENT_OR_UNKNOWN = ("missing", "extra_forbidden")


class Model(BaseModel):
    """JSON with these keys and no others. It cannot be changed.

    No value is converted; whole numbers pass as float.
    """

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    @classmethod
    def read(cls, value: Any, where: str) -> Self:
        """The model of plain data. Raises UserError as `check`."""
        model: Self = check(value, cls, where)
        return model

    def to_json(self) -> dict[str, Any]:
        """The plain data that the model was read from, keys in the model's order."""
        return self.model_dump(by_alias=True, exclude_unset=True)


def check(value: Any, hint: Any, where: str) -> Any:
    """The value of a type hint that plain data has.

    Raises UserError, naming the item inside `where`, for data of another shape.
    """
    try:
        return _adapter(hint).validate_python(value, strict=True, extra="forbid")
    except ValidationError as error:
        raise UserError(_described(error, where)) from None


def _described(error: ValidationError, where: str) -> str:
    """The first item that is wrong, and why."""
    wrong, *others = error.errors(include_url=False)
    path = list(wrong["loc"]) or [""]
    if others and others[0]["loc"][:-1] == wrong["loc"][:-1] and _is_of_union(wrong):
        wrong = others[0]  # what `int | float` says of a float
        path.pop()
    if wrong["type"] in _ABSENT_OR_UNKNOWN:
        key = str(path.pop())
        is_missing = wrong["type"] == "missing"
        why = f"{key:.60} missing" if is_missing else f"unknown key {key:.60}"
    else:
        message = wrong["msg"].replace("Input should", "should")
        why = f"{wrong['input']!r:.60} {message}"
    return f"{where}{''.join(map(_spelled, path))}: {why}"


def _is_of_union(wrong: Any) -> bool:
    """Whether this is what the first member of `int | float` says."""
    return str(wrong["loc"][-1]).endswith("int") and wrong["type"].startswith("int")


def _spelled(part: Any) -> str:
    """A key or an index on the way to an item."""
    if isinstance(part, int):
        return f"[{part}]"
    return f".{part:.60}" if part else ""
