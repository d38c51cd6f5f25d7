"""Composing a configuration, with errors that name the good choices in one line."""

import copy
import difflib
import importlib.util
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import hydra
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Glob, Override, OverrideType
from hydra.errors import HydraException, InstantiationException, OverrideParseException
from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import (
    ConfigAttributeError,
    ConfigKeyError,
    InterpolationToMissingValueError,
    MissingMandatoryValue,
    OmegaConfBaseException,
)

from elmo_bench.base.errors import UserError

# Hydra's launchers, which bring their own options (hydra.launcher.*), and the packages that they are in.
LAUNCHERS = {
    "basic": "hydra-core",
    "joblib": "hydra-joblib-launcher",
    "submitit_local": "hydra-submitit-launcher",
    "submitit_slurm": "hydra-submitit-launcher",
    "ray": "hydra-ray-launcher",
    "ray_aws": "hydra-ray-launcher",
}

# What a value of each kind may be replaced by, besides null; a number is no switch. A word may be replaced by anything,
# as a name or a path may look like a number.
KINDS: dict[str, tuple[type, ...]] = {
    "true or false": (bool,),
    "a number": (int, float),
    "a list": (ListConfig,),
    "values for its parts": (DictConfig,),
}
EITHER = ("task.training.schedule.every",)  # a number of steps, or the word epoch

CONF = Path(__file__).resolve().parent.parent / "conf"


def compose(name: str, overrides: Sequence[str] = (), *, folder: Path = CONF) -> DictConfig:
    """The config `<folder>/<name>.yaml` with `key=value` overrides, nothing missing, every interpolation resolvable.

    Raises UserError, in one line that lists the good ones, for an unknown key, group choice or malformed override.
    """
    if not (folder / f"{name}.yaml").is_file():
        raise UserError(f"{folder}: no {name}.yaml here; this runs from a clone of the project (pip install -e .)")
    parsed = _parse(overrides)
    for override in parsed:
        _check_choice(override, folder)
    moved = {override.key_or_group for override in parsed if override.type != OverrideType.CHANGE}  # + and ~: in order
    values = [override for override in parsed if _is_value(override, folder) and override.key_or_group not in moved]
    chosen = tuple(str(override.input_line) for override in parsed if override not in values)
    plain = _composed(name, chosen, folder)
    config = _with_values(name, plain, values)
    try:
        OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
    except MissingMandatoryValue as error:
        key = str(error.full_key)
        raise UserError(f"{name}: {key} has no value; give {key}=…") from None
    except OmegaConfBaseException as error:
        raise UserError(f"{name}: {_first_line(error)}") from None
    for override in values:
        _check_kind(override, plain, config)
    return config


@cache
def _composed(name: str, chosen: tuple[str, ...], folder: Path) -> DictConfig:
    """What Hydra makes of these choices, not to be changed: it takes long, and a sweep asks for the same again."""
    with _own_hydra(), hydra.initialize_config_dir(str(folder), version_base="1.3"):
        try:
            return hydra.compose(name, list(chosen))
        except (HydraException, OmegaConfBaseException) as error:
            groups = [str(override.input_line) for override in _parse(chosen) if _is_group(override, folder)]
            found = re.search(r"Could not override '([\w.@/]+)'", str(error))
            why = _unknown(found[1], hydra.compose(name, groups)) if found else f"{name}: {_first_line(error)}"
            raise UserError(why) from None


def _with_values(name: str, config: DictConfig, values: Iterable[Override]) -> DictConfig:
    """The config with other plain values, as Hydra puts them in. Raises UserError for an unknown key."""
    changed = copy.deepcopy(config)
    for override in values:
        try:
            OmegaConf.update(changed, override.key_or_group, override.value())
        except (ConfigAttributeError, ConfigKeyError):
            raise UserError(_unknown(override.key_or_group, config)) from None
        except OmegaConfBaseException as error:
            raise UserError(f"{name}: {override.input_line}: {_first_line(error)}") from None
    return changed


def _check_kind(override: Override, plain: DictConfig, config: DictConfig) -> None:
    """Raises UserError where a number, a switch, a list or a part is replaced by something else."""
    key = override.key_or_group
    if key in EITHER:
        return
    try:
        before, now = (OmegaConf.select(of, key, throw_on_missing=False) for of in (plain, config))
    except InterpolationToMissingValueError:  # it was to be another value, which has no default
        return
    kind = next((name for name, types in KINDS.items() if isinstance(before, types)), None)
    if kind and now is not None and not isinstance(now, KINDS[kind]):
        if isinstance(before, DictConfig):
            parts = {str(part): value for part, value in before.items()}
            part = next((part for part in parts if not part.startswith("_")), "_target_")
            key, before = f"{key}.{part}", parts.get(part)
        example = json.dumps(before, default=list).replace(" ", "")
        raise UserError(f"{override.input_line}: give {kind}, such as {key}={example}")


