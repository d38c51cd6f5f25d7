"""The settings half of a run's identity, from its config alone: no data, no weights, no torch."""

from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

_NOT_SETTINGS = ("name", "version", "data", "metric", "sizes", "place", "mix", "vectors")
_PATHS = ("weights", "vectors")  # keys whose value may be a path of this machine


def encoder_name(config: DictConfig) -> str:
    """The folder of the ledger: the encoder's name, of a path or repository (`models/mine`, `user/repo@v2`) its end."""
    return Path(config.encoder.name).name.replace("@", "+")


def portable(config: DictConfig) -> dict[str, Any]:
    """The config as plain data without the paths of this machine: a path of weights or vectors is its last name."""
    plain: dict[str, Any] = OmegaConf.to_container(config, resolve=True)  # type: ignore[assignment]
    plain.pop("ledger")
    plain["data"].pop("root")
    plain["store"].pop("folder", None)
    plain["encoder"]["name"] = encoder_name(config)
    return _names_only(plain)


def settings_of(plain: dict[str, Any]) -> dict[str, Any]:
    """What of a portable config can change a score. Left out is what has no effect beside the rest, and what came to
    the configs later and stands at the value that it always had: older records keep their hash."""
    encoder = {key: value for key, value in plain["encoder"].items() if key != "name"}
    settings: dict[str, Any] = {
        "task": {key: value for key, value in plain["task"].items() if key not in _NOT_SETTINGS},
        "encoder": encoder,
        "size": plain["size"]["name"],
        "precision": plain["trainer"]["precision"],
        "data": _data(plain["data"]),
    }
    if encoder["contextual"]:
        encoder["contextual"] = dict(encoder["contextual"])
        for node in (encoder, encoder["contextual"]):
            for key in ("device", "precision"):  # the checksum tells the precision
                node.pop(key, None)
        settings |= {"mix": _mix(plain["mix"]), "place": plain["place"]}
        if (dtype := plain["store"].get("dtype", "float32")) != "float32":  # the vectors are rounded
            settings["store"] = {"dtype": dtype}
    if encoder["words"] == "static":
        settings["vectors"] = plain["vectors"]
    if encoder["words"] == "learned":
        encoder.pop("vectors")
    return settings


def _data(given: dict[str, Any]) -> dict[str, Any]:
    data = dict(given)
    if data.get("least_steps") is None or data["train_fraction"] == 1:  # the whole is read once
        data.pop("least_steps", None)
    return data


def _mix(given: dict[str, Any]) -> dict[str, Any]:
    mix = dict(given)
    if mix["kind"] != "scalar":  # nothing is learned that λ could hold back
        mix.pop("penalty")
    if mix.get("gamma") is True:
        mix.pop("gamma")
    return mix


def _names_only(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: Path(item).name if key in _PATHS and isinstance(item, str) else _names_only(item)
            for key, item in value.items()
        }
    return value
