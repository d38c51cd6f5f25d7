"""`key=value` options: reading them, writing them, and checking keys and kinds.

A wrong key, or a value of the wrong kind, is an error of one line.
"""

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
from elmo_bench.spec.tuning import TUNE

METRIC = "task.metric"  # the score that selects the epoch, on data of the user's own
LONGEST = 10_000  # characters of an option: parsing takes time
LONGEST_KEY = 200  # characters of a key: a group is a folder's name
# A value without a list or an interpolation.
_PATH = re.compile(r"[^'\"\\,\[\]{}$]+")
# A value that needs no quotes on the command line.
_PLAIN = re.compile(r"[\w./@+:-]+", re.ASCII)
# A value that would be read as another type than text.
_NOT_TEXT = re.compile(r"(?i)true|false|null|none|nan|[+-]?(inf|[\d_.]+(e[+-]?\d+)?)")
# Numbers of each size and head of a task, which no option proposes.
_CHOICES = ("task.sizes.", "task.heads.")
# What may replace a value of each kind, apart from null. Text may be replaced by
# anything, since a name or a path may look like a number.
_KINDS: dict[str, tuple[type, ...]] = {
    "true or false": (bool,),
    "a number": (int, float),
    "a list": (list, ListConfig),
    "values for its parts": (dict, DictConfig),
}
_UNREAD = (ValueType.GLOB_CHOICE_SWEEP, ValueType.INTERVAL_SWEEP)
# A number of steps, or the word epoch.
_EITHER = ("task.training.schedule.every",)


def parse(options: Sequence[str]) -> list[Override]:
    """Hydra's view of every option. Raises UserError for one that it cannot read."""
    parsed: list[Override] = []
    for option in options:
        parsed += _parse_one(option)
    return parsed


def _parse_one(option: str) -> list[Override]:
    key, _, value = option.partition("=")
    if len(option) > LONGEST or len(key) > LONGEST_KEY:
        raise UserError(
            f"an option of {len(option):,} characters: {option[:40]}…. "
            "Give a shorter one."
        )
    overrides = _overrides(option)
    if overrides:
        return overrides
    if _PATH.fullmatch(value):  # of letters or signs that Hydra wants in quotes
        path = os.path.expanduser(value)  # noqa: PTH111  # no shell expands ~ after =
        overrides = _overrides(f"{key}='{path}'")
    if not overrides:
        quoted = "a value with , [ ] { } or quotes as \"key='a,b'\""
        raise UserError(
            f"'{option}' is not a valid option: write key=value, and {quoted}"
        )
    return overrides


@cache
def _overrides(option: str) -> list[Override]:
    """What Hydra makes of an option.

    Nothing if Hydra cannot read it, and for `~key`, `glob(…)` and `interval(…)`.
    """
    with suppress(OverrideParseException, RecursionError):
        overrides = OverridesParser.create().parse_overrides([option])
        return [override for override in overrides if _is_supported(override)]
    return []


def _is_supported(override: Override) -> bool:
    if not override.key_or_group or override.is_delete():
        return False
    return override.value_type not in _UNREAD


def check_once(options: Sequence[str], *, single: bool = False) -> None:
    """Raises UserError for an option that is given twice, with different values.

    single: the command takes one value of each option. Others make a run of each value,
    and somebody who writes `seed=0 seed=1` wants both.
    """
    by_key: dict[str, list[str]] = {}
    for option in options:
        key, is_option, value = option.partition("=")
        if is_option:
            by_key.setdefault(key.lstrip("+"), []).append(value)
    for key, values in by_key.items():
        distinct = list(dict.fromkeys(values))
        if len(distinct) > 1:
            advice = f"Give all of its values at once: {key}={','.join(distinct)}"
            if single:
                advice = "Give it once."
            raise UserError(f"{key} is given {len(values)} times. {advice}")


def spelled(value: Any) -> str:
    """A value as `key=value` takes it.

    Examples: `true`, `null`, `0.1`, `[1,2]`, `word`, `'two words'`.
    """
    if not isinstance(value, str):
        return canonical(value)
    if _PLAIN.fullmatch(value) and not _NOT_TEXT.fullmatch(value):
        return value
    # Hydra reads a backslash as one unless a quote follows.
    doubled = re.sub(r"(\\+)(?='|$)", r"\1\1", value)
    escaped = doubled.replace("'", "\\'")
    return f"'{escaped}'"


def is_of_encoder_or_head(option: str) -> bool:
    """Whether an option belongs to the encoder or the head.

    All other options vary how these are trained.
    """
    return option == "head" or option.startswith("encoder.")


