"""The settings of a run: every option that can change its score, by its name on the command line.

The names are written here and in the yaml files, and nowhere in a Python class, so that renaming code changes no hash.
An option without effect on a run is left out: λ where no weights are learned, the mix if nothing is mixed.
`check_run` refuses what no run can have, before data and weights are read.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from math import inf, nextafter
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from elmo_bench.base.errors import UserError, redacted
from elmo_bench.base.json import canonical
from elmo_bench.spec.config import choices, reads_own_data, task_yaml
from elmo_bench.spec.options import dotted

RATE = "task.training.optimizer.lr"  # `lr_scale` multiplies it
VECTORS = "encoder.vectors"  # the static vectors, or those whose width learned words have
# Left out of a spec at this value. An option that is added later is listed here with its default, so that older records
# keep their hash.
ABSENT: dict[str, Any] = {"task.training.patience": None}
FILES = ("weights", "inputs")  # of an encoder: only the last component of a path is part of a run
# Of data of the user's own: its files, of which only the last component is part of a run, and how they are read: the
# names of columns, and the forms of files and tags.
OWN_FILES = ("file", "train", "dev", "test")
OWN_COLUMNS = ("text", "label", "tokens", "tags", "premise", "hypothesis", "sentence", "columns", "scheme")
OWN = (*OWN_FILES, *OWN_COLUMNS)
_PATHS = re.compile(rf"encoder\..*({'|'.join(FILES)}|vectors)|data\.({'|'.join(OWN_FILES)})")  # only names
_SETTING = re.compile(
    r"protocol|place|mix|(mix|task|encoder)(\.(?!fetch\b|device\b)\w[\w+-]*)+|trainer\.precision|vectors\.trainable|"
    rf"data\.(train_fraction|max_train|least_steps|{'|'.join(OWN)})"
)


def settings_of(config: DictConfig) -> dict[str, Any]:
    """{option: value} of a composed config."""
    given: Any = OmegaConf.to_container(config, resolve=True)
    task, trained = given["task"], given["task"]["training"]
    if _epochs_decide(given):
        trained["least_steps"] = None
    parts = {
        "head": task["head"],
        "characters": task.get("characters") or None,
        "training": trained | {part: trained.get(part) or None for part in ("schedule", "ema")},
    }
    settings: dict[str, Any] = {
        "protocol": given["protocol"],
        "task.version": task["version"],
        "trainer.precision": given["trainer"]["precision"],
        **dotted(parts, "task."),
        **_data(given, config),
        **_encoder(given),
    }
    if (factor := given["lr_scale"]) != 1:
        if not isinstance(rate := settings.get(RATE), int | float):
            raise UserError(f"lr_scale={factor}: the task has no learning rate to multiply. Give {RATE}.")
        settings[RATE] = float(f"{rate * factor:.12g}")
    return {key: value for key, value in settings.items() if key not in ABSENT or value != ABSENT[key]}


def _epochs_decide(given: Mapping[str, Any]) -> bool:
    """Whether the user gives a number of epochs for data of their own, and no `least_steps`: the epochs count then."""
    task = given["task"]
    if not reads_own_data(task["name"]):
        return False
    usual = task["sizes"][given["size"]["name"]].get("epochs")
    least = task_yaml(task["name"])["training"].get("least_steps")
    return task["training"]["epochs"] != usual and task["training"].get("least_steps") == least


def name_of(path: Any) -> str | None:
    """The last component of a path, address or repository: what a setting says of weights and vectors."""
    if path is None:
        return None
    name = Path(redacted(str(path))).name
    return (name if name not in ("", "..") else Path(str(path)).resolve().name).replace("@", "+")


def _data(given: Mapping[str, Any], config: DictConfig) -> dict[str, Any]:
    """How much of the data is used, and the options of its source that are not those in the task's yaml."""
    data, suite, sources = given["data"], given["suite"]["name"], given["task"]["data"]
    used = {f"data.{key}": data[key] for key in ("train_fraction", "max_train")}
    # An epoch reads the whole training split once, and data of the user's own so often that a run has its steps.
    if data["train_fraction"] != 1 and given["task"]["training"].get("least_steps") is None:
        used["data.least_steps"] = data["least_steps"]
    if is_own := reads_own_data(given["task"]["name"]):
        own = {key: name_of(data[key]) for key in OWN_FILES} | {key: data[key] for key in OWN_COLUMNS}
        used |= {f"data.{key}": value for key, value in own.items() if value is not None}
    known = task_yaml(given["task"]["name"]).get("data", {})
    # Data of the user's own is called after its file, which may be called as an option is: `train`.
    source, usual = [{} if is_own else each.get(suite) or {} for each in (sources, known)]
    if not isinstance(source, Mapping):
        raise UserError(f"task.data.{suite}={source}: give a mapping with the source and its options")
    for option, value in sources.items():  # of every suite
        default = known.get(option)
        if isinstance(default, str) and default.startswith("${"):
            default = OmegaConf.select(config, default[2:-1])
        if not isinstance(value, Mapping) and value != default:
            used[f"task.data.{option}"] = value
    unused = ("fetch",) if source.get("source") == "hub" else ("fetch", "hub")
    ours = dotted({key: value for key, value in source.items() if key not in unused})
    usual = dotted(usual)
    return used | {f"task.data.{suite}.{k}": v for k, v in ours.items() if k not in usual or v != usual[k]}


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


