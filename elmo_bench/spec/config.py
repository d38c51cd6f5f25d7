"""Compose a config from `conf/` and `key=value` options; a mistake is one line that lists the good choices."""

import copy
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import hydra
import yaml
from hydra.core.override_parser.types import Glob, Override, OverrideType
from hydra.errors import HydraException
from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import (
    ConfigAttributeError,
    ConfigKeyError,
    MissingMandatoryValue,
    OmegaConfBaseException,
)

from elmo_bench.base.errors import UserError
from elmo_bench.base.include import config_folders
from elmo_bench.base.reading import reader, reading
from elmo_bench.spec.kinds import check_kind
from elmo_bench.spec.options import parse
from elmo_bench.spec.plain import sweep_of
from elmo_bench.spec.spelling import guess, spelled, unknown_option

CONF = Path(__file__).resolve().parents[1] / "conf"

NEEDED = {  # the keys of a choice that every run reads
    "task": ("name", "version", "data", "head", "vectors", "place", "mix", "training"),
    "encoder": ("name", "words", "vectors", "contextual"),
}


@reader
def compose(name: str, options: Sequence[str] = (), *, folder: Path = CONF) -> DictConfig:
    """The config `<folder>/<name>.yaml` with `key=value` options; nothing is missing and every interpolation resolves.

    `experiment=NAME` adds the options of `conf/experiment/NAME.yaml`. Raises UserError for an unknown key, group
    choice or experiment, a malformed option, a value of the wrong kind, and an option with several values.
    """
    parsed = parse(_one_run(options, folder))
    experiment = next((each for each in parsed if each.key_or_group == "experiment"), None)
    parsed = [each for each in parsed if each is not experiment]
    for each in parsed:
        _check_choice(each, folder)
    values = [each for each in parsed if not _is_group(each, folder)]
    if any(each.type != OverrideType.CHANGE for each in parsed):
        values = []  # `+key=` and `~key` act in the order in which they are given: all of it is left to Hydra
    plain = _composed(name, tuple(str(each.input_line) for each in parsed if each not in values), folder)
    for each in parsed:
        if _is_group(each, folder):
            _check_node(each, plain)
    config = copy.deepcopy(plain)
    if experiment is not None:
        config.experiment = experiment.value()
    for each in values:
        if each.key_or_group == "encoder.name":
            _check_name(each, plain)
        try:
            _copy_interpolated(config, each.key_or_group)
            OmegaConf.update(config, each.key_or_group, each.value())
        except (ConfigAttributeError, ConfigKeyError):
            raise UserError(unknown_option(each.key_or_group, plain)) from None
        except OmegaConfBaseException as error:
            raise UserError(f"{name}: {each.input_line}: {_first_line(error)}") from None
    try:
        OmegaConf.resolve(config)
        OmegaConf.to_container(config, throw_on_missing=True)
    except MissingMandatoryValue as error:
        raise UserError(f"{error.full_key} has no value; give {error.full_key}=…") from None
    except OmegaConfBaseException as error:
        raise UserError(f"{name}: {_first_line(error)}") from None
    for each in values:
        check_kind(each, plain, config)
    return config


def sweep(options: Sequence[str] = (), *, folder: Path = CONF) -> list[list[list[str]]]:
    """The `key=value`s of every option, in order; the runs of a sweep are their combinations.

    That is one product, or one for each mapping of the `sweep` of `experiment=NAME`. If the mappings list all values of
    an option that is given too, it selects among their runs; otherwise it replaces theirs. Raises UserError for a
    malformed option, an unknown experiment or more than one.
    """
    parsed = parse(options)
    if (folder / "experiment").is_dir():
        asked = [each for each in parsed if each.key_or_group == "experiment"]
        if len(asked) > 1 or any(each.is_sweep_override() for each in asked):
            raise UserError("experiment=…: more than one. Start one sweep for each.")
        rest = [each for each in parsed if each not in asked]
        name = asked[0].value() if asked else None
        parts = [] if name is None else experiment_yaml(name, folder)["sweep"]
        own = [parse([f"{key}={','.join(map(spelled, values))}" for key, values in part.items()]) for part in parts]
        products = [_product([*asked, *part], folder) for part in own or [[]]]
        for key, given in _product(rest, folder).items():
            listed = {value for product in products for value in product.get(key, ())}
            selects = bool(given) and listed.issuperset(given)
            if selects:
                products = [each for each in products if key not in each or {*given} & {*each[key]}]
            for product in products:
                chosen = [value for value in given if value in product.get(key, ())]
                product[key] = chosen if selects and key in product else given
        return [list(product.values()) for product in products]
    return [list(_product(parsed, folder).values())]


