"""The settings of a run: every option that can change its score, by its name on the command line.

The names are written here and in the yaml files, and nowhere in a Python class, so that renaming code changes no hash.
An option without effect on a run is left out: λ where no weights are learned, the mix if nothing is mixed.
`check_options` refuses what no run can have, before data and weights are read.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from elmo_bench.base.errors import UserError, redacted
from elmo_bench.spec.config import choices, compose, config_file, reads_own_data, task_yaml
from elmo_bench.spec.options import dotted, is_option, unknown_option

RATE = "task.training.optimizer.lr"  # `lr_scale` multiplies it
VECTORS = "encoder.vectors"  # the static vectors, or those whose width learned words have
VERSIONS = ("protocol", "task.version", "encoder.contextual.version")  # of code: a user does not choose them
_REFERENCE = re.compile(r"\$\{([\w.]+)\}")
# Left out of a spec at this value. An option that is added later is listed here with its default, so that older records
# keep their hash.
ABSENT: dict[str, Any] = {"task.training.patience": None}
FILES = ("weights", "inputs")  # of an encoder: only the last component of a path is part of a run
# Of data of the user's own: its files, of which only the last component is part of a run, and names of its columns.
OWN_FILES = ("file", "train", "dev", "test")
OWN_COLUMNS = ("text", "label", "tokens", "tags", "premise", "hypothesis")
OWN = (*OWN_FILES, *OWN_COLUMNS)


def settings_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """{option: value} of a resolved config."""
    task, trained = config["task"], config["task"]["training"]
    settings: dict[str, Any] = {
        "protocol": config["protocol"],
        "task.version": task["version"],
        "trainer.precision": config["trainer"]["precision"],
        **dotted(task["head"], "task.head."),
        **_optional("task.characters", task.get("characters")),
        **dotted({key: value for key, value in trained.items() if key not in ("schedule", "ema")}, "task.training."),
        **_optional("task.training.schedule", trained.get("schedule")),
        **_optional("task.training.ema", trained.get("ema")),
        **_data(config),
        **_encoder(config),
    }
    if (factor := config["lr_scale"]) != 1:
        if not isinstance(rate := settings.get(RATE), int | float):
            raise UserError(f"lr_scale={factor}: the task has no learning rate to multiply. Give {RATE}.")
        settings[RATE] = float(f"{rate * factor:.12g}")
    return {key: value for key, value in settings.items() if key not in ABSENT or value != ABSENT[key]}


def name_of(path: Any) -> str | None:
    """The last component of a path, address or repository: what a setting says of weights and vectors."""
    return None if path is None else Path(redacted(str(path))).name.replace("@", "+")


def _optional(option: str, part: Mapping[str, Any] | None) -> dict[str, Any]:
    return dotted(part, f"{option}.") if part else {option: None}


def _data(config: Mapping[str, Any]) -> dict[str, Any]:
    """How much of the data is used, and the options of its source that are not those in the task's yaml."""
    data, suite, given = config["data"], config["suite"]["name"], config["task"]["data"]
    used = {f"data.{key}": data[key] for key in ("train_fraction", "max_train")}
    if data["train_fraction"] != 1:  # an epoch reads the whole training split once
        used["data.least_steps"] = data["least_steps"]
    if reads_own_data(config["task"]["name"]):
        own = {key: name_of(data[key]) for key in OWN_FILES} | {key: data[key] for key in OWN_COLUMNS}
        used |= {f"data.{key}": value for key, value in own.items() if value is not None}
    known = task_yaml(config["task"]["name"]).get("data", {})
    source, usual = given.get(suite) or {}, dotted(known.get(suite) or {})
    if not isinstance(source, Mapping):
        raise UserError(f"task.data.{suite}={source}: give a mapping with the source and its options")
    for option, value in given.items():  # of every suite
        if not isinstance(value, Mapping) and value != _followed(known.get(option), config):
            used[f"task.data.{option}"] = value
    unused = ("fetch",) if source.get("source") == "hub" else ("fetch", "hub")
    ours = dotted({key: value for key, value in source.items() if key not in unused})
    return used | {f"task.data.{suite}.{k}": v for k, v in ours.items() if k not in usual or v != usual[k]}


def _followed(value: Any, config: Mapping[str, Any]) -> Any:
    """A value of a yaml; for `${a.b}`, what the config has there."""
    if not isinstance(value, str) or not (reference := _REFERENCE.fullmatch(value)):
        return value
    node: Any = config
    for key in reference[1].split("."):
        node = node[key]
    return node