def _encoder(given: Mapping[str, Any]) -> dict[str, Any]:
    encoder, contextual = given["encoder"], given["encoder"]["contextual"]
    used: dict[str, Any] = {"encoder.words": encoder["words"]}
    if encoder["words"]:
        used[VECTORS] = name_of(encoder["vectors"])
    if encoder["words"] == "static":
        used["vectors.trainable"] = given["vectors"]["trainable"]
    if contextual is None:
        return used | {"encoder.contextual": None}
    for key, value in dotted(contextual).items():
        if (last := key.rpartition(".")[2]) != "device" and value is not None:
            shown = redacted(value) if isinstance(value, str) else value
            used[f"encoder.{key if key in encoder else f'contextual.{key}'}"] = (
                name_of(value) if last in FILES else shown
            )
    mix = given["mix"]
    kept = ["layer_norm", "dropout", "gamma"]
    kept += {"scalar": ["penalty"], "layer": ["layer"], "fixed": ["scalars"]}.get(mix["kind"], [])
    return used | {"place": given["place"], "mix": mix["kind"]} | {f"mix.{key}": mix[key] for key in kept}


def text(value: Any) -> bool:
    """Whether this is a text that is not empty."""
    return isinstance(value, str) and value != ""


def number(low: float, high: float = inf, *, above: bool = False, whole: bool = False) -> Callable[[Any], bool]:
    """A finite number from `low`, or `above` it, and below `high`; `whole`: an integer."""
    kinds = (int,) if whole else (int, float)
    return lambda value: type(value) in kinds and low <= value < high and not (above and value == low)


def _filters(value: Any) -> bool:
    """Whether this is a list of [width, number], such as [[3, 64]]."""
    pairs = [*value] if isinstance(value, Sequence) else [()]
    return pairs != [] and all(isinstance(pair, Sequence) and [*map(_COUNT, pair)] == [True, True] for pair in pairs)


_COUNT, _POSITIVE, _SHARE = number(1, whole=True), number(0, above=True), number(0, nextafter(1, 2), above=True)
# What an option takes: (what fits, what to give, the options).
Rules = tuple[tuple[Callable[[Any], bool], str, tuple[str, ...]], ...]
_RULES: Rules = (
    (lambda value: isinstance(value, str | int), "a name", ("suite.name", "task.training.schedule.name")),
    (lambda value: isinstance(value, bool), "true or false", ("vectors.trainable", "mix.gamma")),
    (lambda value: isinstance(value, bool), "true or false", ("overwrite", "predictions")),
    (_POSITIVE, "a number above 0", ("lr_scale", "task.training.clip", RATE)),
    (number(0, 2**32, whole=True), f"a whole number from 0 to {2**32 - 1}", ("seed",)),  # as numpy's
    (text, "a folder, such as ./3", ("ledger", "data.root", "store.folder", "launcher.logs")),
    (text, "a name, a folder or a file, such as ./3", ("encoder.name", "encoder.weights", VECTORS)),
    (("cpu", "gpu").__contains__, "one of: cpu, gpu", ("trainer.accelerator",)),
    (("cpu", "cuda").__contains__, "one of: cpu, cuda", ("trainer.device",)),
    (("32-true", "bf16-mixed").__contains__, "one of: 32-true, bf16-mixed", ("trainer.precision",)),
    (("learned", "static").__contains__, "one of: learned, static", ("encoder.words",)),
    (("input", "output", "both").__contains__, "one of: input, output, both", ("place",)),
    (number(0), "a number from 0", ("mix.penalty", "store.max_gb")),
    (number(0, 1), "a number from 0, below 1", ("mix.dropout",)),
    (_SHARE, "a number above 0, up to 1", ("data.train_fraction",)),
    (_COUNT, "a whole number from 1", tuple(f"task.training.{key}" for key in ("epochs", "batch", "tokens"))),
    (_COUNT, "a whole number from 1", ("task.training.patience", "task.characters.dim")),
    (_COUNT, "a whole number from 1", ("data.max_train", "data.least_steps", "launcher.jobs", "trainer.threads")),
    (_filters, "pairs of a width and a number of filters, such as [[3,64]]", ("task.characters.filters",)),
)
_FITS = {option: fits for fits, _, options in _RULES for option in options}
_NULL = (
    "task.training.schedule.name", "task.training.clip", "task.training.patience", "task.characters.dim",
    "task.characters.filters", "encoder.weights", VECTORS, "encoder.words",
    "data.root", "data.max_train", "data.least_steps", "store.folder", "store.max_gb", "launcher.jobs",
    "trainer.threads", RATE,
)  # fmt: skip


