"""Compose a config from `conf/` and `key=value` options.

A mistake is one line that lists the good choices.

A config is a yaml whose `defaults` name one choice of each group, a yaml of the group's
folder. In a choice, `defaults` may name others of its group that it extends, and
`override /GROUP: CHOICE`, which the user's own choice beats. With `# @package _global_`
its keys are keys of the whole config. These are Hydra's rules; Hydra reads the options.

One rule is our own: a task's yaml may have `heads`, by choice of the group `head`. They
are keys of the task that take the place of its own if that head is chosen.
"""

import copy
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from hydra.core.override_parser.types import Override
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import MissingMandatoryValue, OmegaConfBaseException

from elmo_bench.base.downloads import data_folder
from elmo_bench.base.errors import UserError
from elmo_bench.base.reading import reader
from elmo_bench.base.sources import own_suite
from elmo_bench.spec.allowed import check_allowed, may_be_new
from elmo_bench.spec.choice_checks import check_keys, check_names
from elmo_bench.spec.conf_files import (
    CONF,
    choices,
    config_file,
    copied,
    first_line,
    load_yaml,
)
from elmo_bench.spec.options import check_kind, guess, parse, unknown_option
from elmo_bench.spec.sweeps import sweep, sweep_logs
from elmo_bench.spec.task_files import put_head

# Nothing would read a new option of these groups. Below them are arguments of
# optimisers, heads and encoders, which check their arguments.
CHECKED = ("task", "encoder", "mix")


OmegaConf.register_new_resolver("data_folder", data_folder, replace=True)
OmegaConf.register_new_resolver("own_suite", own_suite, replace=True)
OmegaConf.register_new_resolver("sweep_logs", sweep_logs, replace=True)


@reader
def compose(
    name: str,
    options: Sequence[str] = (),
    *,
    folder: Path = CONF,
    can_sweep: bool = True,
) -> DictConfig:
    """The config `<folder>/<name>.yaml` with `key=value` options.

    Nothing is missing and every interpolation resolves. `experiment=NAME` adds the
    options of `conf/experiment/NAME.yaml`. Raises UserError for an unknown key, group
    choice or experiment, a malformed option, a value of the wrong kind, and an option
    with several values.

    can_sweep: whether `sweep` makes the runs of several values, which the error says.
    """
    chosen: dict[str, str] = {}
    values: list[Override] = []
    for override in parse(one_run(options, folder, can_sweep=can_sweep)):
        if _is_choice(override, folder):
            chosen[override.key_or_group] = _chosen(override)
        else:
            values.append(override)
    try:
        defaults = _composed(name, tuple(chosen.items()), folder)
        return _with_values(defaults, values)
    except MissingMandatoryValue as error:
        key = error.full_key
        raise UserError(f"{key} has no value; give {key}=…") from None
    except (OmegaConfBaseException, RecursionError) as error:
        raise UserError(f"{name}: {first_line(error)}") from None


@cache
def config_of(options: tuple[str, ...]) -> DictConfig:
    """The config of a default run, which many runs have in common.

    Callers do not change it. Raises UserError, as `compose`.
    """
    return compose("config", options)


@cache
def choice_yaml(group: str, choice: str) -> dict[str, Any]:
    """What a choice puts into the config, as plain data, interpolations unresolved.

    With what it extends, and without what it overrides. Callers do not change it.
    Raises UserError.
    """
    content, _ = _choice(group, choice, CONF)
    return OmegaConf.to_container(content)  # type: ignore[return-value]


def one_run(
    options: Sequence[str], folder: Path, *, can_sweep: bool = True
) -> list[str]:
    """The options, and those that an experiment adds.

    Raises UserError for the options of several runs.
    """
    how = "choose one"
    if can_sweep:
        how = "use `sweep` (run.py -m), which makes a run of each"
    product, *others = sweep(options, folder=folder)
    if others:
        experiment = product[0][0].removeprefix("+")
        raise UserError(f"{experiment} has several sweeps: {how}")
    single = []
    for values in product:
        if len(values) > 1:
            key = values[0].partition("=")[0]
            raise UserError(f"{key} has {len(values)} values: {how}. {_one_value(key)}")
        single += values
    return single


def _one_value(key: str) -> str:
    """How an option takes as one value what has a comma."""
    if not key.startswith("data."):
        return f"A list as one value is {key}=[…,…]."
    return (
        "Several files are a folder (data.file=FOLDER). "
        f"A name with a comma is in quotes: \"{key}='…,…'\"."
    )


def _is_choice(override: Override, folder: Path) -> bool:
    """Whether an option names a choice of a group."""
    group = override.key_or_group
    if group == "experiment" or override.package is not None:
        return False
    return (folder / group).is_dir()


def _chosen(override: Override) -> str:
    """The name of a choice, as typed if it looks like a number.

    Raises UserError for a list.
    """
    choice = override.value()
    if isinstance(choice, str):
        return choice
    if isinstance(choice, list):
        group = override.key_or_group
        values = ",".join(map(str, choice))
        raise UserError(
            f"{override.input_line}: one name is wanted, and this is a list. "
            f"`sweep {group}={values}` makes a run of each."
        )
    return str(override.input_line).partition("=")[2]


