"""Compose a config from `conf/` and `key=value` options; a mistake is one line that lists the good choices.

A config is a yaml whose `defaults` name one choice of each group, a yaml of the group's folder. In a choice, `defaults`
may name others of its group that it extends, and `override /GROUP: CHOICE`, which the user's own choice beats. With
`# @package _global_` its keys are keys of the whole config. These are Hydra's rules; Hydra reads the options.
"""

import copy
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from hydra.core.override_parser.types import Override
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import MissingMandatoryValue, OmegaConfBaseException

from elmo_bench.base.errors import UserError
from elmo_bench.base.include import config_folders
from elmo_bench.base.reading import reader
from elmo_bench.base.sources import as_list, own_suite
from elmo_bench.spec.options import check_kind, guess, parse, spelled, unknown_option

CONF = Path(__file__).resolve().parents[1] / "conf"

NEEDED = {  # the keys of a choice that every run reads
    "task": ("name", "version", "data", "head", "vectors", "place", "mix", "training"),
    "encoder": ("name", "words", "vectors", "contextual"),
}
VERSIONS = ("protocol", "task.version", "encoder.contextual.version")  # of code: a user does not choose them
OPEN = ("task", "encoder", "mix", "launcher", "logger")  # `+key=value` may add an option to these

OmegaConf.register_new_resolver("own_suite", own_suite, replace=True)


@reader
def compose(name: str, options: Sequence[str] = (), *, folder: Path = CONF) -> DictConfig:
    """The config `<folder>/<name>.yaml` with `key=value` options; nothing is missing and every interpolation resolves.

    `experiment=NAME` adds the options of `conf/experiment/NAME.yaml`. Raises UserError for an unknown key, group
    choice or experiment, a malformed option, a value of the wrong kind, and an option with several values.
    """
    chosen: dict[str, str] = {}
    values: list[Override] = []
    for each in parse(_one_run(options, folder)):
        group, choice = each.key_or_group, each.value()
        if group != "experiment" and each.package is None and (folder / group).is_dir():
            chosen[group] = choice if isinstance(choice, str) else str(each.input_line).partition("=")[2]
        else:
            values.append(each)
    try:
        plain = _composed(name, tuple(chosen.items()), folder)
        config = copy.deepcopy(plain)
        for each in values:
            _set(config, each, plain)
        OmegaConf.resolve(config)
        OmegaConf.to_container(config, throw_on_missing=True)
    except MissingMandatoryValue as error:
        raise UserError(f"{error.full_key} has no value; give {error.full_key}=…") from None
    except (OmegaConfBaseException, RecursionError) as error:
        raise UserError(f"{name}: {_first_line(error)}") from None
    return config


def sweep(options: Sequence[str] = (), *, folder: Path = CONF) -> list[list[list[str]]]:
    """The `key=value`s of every option, in order; the runs of a sweep are their combinations.

    That is one product, or one for each mapping of the `sweep` of `experiment=NAME`, whose runs have its options and
    `+experiment=NAME`, the name alone. If the mappings list all values of an option that is given too, it selects among
    their runs; otherwise it replaces theirs. Raises UserError for a malformed option, an unknown experiment or more
    than one.
    """
    parsed = parse(options)
    named = parsed if (folder / "experiment").is_dir() else []
    asked = [each for each in named if each.key_or_group == "experiment" and not each.is_add()]
    if len(asked) > 1 or any(each.is_sweep_override() for each in asked):
        raise UserError("experiment=…: more than one. Start one sweep for each.")
    name = asked[0].value() if asked else None
    listed = [{}] if name is None else experiment_yaml(name, folder)["sweep"]
    parts = [({"+experiment": [name]} if name else {}) | part for part in listed]
    given = [[f"{key}={','.join(map(spelled, values))}" for key, values in part.items()] for part in parts]
    products = [_product(parse(each)) for each in given]
    own = _product([each for each in parsed if each not in asked])
    listed_of = {key: {value for product in products for value in product.get(key, ())} for key in own}
    selecting = {key: values for key, values in own.items() if values and listed_of[key] >= {*values}}
    for key, values in selecting.items():
        products = [product for product in products if {*values} & {*product.get(key, ())}]
    for key, values in selecting.items():
        if lost := next((value for value in values if not any(value in each[key] for each in products)), None):
            raise UserError(f"experiment={name}: no run with {lost} and the other options. Leave out the experiment.")
    for key, values in own.items():
        for product in products:
            product[key] = [value for value in values if value in product[key]] if key in selecting else values
    return [list(product.values()) for product in products]


def _product(options: Sequence[Override]) -> dict[str, list[str]]:
    """The values of each option by its key; a key that is repeated keeps its position."""
    return {str(each.get_key_element()): _values(each) for each in options}


