"""`key=value` options: reading them, writing them, and one line for a wrong key or a value of the wrong kind."""

import difflib
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, ValueType
from hydra.errors import OverrideParseException
from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from elmo_bench.base.errors import UserError
from elmo_bench.base.json import canonical

LONGEST, LONGEST_KEY = 10_000, 200  # characters of an option: parsing takes time, and a group is a folder's name
_PATH = re.compile(r"[^'\"\\,\[\]{}$]+")  # no list, no interpolation, one value
_PLAIN = re.compile(r"[\w./@+:-]+", re.ASCII)  # needs no quotes on the command line
_NOT_TEXT = re.compile(r"(?i)true|false|null|none|nan|[+-]?(inf|[\d_.]+(e[+-]?\d+)?)")  # would be read as another type
# What may replace a value of each kind, apart from null. Text may be replaced by anything, since a name or a path may
# look like a number.
_KINDS: dict[str, tuple[type, ...]] = {
    "true or false": (bool,),
    "a number": (int, float),
    "a list": (list, ListConfig),
    "values for its parts": (dict, DictConfig),
}
_UNREAD = (ValueType.GLOB_CHOICE_SWEEP, ValueType.INTERVAL_SWEEP)
_EITHER = ("task.training.schedule.every",)  # a number of steps, or the word epoch


def parse(options: Sequence[str]) -> list[Override]:
    """Hydra's view of every option. Raises UserError for one that it cannot read."""
    parsed: list[Override] = []
    for given in options:
        key, _, value = given.partition("=")
        if len(given) > LONGEST or len(key) > LONGEST_KEY:
            raise UserError(f"an option of {len(given):,} characters: {given[:40]}…. Give a shorter one.")
        read = _overrides(given)
        if not read and _PATH.fullmatch(value):  # of letters or signs that Hydra wants in quotes
            read = _overrides(f"{key}='{os.path.expanduser(value)}'")  # noqa: PTH111  # ~ after = is not the shell's
        if not read:
            quoted = "a value with , [ ] { } or quotes as \"key='a,b'\""
            raise UserError(f"'{given}' is not a valid option: write key=value, and {quoted}")
        parsed += read
    return parsed


@cache
def _overrides(given: str) -> list[Override]:
    """What Hydra makes of an option; nothing if it cannot read it, and for `~key`, `glob(…)` and `interval(…)`."""
    with suppress(OverrideParseException, RecursionError):
        read = OverridesParser.create().parse_overrides([given])
        return [each for each in read if each.key_or_group and not each.is_delete() and each.value_type not in _UNREAD]
    return []


def spelled(value: Any) -> str:
    """A value as `key=value` takes it: `true`, `null`, `0.1`, `[1,2]`, `word`, `'two words'`."""
    if not isinstance(value, str):
        return canonical(value)
    if _PLAIN.fullmatch(value) and not _NOT_TEXT.fullmatch(value):
        return value
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def dotted(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """The leaves of nested mappings: `{"mix": {"penalty": 1}}` becomes `{"mix.penalty": 1}`."""
    leaves: dict[str, Any] = {}
    for key, value in tree.items():
        leaves |= dotted(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {f"{prefix}{key}": value}
    return leaves


def is_option(key: str, config: DictConfig) -> bool:
    """Whether a config has this key, whatever its value."""
    parent, _, last = key.rpartition(".")
    node = OmegaConf.select(config, parent) if parent else config
    return isinstance(node, DictConfig) and last in list(node)


def unknown_option(key: str, config: DictConfig) -> str:
    """One line for an unknown key, with the keys that exist at its level, or the one that ends with it deeper down."""
    *parents, last = key.split(".")
    node: Any = config
    path: list[str] = []
    for part in parents:
        if not isinstance(node, DictConfig) or not isinstance(node.get(part), DictConfig):
            last = part
            break
        node, path = node[part], [*path, part]
    known = sorted(str(other) for other in node)
    if last.lower() not in known and (longer := _longer(key, config)):
        return f"unknown option '{key}' (did you mean {' or '.join(map(repr, longer))}?)"
    level = f"'{'.'.join(path)}' has" if path else "the options are"
    return f"unknown option '{key}'{guess(last, known)}; {level}: {', '.join(known)}"


def _longer(key: str, config: DictConfig) -> list[str]:
    """The options that end with these components, without regard to case: those with the fewest others before them."""
    whole: Any = OmegaConf.to_container(config, resolve=False)
    ends = [name for name in dotted(whole) if name.lower().endswith(f".{key.lower()}")]
    least = min((name.count(".") for name in ends), default=0)
    return [name for name in ends if name.count(".") == least][:3]


def guess(word: str, known: Iterable[str]) -> str:
    """` (did you mean …?)`, or nothing where no known word is close, without regard to case."""
    folded = {name.lower(): name for name in known}
    close = difflib.get_close_matches(word.lower(), folded, n=1)
    return f" (did you mean '{folded[close[0]]}'?)" if close else ""


def check_kind(option: Override, plain: DictConfig) -> None:
    """Raises UserError where something else replaces a number, a switch, a list or a group of values of `plain`."""
    key, value = option.key_or_group, option.value()
    try:
        before = OmegaConf.select(plain, key)
    except OmegaConfBaseException:  # the default is a value that the user has to give
        return
    kind = next((name for name, types in _KINDS.items() if isinstance(before, types)), None)
    wrong = kind and (not isinstance(value, _KINDS[kind]) or (kind == "a number" and isinstance(value, bool)))
    if wrong and key not in _EITHER and value is not None:
        if isinstance(before, DictConfig):
            part = str(next(iter(before)))
            key, before = f"{key}.{part}", before[part]
        example = json.dumps(before, default=list).replace(" ", "")
        raise UserError(f"{option.input_line}: give {kind}, such as {key}={example}")