def _with_values(defaults: DictConfig, values: Sequence[Override]) -> DictConfig:
    """A resolved copy of a config with the user's values.

    Raises UserError and errors of OmegaConf.
    """
    config = copied(defaults)
    try:
        for override in values:
            if "\\${" in str(override.input_line):
                raise _with_reference(override)
            _set(config, override, defaults)
        OmegaConf.resolve(config)
    except OmegaConfBaseException:
        for override in values:
            if "${" in str(override.input_line):
                raise _with_reference(override) from None
        raise
    OmegaConf.to_container(config, throw_on_missing=True)
    return config


def _with_reference(override: Override) -> UserError:
    """The error for a value with `${…}` that names no key, as of a file."""
    return UserError(
        f"{override.input_line}: has ${{…}}, which is read as the value of another "
        "key. Give a value without it: rename the file or the folder."
    )


@cache
def _composed(
    name: str, chosen: tuple[tuple[str, str], ...], folder: Path
) -> DictConfig:
    """The config with these choices (group, name), interpolations unresolved.

    Callers copy it before they change it.
    """
    path = folder / f"{name}.yaml"
    if not path.is_file():
        raise UserError(f"{folder}: no {name}.yaml here. Install elmo-bench again.")
    content, defaults = load_yaml(path)
    used: dict[str, str] = {}
    for entry in defaults:
        if isinstance(entry, dict):
            used |= entry
    for group, _ in chosen:
        if group not in used:
            raise UserError(unknown_option(group, _composed(name, (), folder)))
    used |= chosen
    _override_choices(used, dict(chosen), folder)
    parts = [_choice(group, choice, folder)[0] for group, choice in used.items()]
    config = OmegaConf.merge(*parts, content)
    assert isinstance(config, DictConfig)
    check_keys(config, used)
    check_names(config, used)
    put_head(config, used)
    OmegaConf.set_struct(config, True)
    return config


def _override_choices(
    used: dict[str, str], chosen: Mapping[str, str], folder: Path
) -> None:
    """Carry out the `override /GROUP: CHOICE` of the choices that are used."""
    for group in list(used):
        _, overrides = _choice(group, used[group], folder)
        for other, choice in overrides.items():
            if other not in chosen:
                used[other] = choice


@cache
def _choice(group: str, choice: str, folder: Path) -> tuple[DictConfig, dict[str, str]]:
    """What a choice puts into the config, and the choices of other groups that it
    overrides, by group. Raises UserError."""
    path = config_file(group, choice, folder)
    content, defaults = load_yaml(path)
    parts: list[DictConfig] = []
    overrides: dict[str, str] = {}
    for entry in defaults:
        if isinstance(entry, dict):
            for key, value in entry.items():
                overrides[key.removeprefix("override /")] = str(value)
        elif entry != "_self_":
            extended = str(entry).partition("@")[0]
            parts.append(_choice(group, extended, folder)[0])
    is_global = "# @package _global_" in path.read_text(encoding="utf-8")
    parts.append(content if is_global else OmegaConf.create({group: content}))
    return OmegaConf.merge(*parts), overrides  # type: ignore[return-value]


def _set(config: DictConfig, override: Override, defaults: DictConfig) -> None:
    """Carry out `key=value` or `+key=value`.

    Raises UserError and errors of OmegaConf.
    """
    check_allowed(override, defaults)
    key = override.key_or_group
    adds = override.is_add() or override.is_force_add()
    is_new = not _has_key(config, key)
    if is_new and not (adds and may_be_new(key)):
        raise UserError(unknown_option(key, defaults))
    if is_new and key.startswith("mix."):
        _check_mix(key, config)
    if adds:
        _check_new(key)
    else:
        check_kind(override, defaults)
    OmegaConf.update(config, key, override.value(), force_add=adds)


def _has_key(config: DictConfig, key: str) -> bool:
    """Whether a config has a key.

    An interpolation on the way to it becomes a copy of its mapping, since parts of an
    interpolation cannot be set.
    """
    *parents, last = key.split(".")
    node: Any = config
    for parent in parents:
        if not isinstance(node, DictConfig) or parent not in node:
            return False
        if OmegaConf.is_interpolation(node, parent):
            node[parent] = copy.deepcopy(node[parent])
        node = node[parent]
    return isinstance(node, DictConfig) and last in list(node)


def _check_mix(key: str, config: DictConfig) -> None:
    """Refuse an option of other mixes, which the chosen mix would not read."""
    option = key.removeprefix("mix.")
    others = []
    for choice in choices("mix"):
        content, _ = _choice("mix", choice, CONF)
        if option in list(content.mix):  # also one that the user has to give
            others.append(f"mix={choice}")
    if others and f"mix={config.mix.kind}" not in others:
        raise UserError(
            f"+{key}: mix={config.mix.kind} does not read it. "
            f"Choose {' or '.join(others)}."
        )


def _check_new(key: str) -> None:
    """Refuse an option that no task, encoder or mix has: nothing would read it."""
    group = key.partition(".")[0]
    if group not in CHECKED:
        return
    parent = "task.training" if key.startswith("task.training.") else group
    name = key.removeprefix(f"{parent}.").partition(".")[0]
    names: set[str] = set()
    for choice in choices(group):
        config, _ = _choice(group, choice, CONF)
        node = OmegaConf.select(config, parent) or ()
        names.update(map(str, node))
    if name not in names:
        hint = guess(name, names)
        raise UserError(f"+{key}: nothing reads it{hint}. Remove the option.")
