"""What of a config makes the run: settings and contents (rule 1 of the design)."""

import hashlib
from collections.abc import Sequence

from omegaconf import DictConfig, OmegaConf

from elmo_bench.elmo.pretrained import PUBLISHED
from elmo_bench.encoders.static import KNOWN
from elmo_bench.ledger import Identity, dotted, spelled
from elmo_bench.runner.parts import Frozen, Splits
from elmo_bench.runner.settings import portable, settings_of
from elmo_bench.spec.config import compose

_NAMES = {"mini", "glove-mini", *PUBLISHED, *KNOWN}
_CHOSEN = ("encoder=", "encoder.name=", "trainer=")  # what the plain run is of, besides task, suite and size


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
    """key=value that set this run apart from the plain one of its task, encoder, suite, size and trainer.

    Told by what they do: whether an option was given by itself, by an experiment's yaml or through another option
    (`suite.weights=`), and not at all where it does nothing to this run.
    """
    # An encoder's yaml may leave its name to the user; then it is not the name of the yaml.
    chosen = [override for override in given if override.startswith(_CHOSEN)]
    same = [f"task={config.task.name}", f"suite={config.suite.name}", f"size={config.size.name}"]
    plain = compose("config", [*same, *chosen])
    ours, theirs = _told(config), _told(plain)
    return sorted(f"{key}={value}" for key, value in ours.items() if theirs.get(key) != value)


def _told(config: DictConfig) -> dict[str, str]:
    """By option what of a config makes the run: its settings, where the size sets them by the size's own option, the
    choice of its data, and what the checksums of weights and vectors stand for."""
    plain, raw = portable(config), dotted(OmegaConf.to_container(config))  # type: ignore[arg-type]
    settings, task = settings_of(plain), plain["task"]
    suite, size = plain["suite"]["name"], plain["size"]["name"]
    encoder, contextual = dict(settings["encoder"]), settings["encoder"]["contextual"] or {}
    if contextual:
        encoder["precision"] = plain["encoder"].get("precision")
        encoder["contextual"] = {key: value for key, value in contextual.items() if encoder.get(key) != value}
    tree = settings | {"encoder": encoder, "trainer": {"precision": settings["precision"]}}
    own = {"data": {suite: task["data"].get(suite)}, "sizes": {size: task["sizes"].get(size)}}
    tree["task"] = settings["task"] | own
    options = {key: value for key, value in dotted(tree).items() if "{task.sizes." not in str(raw.get(key))}
    del options["size"], options["precision"]
    return {"mix" if key == "mix.kind" else key: spelled(value) for key, value in options.items()}