def sweep(name: str, overrides: Sequence[str] = (), *, folder: Path = CONF) -> list[list[str]]:
    """The `key=value`s of each key that a sweep with these overrides sets; its runs are their combinations.

    Those of the experiment's own sweep (hydra.sweeper.params) come first; an override of the same key takes their
    place, as in Hydra's sweeper. Raises UserError as `compose` does, but looks at the experiment alone.
    """
    given = _parse(overrides)
    chosen = [override for override in given if override.key_or_group == "experiment"]
    if any(override.is_sweep_override() for override in chosen):
        raise UserError("experiment=…: a sweep is of one experiment; start one sweep for each")
    params: dict[str, Any] = {}
    if chosen:
        names = [str(override.input_line) for override in chosen]
        with _own_hydra(), hydra.initialize_config_dir(str(folder), version_base="1.3"):
            for override in chosen:
                _check_choice(override, folder)
            params = hydra.compose(name, names, return_hydra_config=True).hydra.sweeper.params or {}
    values: dict[str, list[str]] = {}
    for override in [*_parse([f"{key}={value}" for key, value in params.items()]), *given]:
        # A key that comes again keeps its first place.
        values[override.get_key_element()] = list(_values(override))
    return list(values.values())


def check(name: str, overrides: Sequence[str], *, multirun: bool = True) -> list[DictConfig]:
    """Every value of every swept override, composed once, so that a misspelt one ends before the first run starts."""
    swept = sweep(name, overrides)
    if not multirun and (several := [values for values in swept if len(values) > 1]):
        key = several[0][0].partition("=")[0]
        raise UserError(f"{key} has {len(several[0])} values: add -m (python run.py -m …), which makes a run of each")
    first = [values[0] for values in swept]
    others = [(place, value) for place, values in enumerate(swept) for value in values[1:]]
    each = [first, *([*first[:place], value, *first[place + 1 :]] for place, value in others)]
    return [compose(name, values) for values in each]


def build(node: Any) -> Any:
    """The object that a config node's `_target_` makes (None of None).

    Raises UserError where there is no such target or its arguments do not fit; an error inside it comes as it is.
    """
    try:
        return hydra.utils.instantiate(node)
    except InstantiationException as error:
        if error.__cause__ is None or isinstance(error.__cause__, (ImportError, TypeError)):
            why = " ".join(str(error.__cause__ or error).split())
            raise UserError(f"{node.get('_target_')} cannot be made: {why}") from None
        raise error.__cause__ from None


@contextmanager
def _own_hydra() -> Iterator[None]:
    """Hydra's one global place, empty while the block runs: a run of `run.py` may compose another config."""
    outer = GlobalHydra.instance().hydra
    GlobalHydra.instance().clear()
    try:
        yield
    finally:
        GlobalHydra.instance().hydra = outer


def choices(group: str, folder: Path = CONF) -> list[str]:
    """The names that a config group offers: the yaml files of `<folder>/<group>`."""
    return sorted(path.stem for path in (folder / group).glob("*.yaml"))


def _parse(overrides: Sequence[str]) -> list[Override]:
    parsed: list[Override] = []
    for given in overrides:
        with suppress(OverrideParseException):
            parsed += [o for o in OverridesParser.create().parse_overrides([given]) if o.key_or_group]
    if len(parsed) < len(overrides):
        understood = {override.input_line for override in parsed}
        wrong = next(given for given in overrides if given not in understood)
        raise UserError(f"'{wrong}' is not a valid option: write key=value (quote values with spaces)")
    return parsed


def _values(override: Override) -> Iterator[str]:
    if not override.is_sweep_override():
        yield str(override.input_line)
        return
    swept = override.value()
    names = (
        swept.filter(choices(override.key_or_group)) if isinstance(swept, Glob) else override.sweep_string_iterator()
    )
    for value in names:
        yield f"{override.get_key_element()}={value}"


def _is_value(override: Override, folder: Path) -> bool:
    """Whether it puts one other value for a key of the config; groups, +, ~ and hydra.* are left to Hydra."""
    return (
        override.type == OverrideType.CHANGE
        and not override.is_sweep_override()
        and not override.key_or_group.startswith(("hydra.", "hydra/"))
        and not _is_group(override, folder)
    )


def _is_group(override: Override, folder: Path) -> bool:
    return (folder / override.key_or_group).is_dir()


def _plugin_is_missing(package: str) -> bool:
    if package == "hydra-core":
        return False
    try:
        return importlib.util.find_spec(f"hydra_plugins.{package.replace('-', '_')}") is None
    except ModuleNotFoundError:  # no plugin at all
        return True


def _check_choice(override: Override, folder: Path) -> None:
    group, value = override.key_or_group, override.value()
    known = choices(group, folder)
    if group == "hydra/launcher":
        if not isinstance(value, str) or value not in LAUNCHERS:
            raise UserError(f"{group}={value}: choose one of: {', '.join(LAUNCHERS)}{_guess(str(value), LAUNCHERS)}")
        if _plugin_is_missing(package := LAUNCHERS[value]):
            raise UserError(f"{group}={value}: needs the package {package} (see docs/experiments.md)")
    if _is_group(override, folder) and isinstance(value, str) and value not in known:
        raise UserError(f"{group}={value}: unknown {group}; choose one of: {', '.join(known)}{_guess(value, known)}")


def _unknown(key: str, config: DictConfig) -> str:
    """One line for an unknown key: the keys that stand at that place in the config without it."""
    *parents, last = key.split(".")
    node: Any = config
    path: list[str] = []
    for part in parents:
        if not isinstance(node, DictConfig) or not isinstance(node.get(part), DictConfig):
            last = part
            break
        node, path = node[part], [*path, part]
    known = sorted(str(other) for other in node)
    place = f"'{'.'.join(path)}' has" if path else "the options are"
    return f"unknown option '{key}'{_guess(last, known)}; {place}: {', '.join(known)}"


def _guess(word: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(word, list(known), n=1)
    return f" (did you mean '{close[0]}'?)" if close else ""


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
