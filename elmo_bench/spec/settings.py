"""The settings of a run: every option that can change its score.

A setting has the name of its option on the command line. The names are written here and
in the yaml files, and nowhere in a Python class, so that renaming code changes no hash.
`check_run` refuses options that no run can have, before data and weights are read.
"""

import re
from collections.abc import Mapping
from math import nextafter
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from elmo_bench.base.errors import UserError, name_text, redacted
from elmo_bench.spec.conf_files import choices
from elmo_bench.spec.options import METRIC
from elmo_bench.spec.rules import (
    Fits,
    Rules,
    check_rules,
    count,
    filters,
    folder_name,
    joined_names,
    number,
    numbers,
    one_of,
    switch,
    text,
)
from elmo_bench.spec.task_files import check_head, reads_own_data
from elmo_bench.spec.tuning import FROZEN, TUNE, TUNED_RATE, WAYS, check_tuning

QUICK = "quick"  # a fifth of the steps
REFIT = "refit"  # keep a head that was trained on train and dev
RATE = "task.training.optimizer.lr"  # `lr_scale` multiplies it
VECTORS = "encoder.vectors"  # static, or of the width that learned words have
# Left out of a spec at this value. An option that is added later is listed here with
# its default, so that older records keep their hash.
ABSENT: dict[str, Any] = {
    "task.training.patience": None,
    "data.max_eval": None,
    TUNE: FROZEN,
    QUICK: False,
    METRIC: "accuracy",
}
# Of an encoder: only the last component of a path is part of a run.
FILES = ("weights", "inputs")
# Of data of the user's own: its files, of which only the last component is part of a
# run, and how they are read: the names of columns, and the forms of files and tags.
OWN_FILES = ("file", "train", "dev", "test")
OWN_COLUMNS = (
    *("text", "label", "tokens", "tags", "premise", "hypothesis"),
    *("sentence", "columns", "scheme", "alike"),
)
OWN = (*OWN_FILES, *OWN_COLUMNS)
# Settings that are names, and never paths.
_PATHS = re.compile(
    rf"encoder\..*({'|'.join(FILES)}|vectors)"
    rf"|data\.({'|'.join(OWN_FILES)})"
)
_SETTING = re.compile(
    r"protocol|quick|place|mix|(mix|task|encoder)(\.(?!fetch\b|device\b)\w[\w+-]*)+"
    r"|trainer\.precision|vectors\.trainable"
    rf"|data\.(train_fraction|max_train|max_eval|least_steps|{'|'.join(OWN)})"
)


def name_of(path: Any) -> str | None:
    """The last component of a path, address or repository.

    Settings have this name of weights and vectors, as text.
    """
    if path is None:
        return None
    name = Path(redacted(str(path))).name
    if name in ("", ".."):
        name = Path(str(path)).resolve().name
    return name_text(name).replace("@", "+")


def parts_of(contextual: Mapping[str, Any] | None) -> dict[str, dict[str, Any]]:
    """{name: options} of the contextual encoders.

    None, one with the name "", or the parts of a stack. Raises UserError for a stack of
    anything but named encoders.
    """
    if contextual is None:
        return {}
    if contextual.get("kind") != "stack":
        return {"": dict(contextual)}
    stack: Any = contextual.get("parts")
    if not _has_names(stack):
        raise UserError(
            "encoder.contextual.parts: give each encoder of the stack a name "
            "of letters, digits and _"
        )
    version = contextual.get("version")
    parts = {}
    for name, options in stack.items():
        if not isinstance(options, Mapping) or options.get("kind") in (None, "stack"):
            raise UserError(
                f"encoder.contextual.parts.{name}: "
                "not the options of one encoder, with its kind"
            )
        parts[name] = {"version": version, **options}
    return parts


def _has_names(stack: Any) -> bool:
    if not isinstance(stack, Mapping) or not stack:
        return False
    return all(str(name).isidentifier() for name in stack)


