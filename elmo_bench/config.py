"""Composing a configuration from `conf/`, with errors that name the good choices in one line."""

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import hydra
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException, OverrideParseException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from elmo_bench.errors import UserError

CONF = Path(__file__).resolve().parent.parent / "conf"


def compose(name: str, overrides: Sequence[str] = ()) -> DictConfig:
    """The config `conf/<name>.yaml` with `key=value` overrides, every interpolation resolvable.

    Raises UserError, in one line that lists the good ones, for an unknown key, group choice or malformed override.
    """
    if not (CONF / f"{name}.yaml").is_file():
        raise UserError(
            f"{CONF}: no {name}.yaml here; this command runs from a clone of the project (pip install -e .)"
        )
    GlobalHydra.instance().clear()
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        for override in _parse(overrides):
            _check_choices(override)
        try:
            config = hydra.compose(name, list(overrides))
        except (HydraException, OmegaConfBaseException) as error:
            raise UserError(_explain(name, error)) from None
    try:
        OmegaConf.to_container(config, resolve=True)
    except OmegaConfBaseException as error:
        raise UserError(f"{name}: {_first_line(error)}") from None
    return config


def check(name: str, overrides: Sequence[str]) -> None:
    """Compose every value of every swept override once, so that a misspelt one ends before the first run starts."""
    parsed = _parse(overrides)
    plain = [str(override.input_line) for override in parsed if not override.is_sweep_override()]
    first = [next(iter(_swept(override))) for override in parsed if override.is_sweep_override()]
    compose(name, plain + first)
    for index, override in enumerate(override for override in parsed if override.is_sweep_override()):
        for value in list(_swept(override))[1:]:
            compose(name, plain + first[:index] + [value] + first[index + 1 :])


def choices(group: str) -> list[str]:
    """The names that a config group offers: the yaml files of `conf/<group>`."""
    return sorted(path.stem for path in (CONF / group).glob("*.yaml"))


def _parse(overrides: Sequence[str]) -> list[Override]:
    try:
        return OverridesParser.create().parse_overrides(list(overrides))
    except OverrideParseException as error:
        raise UserError(
            f"'{error.override}' is not a valid option: write key=value (quote values with spaces)"
        ) from None


def _swept(override: Override) -> Iterator[str]:
    for value in override.sweep_string_iterator():
        yield f"{override.get_key_element()}={value}"


def _check_choices(override: Override) -> None:
    key, value = override.key_or_group, override.value()
    if (
        (CONF / key).is_dir()
        and isinstance(value, str)
        and value not in choices(key)
        and not override.is_sweep_override()
    ):
        raise UserError(
            f"{key}={value}: unknown {key}; choose one of: {', '.join(choices(key))}{_guess(value, choices(key))}"
        )


def _explain(name: str, error: Exception) -> str:
    """One line for an unknown key: the keys that stand at that place."""
    found = re.search(r"Could not override '([\w.@/]+)'", str(error))
    if not found:
        return f"{name}: {_first_line(error)}"
    key = found.group(1)
    config = hydra.compose(name)
    *parents, last = key.split(".")
    node: Any = config
    known_path: list[str] = []
    for part in parents:
        if not isinstance(node, DictConfig) or part not in node:
            last = part
            break
        node, known_path = node[part], [*known_path, part]
    known = [str(k) for k in node] if isinstance(node, DictConfig) else []
    known += [] if known_path else [path.name for path in CONF.iterdir() if path.is_dir() and path.name not in known]
    known = sorted(set(known))
    place = f"'{'.'.join(known_path)}' has" if known_path else "the options are"
    return f"unknown option '{key}'{_guess(last, known)}; {place}: {', '.join(known)}"


def _guess(word: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(word, list(known), n=1)
    return f" (did you mean '{close[0]}'?)" if close else ""


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
