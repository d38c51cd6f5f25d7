"""The settings of a run: every option that can change its score, by its name on the command line.

The names are written here and in the yaml files, and nowhere in a Python class, so that renaming code changes no hash.
An option without effect on a run is left out: λ where no weights are learned, the mix if nothing is mixed.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError, redacted
from elmo_bench.spec.config import task_yaml
from elmo_bench.spec.options import dotted

RATE = "task.training.optimizer.lr"  # `lr_scale` multiplies it
VECTORS = "encoder.vectors"  # the static vectors, or those whose width learned words have
VERSIONS = ("protocol", "task.version", "encoder.contextual.version")  # of code: a user does not choose them
_REFERENCE = re.compile(r"\$\{([\w.]+)\}")
# Left out of a spec at this value. An option that is added later is listed here with its default, so that older records
# keep their hash.
ABSENT: dict[str, Any] = {"task.training.patience": None}
FILES = ("weights", "inputs")  # of an encoder: only the last component of a path is part of a run


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