_FOLDER = (text, "a folder, such as ./runs")
_SUITE = (
    folder_name,
    "a name of letters, digits and _ . + = -, which begins with a letter or a digit",
)
_FILE = (text, "a name, a folder or a file, such as ./vectors.txt")
_OWN_FILE = (text, "a file or a folder, such as reviews.csv")
_OWN_COLUMN = (text, "a name (a number in quotes: \\'1\\')")
_SWITCH = (switch, "true or false")
_POSITIVE = (number(0, above=True), "a number above 0")
_SHARE = (number(0, nextafter(1, 2), above=True), "a number above 0, up to 1")
_SEED = (number(0, 2**32, whole=True), f"a whole number from 0 to {2**32 - 1}")
_WHOLE = (count, "a whole number from 1")
_SCHEDULE = one_of("cosine", "exponential", "linear", "plateau", "step")
_PAIRS = (filters, "pairs of a width and a number of filters, such as [[3,64]]")
# In this order, the first rule that an option breaks is the error.
_RULES: Rules = (
    (*_SCHEDULE, ("schedule.name", "task.training.schedule.name")),
    (*joined_names("csv", "none", "tensorboard", "wandb"), ("logger.name",)),
    (*_SUITE, ("suite.name",)),
    (*_SWITCH, ("vectors.trainable", "mix.gamma", "overwrite", "predictions")),
    (*_SWITCH, (QUICK, REFIT)),
    (*_POSITIVE, ("lr_scale", "task.training.clip", RATE, TUNED_RATE)),
    (*_SEED, ("seed",)),  # as numpy's
    (*_FOLDER, ("ledger", "data.root", "store.folder", "launcher.logs")),
    (*_FILE, ("encoder.name", "encoder.weights", VECTORS)),
    (*_OWN_FILE, tuple(f"data.{key}" for key in OWN_FILES)),
    (*_OWN_COLUMN, tuple(f"data.{key}" for key in OWN_COLUMNS)),
    (*one_of("cpu", "cuda"), ("trainer.device",)),
    (*one_of("32-true", "bf16-mixed"), ("trainer.precision",)),
    (*one_of("learned", "static"), ("encoder.words",)),
    (*one_of(*WAYS), (TUNE,)),
    (*one_of("accuracy", "macro_f1"), (METRIC,)),
    (*one_of("input", "output", "both"), ("place",)),
    (*one_of("none", "token", "batch"), ("mix.layer_norm",)),
    (numbers, "a number for each layer, such as [0,1,0]", ("mix.scalars",)),
    (number(0, whole=True), "a whole number from 0", ("mix.layer",)),
    (number(0), "a number from 0", ("mix.penalty", "store.max_gb")),
    (number(0, 1), "a number from 0, below 1", ("mix.dropout",)),
    (*_SHARE, ("data.train_fraction",)),
    (*_WHOLE, ("task.training.epochs", "task.training.batch", "task.training.tokens")),
    (*_WHOLE, ("task.training.patience", "task.characters.dim")),
    (*_WHOLE, ("data.max_train", "data.max_eval", "data.least_steps")),
    (*_WHOLE, ("launcher.jobs", "trainer.threads")),
    (*_PAIRS, ("task.characters.filters",)),
)
_FITS: dict[str, Fits] = {}
for _fits, _, _options in _RULES:
    _FITS |= dict.fromkeys(_options, _fits)
_NULL = (
    *("schedule.name", "task.training.schedule.name"),
    *("task.training.clip", "task.training.patience", "mix.layer", "mix.scalars"),
    *("task.characters.dim", "task.characters.filters"),
    *("encoder.weights", VECTORS, "encoder.words", TUNE, TUNED_RATE),
    *(METRIC, "data.root", "data.max_train", "data.max_eval", "data.least_steps"),
    *("store.folder", "store.max_gb", "launcher.jobs", "trainer.threads", RATE),
    *(f"data.{key}" for key in OWN),
)


def check_run(config: DictConfig) -> None:
    """Raises UserError, in one line, for an option that no run can have.

    The option is wrong alone or together with the others.
    """
    check_rules(config, _RULES, _NULL)
    _check_amount(config.data)
    if reads_own_data(str(config.task.name)):
        _check_own_data(config)
    else:
        _check_no_own_data(config)
    _check_refit(config)
    check_head(config.task.name, config.encoder.name, config.head.name)
    _check_ledger(Path(config.ledger).expanduser())
    words = config.encoder.words
    if words and not config.encoder.vectors:
        raise UserError(
            f"encoder.vectors=null: encoder.words={words} needs a table, "
            "which gives their width"
        )
    _check_run_name(config)
    _check_contextual(config)


def _check_amount(data: DictConfig) -> None:
    if data.least_steps is None or data.max_train is None:
        return
    if data.train_fraction == 1:
        raise UserError(
            f"data.least_steps={data.least_steps}: "
            "goes with data.train_fraction, not with data.max_train"
        )


def _own_options(data: DictConfig) -> list[str]:
    """The options of data of the user's own that have a value."""
    return [key for key in OWN if data[key] is not None]