def dotted(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """The leaves of nested mappings.

    `{"mix": {"penalty": 1}}` becomes `{"mix.penalty": 1}`.
    """
    leaves: dict[str, Any] = {}
    for key, value in tree.items():
        path = f"{prefix}{key}"
        if isinstance(value, Mapping):
            leaves |= dotted(value, f"{path}.")
        else:
            leaves[path] = value
    return leaves


def nested(leaves: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """The mappings of the leaves that begin with a prefix: `dotted` backwards.

    Raises UserError for a leaf of a record that has a value and parts.
    """
    tree: dict[str, Any] = {}
    for key, value in leaves.items():
        if key.startswith(prefix):
            path = key.removeprefix(prefix).split(".")
            if not _insert(tree, path, value):
                raise UserError(
                    f"the record's setting {key:.60} is a part of another, or has parts"
                )
    return tree


def _insert(tree: dict[str, Any], path: list[str], value: Any) -> bool:
    """Put a value into nested dictionaries; False if another value is in the way."""
    *parents, last = path
    node = tree
    for parent in parents:
        node = node.setdefault(parent, {})
        if not isinstance(node, dict):
            return False
    if last in node:
        return False
    node[last] = value
    return True


def is_option(key: str, config: DictConfig) -> bool:
    """Whether a config has this key, whatever its value."""
    parent, _, last = key.rpartition(".")
    node = OmegaConf.select(config, parent) if parent else config
    return isinstance(node, DictConfig) and last in list(node)


def unknown_option(key: str, config: DictConfig) -> str:
    """One line for an unknown key.

    It lists the keys that exist at its level, or deeper keys that end with it.
    """
    if key == TUNE:
        return (
            f"{key}: no option of this encoder, which cannot be tuned. Choose one with "
            "a network that is trained by gradients: encoder=elmo, hf or minilm."
        )
    if key == METRIC:
        return (
            f"{key}: task={config.task.name} has one main score, which selects the "
            "epoch. Leave out the option."
        )
    *parents, last = key.split(".")
    node: Any = config
    path: list[str] = []
    for parent in parents:
        below = node.get(parent)
        if not isinstance(below, DictConfig):
            last = parent
            break
        node = below
        path.append(parent)
    keys = sorted(str(other) for other in node)
    problem = f"unknown option '{key}'"
    longer = [] if last.lower() in keys else _longer(key, config)
    if longer:
        return f"{problem} (did you mean {' or '.join(map(repr, longer))}?)"
    meant = _meant(key, last, path, keys, config)
    hint = f" (did you mean '{meant}'?)" if meant else ""
    level = f"'{'.'.join(path)}' has" if path else "the options are"
    return f"{problem}{hint}; {level}: {', '.join(keys)}"


def _longer(key: str, config: DictConfig) -> list[str]:
    """At most three options that end with these components, without regard to case.

    These are the options with the fewest components.
    """
    ending = f".{key.lower()}"
    names = [name for name in _proposals(config) if name.lower().endswith(ending)]
    fewest = min((name.count(".") for name in names), default=0)
    return [name for name in names if name.count(".") == fewest][:3]


def _meant(
    key: str, last: str, path: Sequence[str], keys: Sequence[str], config: DictConfig
) -> str | None:
    """The whole key that an unknown one resembles, if there is one.

    path: its components that exist. last: the first that does not. keys: at its level.
    """
    at_level = _closest(last, keys)
    has_unknown_group = not path and "." in key
    if at_level and not has_unknown_group:
        return ".".join([*path, at_level])
    endings = _endings(key, config)
    ending = _closest(key, endings)
    return endings[ending] if ending else at_level


def _endings(key: str, config: DictConfig) -> dict[str, str]:
    """The options by their last components, as many as a key has.

    Of several with one ending, the option with the fewest components.
    """
    count = key.count(".") + 1
    endings: dict[str, str] = {}
    for name in sorted(_proposals(config), key=lambda name: -name.count(".")):
        endings[".".join(name.split(".")[-count:])] = name
    return endings


def _proposals(config: DictConfig) -> list[str]:
    """All options, except the numbers of each size and head that other options use."""
    whole: Any = OmegaConf.to_container(config, resolve=False)
    return [name for name in dotted(whole) if not name.startswith(_CHOICES)]


def guess(word: str, names: Iterable[str]) -> str:
    """` (did you mean …?)`, or "" if no name is close, without regard to case."""
    name = _closest(word, names)
    return f" (did you mean '{name}'?)" if name else ""


def _closest(word: str, names: Iterable[str]) -> str | None:
    folded = {name.lower(): name for name in names}
    close = difflib.get_close_matches(word.lower(), folded, n=1)
    return folded[close[0]] if close else None


def check_kind(option: Override, plain: DictConfig) -> None:
    """Raises UserError where a value of another kind replaces a value of `plain`.

    The kinds are numbers, switches, lists and groups of values.
    """
    key = option.key_or_group
    value = option.value()
    if value is None or key in _EITHER:
        return
    try:
        before = OmegaConf.select(plain, key)
    except OmegaConfBaseException:  # the default is a value that the user has to give
        return
    kind = _kind(before)
    if kind is None or _is_of(kind, value):
        return
    if isinstance(before, DictConfig):
        part = str(next(iter(before)))
        key = f"{key}.{part}"
        before = before[part]
    example = json.dumps(before, default=list).replace(" ", "")
    raise UserError(f"{option.input_line}: give {kind}, such as {key}={example}")


def _kind(value: Any) -> str | None:
    """The kind of a value; None for text and null."""
    for kind, types in _KINDS.items():
        if isinstance(value, types):
            return kind
    return None


def _is_of(kind: str, value: Any) -> bool:
    if kind == "a number" and isinstance(value, bool):
        return False
    return isinstance(value, _KINDS[kind])