def _values(option: Override) -> list[str]:
    if not option.is_sweep_override():
        return [str(option.input_line)]
    return [f"{option.get_key_element()}={value!s}" for value in option.sweep_string_iterator()]


@reader
def experiment_yaml(name: Any, folder: Path = CONF) -> dict[str, Any]:
    """`conf/experiment/<name>.yaml` as plain data, its sweep as a list of mappings from options to lists of values.

    Raises UserError for an unknown name and a damaged file.
    """
    path = config_file("experiment", name, folder)
    given = _plain(path)
    if lacking := {"about", "sweep"} - given.keys():
        raise UserError(f"{path}: no {' and '.join(sorted(lacking))}. See the others in its folder.")
    parts = as_list(given["sweep"])
    if not parts or not all(isinstance(part, dict) and all(isinstance(key, str) for key in part) for part in parts):
        raise UserError(f"{path}: sweep: not a mapping from options to values, or a list of them. Fix it.")
    return given | {"sweep": [{key: as_list(value) for key, value in part.items()} for part in parts]}


def choices(group: str, folder: Path = CONF) -> list[str]:
    """The names that a config group offers: the yaml files of `<folder>/<group>` and of included folders."""
    return sorted(_files(group, folder))


def config_file(group: str, name: Any, folder: Path = CONF) -> Path:
    """The yaml file of a choice. Raises UserError, with the names that the group offers, if there is none."""
    files = _files(group, folder)
    if name not in files:
        hint = guess(str(name), files)
        if not hint and group in ("task", "encoder"):
            hint = "; or give the folder that has it: --include FOLDER"
        raise UserError(f"{group}={name}: unknown {group}; choose one of: {', '.join(sorted(files))}{hint}")
    return files[name]


def _files(group: str, folder: Path) -> dict[str, Path]:
    """The yaml file of each choice; the installation's configs are extended by the included folders."""
    searched = config_folders(folder) if folder == CONF else [folder]
    return {path.stem: path for each in reversed(searched) for path in (each / group).glob("*.yaml")}


def reads_own_data(task: str) -> bool:
    """Whether a task reads data of the user's own (`data.file`) instead of suites."""
    return "file" in (task_yaml(task).get("data") or {})


def suite_tasks() -> list[str]:
    """The tasks that read suites, in order."""
    return [task for task in choices("task") if not reads_own_data(task)]


@cache
def task_yaml(task: str) -> dict[str, Any]:
    """`conf/task/<task>.yaml` as plain data, interpolations unresolved; {} if there is none."""
    path = _files("task", CONF).get(task)
    return _plain(path) if path else {}


def _plain(path: Path) -> dict[str, Any]:
    """The content of a yaml as plain data, interpolations unresolved. Raises UserError."""
    return _plain_once(path, path.read_bytes() if path.is_file() else b"")


@cache
def _plain_once(path: Path, _: bytes) -> dict[str, Any]:
    """Parsing an experiment's yaml would take a fifth of composing each run of it."""
    return OmegaConf.to_container(_loaded(path)[0])  # type: ignore[return-value]


@cache
def _composed(name: str, chosen: tuple[tuple[str, str], ...], folder: Path) -> DictConfig:
    """The config with these choices {group: name}, interpolations unresolved. Callers copy it before they change it."""
    path = folder / f"{name}.yaml"
    if not path.is_file():
        raise UserError(f"{folder}: no {name}.yaml here. Install elmo-bench again.")
    own, defaults = _loaded(path)
    used = {group: choice for each in defaults if isinstance(each, dict) for group, choice in each.items()}
    for group, _ in chosen:
        if group not in used:
            raise UserError(unknown_option(group, _composed(name, (), folder)))
    used |= chosen
    for group in list(used):
        for other, choice in _choice(group, used[group], folder)[1].items():
            if other not in dict(chosen):
                used[other] = choice
    config = OmegaConf.merge(*(_choice(group, choice, folder)[0] for group, choice in used.items()), own)
    assert isinstance(config, DictConfig)
    for group in used.keys() & NEEDED.keys():
        if lacking := [key for key in NEEDED[group] if key not in list(config[group] or ())]:
            raise UserError(f"{group}={used[group]}: its yaml has no {', '.join(lacking)}. See others in conf/{group}.")
    plain: Any = OmegaConf.to_container(config)
    for group in used.keys() & {"suite", "encoder"}:  # a run is known by this name
        named = str(plain[group].get("name"))
        if named != used[group] and not named.startswith(("???", "${")):
            raise UserError(f"{group}={used[group]}: its yaml has name: {named:.60}. Give file and name one name.")
    OmegaConf.set_struct(config, True)
    return config


