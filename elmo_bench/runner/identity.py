"""What of a config makes the run: settings and contents (rule 1 of the design)."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from elmo_bench.config import compose
from elmo_bench.encoders.pretrained import PUBLISHED
from elmo_bench.encoders.static import KNOWN
from elmo_bench.ledger import Identity
from elmo_bench.runner.parts import Frozen, Splits

# What cannot change a score, or is told by a checksum instead of by its name.
_NAMES = {"mini", "glove-mini", *PUBLISHED, *KNOWN}
_NOT_SETTINGS = ("name", "version", "data", "metric", "sizes", "place", "mix", "vectors")
_ELSEWHERE = ("seed", "task", "encoder", "suite", "data.root", "ledger", "overwrite", "predictions", "trainer.threads")
_ELSEWHERE_GROUPS = ("store", "logger", "hydra")


def fingerprint(splits: Splits) -> str:
    """SHA-256 of all that the examples hold, whatever file they came from."""
    digest = hashlib.sha256()
    for name in sorted(splits):
        digest.update(f"{name} {len(splits[name])}\n".encode())
        for example in splits[name]:
            digest.update(repr(example).encode("utf-8", "backslashreplace"))
    return digest.hexdigest()


def portable(config: DictConfig) -> dict[str, Any]:
    """The config as plain data without the paths of this machine: a path of weights or vectors is its last name."""
    plain: dict[str, Any] = OmegaConf.to_container(config, resolve=True)  # type: ignore[assignment]
    plain.pop("ledger")
    plain["data"].pop("root")
    plain["store"].pop("folder", None)
    return _names_only(plain)


def identity(config: DictConfig, frozen: Frozen, splits: Splits) -> Identity:
    """Settings that the user chose and contents that stood behind the names."""
    plain = portable(config)
    settings: dict[str, Any] = {
        "task": {key: value for key, value in plain["task"].items() if key not in _NOT_SETTINGS},
        "encoder": {key: value for key, value in plain["encoder"].items() if key != "name"},
        "size": plain["size"]["name"],
        "precision": plain["trainer"]["precision"],
        "data": plain["data"],
    }
    encoder = settings["encoder"]
    for node, given in ((encoder, config.encoder), (encoder["contextual"], config.encoder.contextual)):
        for key in ("weights", "vectors"):  # a path may change its name: what lies there is what counts
            if node and node.get(key) and given[key] not in _NAMES and key in frozen.checksums:
                node[key] = frozen.checksums[key]
    if encoder["contextual"]:
        for node in (encoder, encoder["contextual"]):
            for key in ("device", "precision"):  # the checksum tells the precision
                node.pop(key, None)
        settings |= {"mix": plain["mix"], "place": plain["place"]}
        if plain["store"]["dtype"] != "float32":  # the vectors are rounded
            settings["store"] = {"dtype": plain["store"]["dtype"]}
    if encoder["words"] == "static":
        settings["vectors"] = plain["vectors"]
    contents = {"task_version": plain["task"]["version"], "data": fingerprint(splits), **frozen.checksums}
    if encoder["words"] == "learned":
        encoder.pop("vectors")
        contents["width"] = frozen.width
    return Identity(settings=settings, contents=contents)


def overrides_of(config: DictConfig, given: Sequence[str]) -> list[str]:
    """The user's overrides that make this run another than the plain one of its task, encoder and suite."""
    plain = compose("config", [f"{group}={config[group].name}" for group in ("task", "encoder", "suite")])
    found = []
    for override in given:
        key, _, value = override.lstrip("+~").partition("=")
        group = key.split(".")[0]
        if (
            key in _ELSEWHERE
            or (group in _ELSEWHERE_GROUPS and key != "store.dtype")
            or (group in ("mix", "place", "store") and not config.encoder.contextual)
        ):
            continue
        if key == "experiment" or OmegaConf.select(config, key) != OmegaConf.select(plain, key):
            found.append(f"{key}={Path(value).name if key.endswith(('weights', 'vectors')) else value}")
    return sorted(found)


def _names_only(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: Path(item).name if key in ("weights", "vectors") and isinstance(item, str) else _names_only(item)
            for key, item in value.items()
        }
    return value
