"""From a composed config to the settings of its run.

An option without effect on a run is left out: λ where no weights are learned, the mix
if nothing is mixed.
"""

from collections.abc import Mapping
from typing import Any

from omegaconf import DictConfig, OmegaConf

from elmo_bench.base.errors import UserError, redacted
from elmo_bench.spec.choice_checks import OF_ENCODER
from elmo_bench.spec.options import dotted
from elmo_bench.spec.settings import (
    ABSENT,
    FILES,
    OWN_COLUMNS,
    OWN_FILES,
    QUICK,
    RATE,
    VECTORS,
    name_of,
)
from elmo_bench.spec.task_files import head_choice, reads_own_data, task_yaml
from elmo_bench.spec.tuning import TUNE, TUNED_RATE, USUAL_RATES

# The options of a mix that some kinds alone read, by kind.
MIX_OPTIONS = {"scalar": "penalty", "layer": "layer", "fixed": "scalars"}


def settings_of(config: DictConfig) -> dict[str, Any]:
    """{option: value} of a composed config. Raises UserError."""
    plain: Any = OmegaConf.to_container(config, resolve=True)
    settings: dict[str, Any] = {
        "protocol": plain["protocol"],
        QUICK: plain[QUICK],
        "task.version": plain["task"]["version"],
        "trainer.precision": plain["trainer"]["precision"],
        **_task(plain["task"], plain["size"]["name"]),
        **_amount(plain),
        **_own_data(plain),
        **_task_data(plain, config),
        **_source(plain),
        **_encoder(plain),
    }
    factor = plain["lr_scale"]
    if factor != 1:
        _scale_rate(settings, factor)
    for option, value in ABSENT.items():
        if option in settings and settings[option] == value:
            del settings[option]
    return settings


def _task(task: Mapping[str, Any], size: str) -> dict[str, Any]:
    """The head, the character CNN and the training."""
    training = dict(task["training"])
    if _epochs_decide(task, size):
        training["least_steps"] = None
    for part in ("schedule", "ema"):  # {} is null, and so is a part that is not there
        training[part] = training.get(part) or None
    parts = {
        "head": task["head"],
        "characters": task.get("characters") or None,
        "training": training,
    }
    if task.get("metric") is not None:  # null is the task's usual one
        parts["metric"] = task["metric"]
    return dotted(parts, "task.")


def _epochs_decide(task: Mapping[str, Any], size: str) -> bool:
    """Whether the epochs of a run on data of the user's own count alone.

    They do if the user gives a number of epochs, and no `least_steps`.
    """
    name = task["name"]
    if not reads_own_data(name):
        return False
    usual = task_yaml(name, head_choice(name, task["head"]["name"]))["training"]
    steps = usual.get("least_steps")
    if steps is None:
        return False
    epochs = usual["epochs"]
    if not isinstance(epochs, int):  # an interpolation
        epochs = task["sizes"][size].get("epochs")
    training = task["training"]
    return training["epochs"] != epochs and training.get("least_steps") == steps


def _scale_rate(settings: dict[str, Any], factor: float) -> None:
    """Multiply the learning rate. Raises UserError if there is none."""
    rate = settings.get(RATE)
    if not isinstance(rate, int | float):
        raise UserError(
            f"lr_scale={factor}: the task has no learning rate to multiply. "
            f"Give {RATE}."
        )
    settings[RATE] = float(f"{rate * factor:.12g}")


def _amount(plain: Mapping[str, Any]) -> dict[str, Any]:
    """How much of the training data a run uses."""
    data = plain["data"]
    fraction = data["train_fraction"]
    settings = {
        "data.train_fraction": fraction,
        "data.max_train": data["max_train"],
        "data.max_eval": data["max_eval"],
    }
    # An epoch reads the whole training split once, and data of the user's own so often
    # that a run has its steps.
    has_steps = plain["task"]["training"].get("least_steps") is not None
    if fraction != 1 and not has_steps:
        settings["data.least_steps"] = data["least_steps"]
    return settings