def parts_of(contextual: Mapping[str, Any] | None) -> dict[str, dict[str, Any]]:
    """{name: options} of the contextual encoders: none, one with the name "", or the parts of a stack.

    Raises UserError for a stack of anything but named encoders.
    """
    if contextual is None:
        return {}
    if contextual.get("kind") != "stack":
        return {"": dict(contextual)}
    parts = contextual.get("parts")
    if not isinstance(parts, Mapping) or not parts or not all(map(str.isidentifier, map(str, parts))):
        raise UserError("encoder.contextual.parts: give each encoder of the stack a name of letters, digits and _")
    for name, options in parts.items():
        if not isinstance(options, Mapping) or options.get("kind") in (None, "stack"):
            raise UserError(f"encoder.contextual.parts.{name}: not the options of one encoder, with its kind")
    return {name: {"version": contextual.get("version"), **options} for name, options in parts.items()}


def _encoder(config: Mapping[str, Any]) -> dict[str, Any]:
    encoder, contextual = config["encoder"], config["encoder"]["contextual"]
    used: dict[str, Any] = {"encoder.words": encoder["words"]}
    if encoder["words"]:
        used[VECTORS] = name_of(encoder["vectors"])
    if encoder["words"] == "static":
        used["vectors.trainable"] = config["vectors"]["trainable"]
    if contextual is None:
        return used | {"encoder.contextual": None}
    for key, value in dotted(contextual).items():
        if (last := key.rpartition(".")[2]) != "device" and value is not None:
            shown = redacted(value) if isinstance(value, str) else value
            used[f"encoder.{key if key in encoder else f'contextual.{key}'}"] = (
                name_of(value) if last in FILES else shown
            )
    mix = config["mix"]
    kept = ["layer_norm", "dropout", "gamma"]
    kept += {"scalar": ["penalty"], "layer": ["layer"], "fixed": ["scalars"]}.get(mix["kind"], [])
    return used | {"place": config["place"], "mix": mix["kind"]} | {f"mix.{key}": mix[key] for key in kept}


_OPEN = ("task", "encoder", "mix", "launcher", "logger")  # `+key=value` may add an option to these


def _text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _number(low: float, high: float = inf, *, above: bool = False, whole: bool = False) -> Callable[[Any], bool]:
    """A finite number from `low`, or `above` it, and below `high`; `whole`: an integer."""
    kinds = (int,) if whole else (int, float)
    return lambda value: type(value) in kinds and low <= value < high and not (above and value == low)


def _filters(value: Any) -> bool:
    """Whether this is a list of [width, number], such as [[3, 64]]."""
    pairs = list(value) if isinstance(value, Sequence) else []
    return pairs != [] and all(
        isinstance(pair, Sequence) and len(pair) == 2 and all(map(_COUNT, pair)) for pair in pairs
    )


_COUNT, _POSITIVE = _number(1, whole=True), _number(0, above=True)
# (option, what fits, whether null fits too, what to give)
_RULES: tuple[tuple[str, Callable[[Any], bool], bool, str], ...] = (
    ("lr_scale", _POSITIVE, False, "give a number above 0"),
    ("seed", _number(0, 2**32, whole=True), False, f"give a whole number from 0 to {2**32 - 1}"),  # as numpy's
    ("ledger", _text, False, "give a folder, such as ./3"),
    ("encoder.name", _text, False, "give a name, or a folder, such as ./3"),
    ("encoder.weights", _text, True, "give a name, or a folder, such as ./3"),
    ("encoder.vectors", _text, True, "give a name, or a file, such as ./3"),
    ("data.root", _text, True, "give a folder, such as ./3"),
    ("store.max_gb", _number(0), True, "give a number from 0"),
    ("trainer.accelerator", ("cpu", "gpu").__contains__, False, "choose one of: cpu, gpu"),
    ("trainer.device", ("cpu", "cuda").__contains__, False, "choose one of: cpu, cuda"),
    ("trainer.precision", ("32-true", "bf16-mixed").__contains__, False, "choose one of: 32-true, bf16-mixed"),
    ("encoder.words", ("learned", "static").__contains__, True, "choose one of: learned, static, null"),
    ("place", ("input", "output", "both").__contains__, False, "choose one of: input, output, both"),
    ("mix.penalty", _number(0), False, "give a number from 0"),
    ("mix.dropout", _number(0, 1), False, "give a number from 0, below 1"),
    ("data.train_fraction", lambda value: value == 1 or _number(0, 1, above=True)(value), False,
     "give a number above 0, up to 1"),
    ("data.max_train", _COUNT, True, "give a whole number from 1, or null for no limit"),
    ("data.least_steps", _COUNT, True, "give a whole number from 1, or null"),
    ("task.training.epochs", _COUNT, False, "give a whole number from 1"),
    ("task.training.patience", _COUNT, True, "give a whole number from 1, or null for all epochs"),
    ("task.training.batch", _COUNT, False, "give a whole number from 1"),
    ("task.training.tokens", _COUNT, False, "give a whole number from 1"),
    ("task.training.clip", _POSITIVE, True, "give a number above 0, or null"),
    ("task.characters.dim", _COUNT, True, "give a whole number from 1"),
    ("task.characters.filters", _filters, True, "give pairs of a width and a number of filters, such as [[3,64]]"),
)  # fmt: skip