def _product(options: Sequence[Override], folder: Path) -> dict[str, list[str]]:
    """The values of each option by its key; a key that is repeated keeps its position."""
    return {str(each.get_key_element()): list(_values(each, folder)) for each in options}


@reader
def experiment_yaml(name: Any, folder: Path = CONF) -> dict[str, Any]:
    """`conf/experiment/<name>.yaml` as plain data, its sweep as `sweep_of` gives it.

    Raises UserError for an unknown name and a damaged file.
    """
    if name not in (known := choices("experiment", folder)):
        raise UserError(
            f"experiment={name}: unknown experiment; choose one of: {', '.join(known)}{guess(str(name), known)}"
        )
    path = config_file("experiment", name, folder)
    assert path is not None
    found = yaml_mapping(path, "about", "sweep")
    with reading(path, "an experiment", "See elmo_bench/spec/experiments.py for the keys."):
        return found | {"sweep": sweep_of(found)}


def choices(group: str, folder: Path = CONF) -> list[str]:
    """The names that a config group offers: the yaml files of `<folder>/<group>` and of included folders."""
    return sorted({path.stem for each in searched(folder) for path in (each / group).glob("*.yaml")})


def searched(folder: Path = CONF) -> list[Path]:
    """The folders of a config: the installation's configs are extended by the included folders, others by nothing."""
    return config_folders(folder) if folder == CONF else [folder]


def config_file(group: str, name: str, folder: Path = CONF) -> Path | None:
    """The yaml file of a choice, None if there is none."""
    return next((path for each in searched(folder) if (path := each / group / f"{name}.yaml").is_file()), None)


@cache
def task_yaml(task: str) -> dict[str, Any]:
    """`conf/task/<task>.yaml` as plain data, interpolations unresolved; {} if there is none."""
    path = config_file("task", task)
    return yaml_mapping(path) if path else {}


def yaml_mapping(path: Path, *keys: str) -> dict[str, Any]:
    """A yaml file that holds a mapping with at least these keys. Raises UserError."""
    with reading(path, "such a config", "See the others in its folder."):
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
        if not isinstance(found, dict) or not {*keys} <= found.keys():
            raise ValueError(f"it has at least the keys {' and '.join(keys)}" if keys else "not a mapping")
        return found


@cache
def _composed(name: str, options: tuple[str, ...], folder: Path) -> DictConfig:
    """The config for these options, without the values that `compose` sets. Callers copy it before they change it.

    Hydra takes 0.2 s for each combination of choices. So a choice of one plain node (no defaults list, no package) is
    put into a config that was composed without it, provided that nothing else changed the node of its group there.
    """
    chosen = dict(option.split("=", 1) for option in options if "=" in option)
    plain = {group: node for group, choice in chosen.items() if (node := _plain_node(group, choice, folder))}
    if not plain or not all((folder / group).is_dir() for group in chosen) or len(chosen) < len(options):
        return _by_hydra(name, options, folder)
    base = _by_hydra(name, tuple(f"{group}={chosen[group]}" for group in chosen if group not in plain), folder)
    if not all(_is_plain(base, group, folder) for group in plain):
        return _by_hydra(name, options, folder)
    config = copy.deepcopy(base)
    for group, node in plain.items():
        config[group] = node
    return config


@cache
def _plain_node(group: str, choice: str, folder: Path) -> DictConfig | None:
    """The node that a choice consists of; None without a file, or with a defaults list, a package or damage."""
    with suppress(OSError, UnicodeDecodeError, yaml.YAMLError):
        if path := config_file(group, choice, folder):
            text = path.read_text(encoding="utf-8")
            node = None if re.search("^(# *@package|defaults:)", text, re.MULTILINE) else OmegaConf.create(text)
            return node if isinstance(node, DictConfig) else None
    return None


def _is_plain(config: DictConfig, group: str, folder: Path) -> bool:
    """Whether the node of a group is just what one of its choices consists of."""
    nodes = (_plain_node(group, choice, folder) for choice in choices(group, folder))
    found = OmegaConf.to_container(config[group]) if group in config else None
    return any(node is not None and OmegaConf.to_container(node) == found for node in nodes)