def _check_no_own_data(config: DictConfig) -> None:
    """Raises UserError for options of the user's own data, if the task reads suites."""
    options = [f"data.{option}" for option in _own_options(config.data)]
    options += [f"{option}=true" for option in (QUICK, REFIT) if config[option]]
    if options:
        tasks = ", ".join(filter(reads_own_data, choices("task")))
        raise UserError(
            f"{options[0]}: task={config.task.name} reads a suite. "
            f"For data of your own: task={tasks}"
        )


def _check_own_data(config: DictConfig) -> None:
    """Raises UserError for options of the user's own data that do not fit the task,
    or each other."""
    task = str(config.task.name)
    data = config.data
    for key in _own_options(data):
        if key not in config.task.data:
            columns = [column for column in OWN_COLUMNS if column in config.task.data]
            names = ", ".join(f"data.{column}" for column in columns)
            raise UserError(
                f"data.{key}: task={task} has no such column. It has: {names}"
            )
    has_file = data.file is not None
    has_train = data.train is not None
    if has_file and has_train:
        raise UserError("data.file and data.train are both given. Give one of them.")
    if not has_file and not has_train:
        raise UserError(
            f"task={task}: give data.file=FILE, "
            "or data.train=FILE (and data.dev=FILE data.test=FILE)"
        )
    has_others = data.dev is not None or data.test is not None
    if has_file and has_others:
        raise UserError("data.dev and data.test go with data.train, not with data.file")
    suite = str(config.suite.name)
    if suite != "own" and suite in choices("suite"):
        raise UserError(
            f"suite {suite}: the name of a suite, not of data of your own. "
            "Add suite.name=NAME."
        )


def _check_refit(config: DictConfig) -> None:
    """Raises UserError for a training that asks dev again after each epoch."""
    training = config.task.training
    schedule = training.get("schedule") or {}
    asks_dev = schedule.get("name") == "plateau"
    if config[REFIT] and (asks_dev or training.get("ema")):
        what = "schedule.name=plateau" if asks_dev else "ema"
        raise UserError(
            f"{REFIT}=true: not with task.training.{what}, which needs a dev split. "
            "Leave out one of them."
        )


def _check_ledger(ledger: Path) -> None:
    for path in (ledger, *ledger.parents):
        if path.is_file():
            raise UserError(f"ledger={ledger}: {path} is a file; give a folder")


def _check_run_name(config: DictConfig) -> None:
    """Raises UserError for a run that has another name.

    `with_first` of an encoder's yaml is {encoder: its name with mix=first}.
    """
    encoder = config.encoder.name
    mix = config.mix.kind
    with_first = config.encoder.get("with_first") or {}
    if mix == "first":
        other = with_first.get(encoder)
        same = f"encoder={other}"
    else:
        others = [key for key, name in with_first.items() if name == encoder]
        other = others[0] if others else None
        same = f"encoder={other} mix={mix}"
    if other:
        raise UserError(
            f"encoder={encoder} mix={mix}: the same run as {same}. Use that name."
        )


def _check_contextual(config: DictConfig) -> None:
    encoders = parts_of(config.encoder.contextual).values()
    check_tuning(config, encoders)
    if any(options.get("context") is True for options in encoders):
        raise UserError(
            "encoder.contextual.context=true: the same run as without the option. "
            "Choose encoder=elmo."
        )
    is_stateful = any(options.get("stateful") for options in encoders)
    if is_stateful and config.store.mode != "off":
        raise UserError(
            "encoder.contextual.stateful=true: "
            "vectors depend on the order of reading; add store=off"
        )


def invented(settings: Mapping[str, Any]) -> str:
    """The first `option=value` of a record's settings that no run of this program has.

    "" if there is none. The option does not exist, or its value is of another kind, or
    a path. Nobody should run a command with it.
    """
    for option, value in settings.items():
        if not _is_possible(option, value) or _is_part(option, settings):
            return f"{option:.60}={value!s:.60}"
    return ""


def _is_possible(option: str, value: Any) -> bool:
    """Whether a run of this program may have this setting."""
    if not _SETTING.fullmatch(option):
        return False
    if _PATHS.fullmatch(option) and "/" in str(value):
        return False
    if option not in _FITS:
        return True
    if value is None:
        return option in _NULL
    return _FITS[option](value)


def _is_part(option: str, settings: Mapping[str, Any]) -> bool:
    """Whether an option is a part of another; `mix` has a value and parts."""
    parts = option.split(".")
    for length in range(1, len(parts)):
        whole = ".".join(parts[:length])
        if whole in settings and whole != "mix":
            return True
    return False
