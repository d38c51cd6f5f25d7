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
from elmo_bench.runner.settings import portable, settings_of

_NAMES = {"mini", "glove-mini", *PUBLISHED, *KNOWN}
# What cannot change a score, or is told elsewhere in the record.
_ELSEWHERE = (
    "seed", "task", "encoder", "encoder.name", "suite", "data.root", "ledger", "overwrite", "predictions",
    "trainer.threads",
)  # fmt: skip
_ELSEWHERE_GROUPS = ("store", "logger", "hydra", "hydra/launcher")


def fingerprint(splits: Splits) -> str:
    """SHA-256 of all that the examples hold, whatever file they came from."""
    digest = hashlib.sha256()
    for name in sorted(splits):
        digest.update(f"{name} {len(splits[name])}\n".encode())
        for example in splits[name]:
            digest.update(repr(example).encode("utf-8", "backslashreplace"))
    return digest.hexdigest()


def identity(config: DictConfig, frozen: Frozen, splits: Splits) -> Identity:
    """Settings that the user chose and contents that stood behind the names."""
    plain = portable(config)
    settings = settings_of(plain)
    encoder = settings["encoder"]
    for node, given in ((encoder, config.encoder), (encoder["contextual"], config.encoder.contextual)):
        for key in ("weights", "vectors"):  # a path may change its name: what lies there is what counts
            if node and node.get(key) and given[key] not in _NAMES and key in frozen.checksums:
                node[key] = frozen.checksums[key]
    contents = {"task_version": plain["task"]["version"], "data": fingerprint(splits), **frozen.checksums}
    if encoder["words"] == "learned":
        contents["width"] = frozen.width
    return Identity(settings=settings, contents=contents)


def overrides_of(config: DictConfig, given: Sequence[str]) -> list[str]:
    """The user's overrides that make this run another than the plain one of its task, encoder and suite."""
    # An encoder's yaml may leave its name to the user; then it is not the name of the yaml.
    encoder = [override for override in given if override.startswith(("encoder=", "encoder.name="))]
    groups = [f"task={config.task.name}", f"suite={config.suite.name}", *encoder]
    plain = compose("config", groups)
    found = []
    for override in given:
        key, _, value = override.lstrip("+~").partition("=")
        group = key.split(".")[0]
        if (
            key in _ELSEWHERE
            or (group in _ELSEWHERE_GROUPS and key != "store.dtype")
            or (group in ("mix", "place", "store") and not config.encoder.contextual)
            or (key == "mix.penalty" and config.mix.kind != "scalar")
            or (key == "data.least_steps" and config.data.train_fraction == 1)
        ):
            continue
        if key == "experiment":
            differs = compose("config", [*groups, override]) != plain
        else:
            differs = _choice(OmegaConf.select(config, key)) != _choice(OmegaConf.select(plain, key))
        if differs:
            found.append(f"{key}={Path(value).name if key.endswith(('weights', 'vectors')) else value}")
    return sorted(found)


def _choice(value: Any) -> Any:
    """A group by the name of what was chosen: what else changed in it has an override of its own."""
    names = [value[key] for key in ("name", "kind", "mode") if key in value] if isinstance(value, DictConfig) else []
    return names[0] if names else value