@cache
def _by_hydra(name: str, options: tuple[str, ...], folder: Path) -> DictConfig:
    if not (folder / f"{name}.yaml").is_file():
        raise UserError(f"{folder}: no {name}.yaml here. Install elmo-bench again.")
    with hydra.initialize_config_dir(str(folder), version_base="1.3"):
        try:
            return hydra.compose(name, [*_search_path(folder), *options])
        except (HydraException, OmegaConfBaseException) as error:
            if found := re.search(r"Could not override '([\w.@/]+)'", str(error)):
                groups = [str(each.input_line) for each in parse(options) if _is_group(each, folder)]
                raise UserError(unknown_option(found[1], hydra.compose(name, groups))) from None
            raise UserError(f"{name}: {_first_line(error)}") from None
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            mark = getattr(error, "problem_mark", None)
            where = f"{mark.name}:{mark.line + 1}" if mark else f"{' '.join(options) or name}: a config"
            raise UserError(f"{where} is not YAML ({getattr(error, 'problem', error)}). Fix it.") from None


def _search_path(folder: Path) -> list[str]:
    others = ",".join(spelled(f"file://{each}") for each in searched(folder)[1:])
    return [f"hydra.searchpath=[{others}]"] if others else []


def _values(option: Override, folder: Path) -> Iterator[str]:
    if not option.is_sweep_override():
        yield str(option.input_line)
        return
    swept = option.value()
    found = (
        swept.filter(choices(option.key_or_group, folder))
        if isinstance(swept, Glob)
        else option.sweep_string_iterator()
    )
    for value in found:
        yield f"{option.get_key_element()}={value!s}"


def _one_run(options: Sequence[str], folder: Path) -> list[str]:
    """With those that an experiment adds; of several sweeps, that of a sweep whose options are all given."""
    products = sweep(options, folder=folder)
    if len(products) > 1:
        given = {str(each.get_key_element()) for each in parse(options)}
        products = [product for product in products if len(product) == len(given)] or products
    runs = [[_single(values) for values in product] for product in products]
    if any({*run} != {*runs[0]} for run in runs):
        raise UserError(f"{runs[0][0]} has {len(runs)} sweeps: use `sweep` (run.py -m), which makes the runs of each")
    return runs[0]


def _single(values: Sequence[str]) -> str:
    if len(values) != 1:
        key = values[0].partition("=")[0] if values else "a glob"
        raise UserError(f"{key} has {len(values)} values: use `sweep` (run.py -m), which makes a run of each")
    return values[0]


def _is_group(option: Override, folder: Path) -> bool:
    return (folder / option.key_or_group).is_dir()


def _check_name(option: Override, config: DictConfig) -> None:
    """Refuse a name except for `hf` and `precomputed`, which take one, and refuse the name of another encoder."""
    if not OmegaConf.is_missing(config.encoder, "name"):
        raise UserError(f"{option.input_line}: encoder.name is for encoder=hf. Other encoders are named by their yaml.")
    last = str(option.value()).rstrip("/").split("/")[-1]
    if (path := config_file("encoder", last)) and yaml_mapping(path).get("name") == last:
        raise UserError(f"{option.input_line}: tables would take it for encoder={last}. Rename the folder.")


def _check_choice(option: Override, folder: Path) -> None:
    group, value = option.key_or_group, option.value()
    if _is_group(option, folder) and value not in (known := choices(group, folder)):
        shown = spelled(value) if isinstance(value, (str, int, float, bool)) else value
        hint = guess(str(value), known)
        if not hint and group in ("task", "encoder"):
            hint = "; or give the folder that has it: --include FOLDER"
        raise UserError(f"{group}={shown}: unknown {group}; choose one of: {', '.join(known)}{hint}")


def _check_node(option: Override, config: DictConfig) -> None:
    """Raises UserError if the yaml that an option chooses is a list, or lacks a key that every run reads."""
    group = option.key_or_group
    if isinstance(node := config.get(group), ListConfig):
        raise UserError(f"{option.input_line}: a list, not a mapping. Write names and values into its yaml.")
    if lacking := [key for key in NEEDED.get(group, ()) if key not in list(node or ())]:
        raise UserError(f"{option.input_line}: its yaml has no {', '.join(lacking)}. See the others in conf/{group}.")


def _copy_interpolated(config: DictConfig, key: str) -> None:
    """Replace each interpolation on the way to `key` by a copy of its mapping, since its parts cannot be set."""
    node: Any = config
    for part in key.split(".")[:-1]:
        if isinstance(node, DictConfig) and OmegaConf.is_interpolation(node, part) and part in node:
            node[part] = copy.deepcopy(node[part])
        node = node.get(part) if isinstance(node, DictConfig) else None


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