def check_run(config: DictConfig) -> None:
    """Raises UserError, in one line, for an option that no run can have, alone or together with the others."""
    check_rules(config, _RULES, _NULL)
    data = config.data
    if data.least_steps is not None and data.max_train is not None and data.train_fraction == 1:
        raise UserError(f"data.least_steps={data.least_steps}: goes with data.train_fraction, not with data.max_train")
    _check_own(config)
    encoder, mix, ledger = config.encoder, config.mix.kind, Path(config.ledger)
    if file := next((path for path in (ledger, *ledger.parents) if path.is_file()), None):
        raise UserError(f"ledger={ledger}: {file} is a file; give a folder")
    if encoder.words and not encoder.vectors:
        raise UserError(f"encoder.vectors=null: encoder.words={encoder.words} needs a table, which gives their width")
    named = encoder.get("with_first") or {}  # {encoder: the name that it has with mix=first}
    others = [named.get(encoder.name)] if mix == "first" else [key for key in named if named[key] == encoder.name]
    if other := next(filter(None, others), None):
        same = f"encoder={other}" + ("" if mix == "first" else f" mix={mix}")
        raise UserError(f"encoder={encoder.name} mix={mix}: the same run as {same}. Use that name.")
    contextual = parts_of(encoder.contextual).values()
    if any(options.get("context") is True for options in contextual):
        raise UserError("encoder.contextual.context=true: the same run as without the option. Choose encoder=elmo.")
    if any(options.get("stateful") for options in contextual) and config.store.mode != "off":
        raise UserError("encoder.contextual.stateful=true: vectors depend on the order of reading; add store=off")


def invented(settings: Mapping[str, Any]) -> str:
    """The first `option=value` of a record's settings that no run of this program has, or "".

    There is no such option, or its value is of another kind, or a path. Nobody should run a command with it.
    """
    for key, value in settings.items():
        fits, known = _FITS.get(key), _SETTING.fullmatch(key) and not (_PATHS.fullmatch(key) and "/" in str(value))
        above = [*accumulate(key.split("."), "{}.{}".format)][:-1]
        if (
            not known
            or any(part in settings and part != "mix" for part in above)
            or (fits and not (key in _NULL if value is None else fits(value)))
        ):
            return f"{key:.60}={value!s:.60}"
    return ""


def check_rules(config: DictConfig, rules: Rules, nullable: Sequence[str]) -> None:
    """Raises UserError for an option that breaks its rule, unless it is null and `nullable`, and for a number that no
    record can have."""
    for fits, wanted, options in rules:
        for option in options:
            value = OmegaConf.select(config, option)
            if not (option in nullable if value is None else fits(value)):
                raise UserError(f"{option}={value}: give {wanted}{', or null' if option in nullable else ''}")
    given: Any = OmegaConf.to_container(config, resolve=True)
    for option, value in dotted(given).items():
        try:
            canonical(value)
        except ValueError:
            raise UserError(f"{option}={value}: give a finite number of at most 18 digits") from None


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
    if wrong := [key for key in given if not text(config.data[key])]:
        raise UserError(f"data.{wrong[0]}={config.data[wrong[0]]}: give a text, such as data.{wrong[0]}=\\'1\\'")
    if (name := str(config.suite.name)) != "own" and name in choices("suite"):
        raise UserError(f"suite {name}: the name of a suite, not of data of your own. Add suite.name=NAME.")