@cache
def _choice(group: str, choice: str, folder: Path) -> tuple[DictConfig, dict[str, str]]:
    """What a choice puts into the config, and {other group: choice} that it overrides. Raises UserError."""
    path = config_file(group, choice, folder)
    own, defaults = _loaded(path)
    parts: list[DictConfig] = []
    overrides: dict[str, str] = {}
    for each in defaults:
        if isinstance(each, dict):
            overrides |= {key.removeprefix("override /"): str(value) for key, value in each.items()}
        elif each != "_self_":
            parts.append(_choice(group, str(each).partition("@")[0], folder)[0])
    is_whole = "# @package _global_" in path.read_text(encoding="utf-8")
    return OmegaConf.merge(*parts, own if is_whole else OmegaConf.create({group: own})), overrides  # type: ignore[return-value]


def _loaded(path: Path) -> tuple[DictConfig, list[Any]]:
    """(the content of a yaml, its `defaults`). Raises UserError."""
    try:
        own = OmegaConf.load(path)
    except (yaml.YAMLError, UnicodeDecodeError, OSError, OmegaConfBaseException, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark else f"{path}"
        why = getattr(error, "problem", _first_line(error))
        raise UserError(f"{where} cannot be read as YAML ({why}). Fix it.") from None
    if not isinstance(own, DictConfig):
        raise UserError(f"{path}: a list, not a mapping. Write names and values into it.")
    defaults = OmegaConf.to_container(OmegaConf.create({"list": own.pop("defaults", [])}))["list"]  # type: ignore[call-overload, index]
    if not isinstance(defaults, list) or not all(isinstance(each, str | dict) for each in defaults):
        raise UserError(f"{path}: defaults is not a list of names. See the others in its folder.")
    return own, defaults


def _one_run(options: Sequence[str], folder: Path) -> list[str]:
    """The options, and those that an experiment adds."""
    product, *more = sweep(options, folder=folder)
    if more:
        raise UserError(f"{product[0][0][1:]} has several sweeps: use `sweep` (run.py -m), which makes their runs")
    for values in (values for values in product if len(values) > 1):
        key = values[0].partition("=")[0]
        said = f"{key} has {len(values)} values: use `sweep` (run.py -m), which makes a run of each"
        raise UserError(f"{said}. A list as one value is {key}=[…,…].")
    return [value for [value] in product]


def _set(config: DictConfig, option: Override, plain: DictConfig) -> None:
    """Carry out `key=value` or `+key=value`. Raises UserError and errors of OmegaConf."""
    key = option.key_or_group
    if key in (*VERSIONS, "task.name", "task.head.name"):
        raise UserError(f"{option.input_line}: comes with the code or with task=. Remove the option.")
    if key == "encoder.contextual" and option.value() is None:
        raise UserError(f"{option.input_line}: leaves an encoder without its layers. Choose encoder=glove.")
    if key == "encoder.name":
        _check_name(option, plain)
    *parents, last = key.split(".")
    node: Any = config
    for part in parents:  # an interpolation on the way becomes a copy of its mapping, since its parts cannot be set
        if not isinstance(node, DictConfig) or part not in node:
            node = None
            break
        if OmegaConf.is_interpolation(node, part):
            node[part] = copy.deepcopy(node[part])
        node = node[part]
    adds = option.is_add() or option.is_force_add()
    if not (isinstance(node, DictConfig) and last in list(node)) and not (adds and parents and parents[0] in OPEN):
        raise UserError(unknown_option(key, plain))
    _check_new(key) if adds else check_kind(option, plain)
    OmegaConf.update(config, key, option.value(), force_add=adds)


def _check_new(key: str) -> None:
    """Refuse an option that no task, encoder or mix has, so that nothing would read it."""
    group, above = key.partition(".")[0], "task.training" if key.startswith("task.training.") else key.partition(".")[0]
    if group not in ("task", "encoder", "mix"):  # and below are arguments of optimisers, heads and encoders
        return
    nodes = (OmegaConf.select(_choice(group, each, CONF)[0], above) or () for each in choices(group))
    name, known = key.removeprefix(f"{above}.").partition(".")[0], {str(each) for node in nodes for each in node}
    if name not in known:
        raise UserError(f"+{key}: nothing reads it{guess(name, known)}. Remove the option.")


def _check_name(option: Override, config: DictConfig) -> None:
    """Refuse a name except for `hf` and `precomputed`, which take one, and refuse the name of another encoder."""
    if not OmegaConf.is_missing(config.encoder, "name"):
        raise UserError(f"{option.input_line}: encoder.name is for encoder=hf. Other encoders are named by their yaml.")
    last = str(option.value()).rstrip("/").split("/")[-1]
    if (path := _files("encoder", CONF).get(last)) and _plain(path).get("name") == last:
        raise UserError(f"{option.input_line}: tables would take it for encoder={last}. Rename the folder.")


def _first_line(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "too many lists or mappings inside each other"
    return str(error).strip().splitlines()[0]