def check_options(config: DictConfig) -> None:
    """Raises UserError, in one line, for an option that no run can have, alone or together with the others."""
    for option, fits, null, wanted in _RULES:
        value = OmegaConf.select(config, option)
        if not (null if value is None else fits(value)):
            raise UserError(f"{option}={value}: {wanted}")
    data = config.data
    if data.least_steps is not None and data.max_train is not None and data.train_fraction == 1:
        raise UserError(
            f"data.least_steps={data.least_steps}: has no effect on data.max_train={data.max_train}. "
            "Use data.train_fraction, or remove data.least_steps."
        )
    _check_own(config)
    encoder, mix, ledger = config.encoder, config.mix.kind, Path(config.ledger)
    if file := next((path for path in (ledger, *ledger.parents) if path.is_file()), None):
        raise UserError(f"ledger={ledger}: {file} is a file; give a folder")
    if encoder.words and not encoder.vectors:
        raise UserError(
            f"encoder.vectors=null: encoder.words={encoder.words} needs a static table, which gives their width"
        )
    named = encoder.get("with_first") or {}  # {encoder: the name that it has with mix=first}
    others = [named.get(encoder.name)] if mix == "first" else [key for key in named if named[key] == encoder.name]
    if other := next(filter(None, others), None):
        same = f"encoder={other}" + ("" if mix == "first" else f" mix={mix}")
        raise UserError(f"encoder={encoder.name} mix={mix}: the same run as {same}. Use that name.")
    if any(options.get("stateful") for options in parts_of(encoder.contextual).values()) and config.store.mode != "off":
        raise UserError("encoder.contextual.stateful=true: vectors depend on the order of reading; add store=off")


def _check_own(config: DictConfig) -> None:
    """Data of the user's own: the options fit each other and the task. Raises UserError."""
    task, given = str(config.task.name), [key for key in OWN if config.data[key] is not None]
    if not reads_own_data(task):
        if given:
            own = ", ".join(filter(reads_own_data, choices("task")))
            raise UserError(f"data.{given[0]}: task={task} reads a suite. For data of your own: task={own}")
        return
    if wrong := [key for key in given if key not in config.task.data]:
        columns = ", ".join(f"data.{key}" for key in OWN_COLUMNS if key in config.task.data)
        raise UserError(f"data.{wrong[0]}: task={task} has no such column. It has: {columns}")
    if (config.data.file is None) == (config.data.train is None):
        raise UserError(f"task={task}: give data.file=FILE, or data.train=FILE (and data.dev=FILE data.test=FILE)")
    if config.data.file is not None and (config.data.dev is not None or config.data.test is not None):
        raise UserError("data.dev and data.test go with data.train, not with data.file")
    if wrong := [key for key in given if not _text(config.data[key])]:
        raise UserError(f"data.{wrong[0]}={config.data[wrong[0]]}: give a text, such as data.{wrong[0]}=\\'1\\'")
    if (name := str(config.suite.name)) != "own" and config_file("suite", name):
        raise UserError(f"suite {name}: the name of a suite, not of data of your own. Add suite.name=NAME.")


def check_given(options: Sequence[str]) -> None:
    """Raises UserError for a `key=value` that no run reads.

    That is one that sets a version of the code, which a record states as it is, and one that `+` adds where nothing
    looks for it, such as `+data.max_trian=5`.
    """
    for given in options:
        key = given.partition("=")[0].lstrip("+~")
        if key in VERSIONS:
            raise UserError(f"{given}: a version of the code, which no option changes. Remove the option.")
        if given.startswith("+") and key.split(".")[0] not in _OPEN:
            plain = compose("config")
            if not is_option(key, plain):
                raise UserError(unknown_option(key, plain))