def _own_data(plain: Mapping[str, Any]) -> dict[str, Any]:
    """The files and columns of the user's own data."""
    if not reads_own_data(plain["task"]["name"]):
        return {}
    data = plain["data"]
    settings = {}
    for key in OWN_FILES:
        settings[f"data.{key}"] = name_of(data[key])
    for key in OWN_COLUMNS:
        settings[f"data.{key}"] = data[key]
    return {key: value for key, value in settings.items() if value is not None}


def _task_data(plain: Mapping[str, Any], config: DictConfig) -> dict[str, Any]:
    """The options of `task.data` that hold for every suite, unless they have the value
    of the task's yaml."""
    task = plain["task"]
    defaults = task_yaml(task["name"]).get("data", {})
    settings = {}
    for option, value in task["data"].items():
        default = defaults.get(option)
        if isinstance(default, str) and default.startswith("${"):
            default = OmegaConf.select(config, default[2:-1])
        is_suite = isinstance(value, Mapping)
        if not is_suite and value != default:
            settings[f"task.data.{option}"] = value
    return settings


def _source(plain: Mapping[str, Any]) -> dict[str, Any]:
    """The options of the suite's source, unless they have the value of the task's yaml.

    Raises UserError.
    """
    task = plain["task"]
    suite = plain["suite"]["name"]
    if reads_own_data(task["name"]):
        # The suite is called after the user's file, which may be called as an option
        # is: `train`.
        return {}
    source = task["data"].get(suite) or {}
    if not isinstance(source, Mapping):
        raise UserError(
            f"task.data.{suite}={source}: "
            "give a mapping with the source and its options"
        )
    from_hub = source.get("source") == "hub"
    unread = ("fetch",) if from_hub else ("fetch", "hub")
    options = {key: value for key, value in source.items() if key not in unread}
    defaults = dotted(task_yaml(task["name"]).get("data", {}).get(suite) or {})
    settings = {}
    for option, value in dotted(options).items():
        if option not in defaults or value != defaults[option]:
            settings[f"task.data.{suite}.{option}"] = value
    return settings


def _encoder(plain: Mapping[str, Any]) -> dict[str, Any]:
    """The options of the static vectors, the contextual encoder and its mix."""
    encoder = plain["encoder"]
    settings: dict[str, Any] = {"encoder.words": encoder["words"]}
    if encoder["words"]:
        settings[VECTORS] = name_of(encoder["vectors"])
    if encoder["words"] == "static":
        settings["vectors.trainable"] = plain["vectors"]["trainable"]
    if encoder["contextual"] is None:
        settings["encoder.contextual"] = None
        return settings
    for key, value in dotted(encoder["contextual"]).items():
        last = key.rpartition(".")[2]
        if last == "device" or value is None:
            continue
        # An option of `load` that the encoder's yaml repeats is called as there.
        # Another value is of an option of its own, such as the vectors of a kind.
        is_repeated = key in encoder and (
            key not in OF_ENCODER or encoder[key] == value
        )
        option = key if is_repeated else f"contextual.{key}"
        shown = redacted(value) if isinstance(value, str) else value
        settings[f"encoder.{option}"] = name_of(value) if last in FILES else shown
    tune = settings.get(TUNE)
    if tune in USUAL_RATES:
        settings[TUNED_RATE] = encoder.get("tune_lr") or USUAL_RATES[tune]
    return settings | _mix(plain)


def _mix(plain: Mapping[str, Any]) -> dict[str, Any]:
    """Where the layers enter and the options that their mix reads."""
    mix = plain["mix"]
    kind = mix["kind"]
    options = ["layer_norm", "dropout", "gamma"]
    if kind in MIX_OPTIONS:
        options.append(MIX_OPTIONS[kind])
    settings = {"place": plain["place"], "mix": kind}
    for option in options:
        settings[f"mix.{option}"] = mix[option]
    return settings
