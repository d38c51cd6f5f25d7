"""What the yaml of a task, an encoder or a suite has to have, whoever wrote it."""

from collections.abc import Mapping
from typing import Any

from omegaconf import DictConfig, OmegaConf

from elmo_bench.base.errors import UserError

NEEDED = {  # the keys of a choice that every run reads
    "task": ("name", "version", "data", "head", "vectors", "place", "mix", "training"),
    "encoder": ("name", "words", "vectors", "contextual"),
}
# Keys of a choice whose value is a mapping, if there is one.
MAPPINGS = {
    "task": (
        "data",
        "head",
        "training",
        "training.schedule",
        "report",
        "report.budget",
    ),
    "encoder": ("contextual",),
}
# Keys at the top of an encoder's yaml that are not of the layers, whatever an option of
# the layers is called.
OF_ENCODER = ("name", "words", "vectors", "tune_lr", "draws", "with_first")
# Keys at its top that every run reads. Interpolations read others.
READ = (*OF_ENCODER, "contextual")


def check_keys(config: DictConfig, used: Mapping[str, str]) -> None:
    """Raises UserError for a task or an encoder whose yaml lacks a key of NEEDED, has
    no mapping where one belongs, or a key that nothing reads."""
    plain: Any = OmegaConf.to_container(config)
    for group in used.keys() & NEEDED.keys():
        content = plain[group] or {}
        missing = ", ".join(key for key in NEEDED[group] if key not in content)
        if missing:
            raise UserError(
                f"{group}={used[group]}: its yaml has no {missing}. "
                f"See others in conf/{group}."
            )
        for key in MAPPINGS[group]:
            value = _value_at(content, key)
            if value is not None and not isinstance(value, Mapping):
                raise UserError(
                    f"{group}={used[group]}: {key} of its yaml is {value!s:.60}. "
                    f"Give a mapping. See others in conf/{group}."
                )
    if "encoder" in used:
        _check_read(plain, used["encoder"])


def _value_at(content: Mapping[str, Any], key: str) -> Any:
    """The value at a key with dots; None without one, and for an interpolation."""
    value: Any = content
    for part in key.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(part)
    return None if str(value).startswith("${") else value


def _check_read(plain: Mapping[str, Any], encoder: str) -> None:
    """Raises UserError for a key at the top of an encoder's yaml that nothing reads."""
    text = str(plain)
    for key in plain["encoder"]:
        if key not in READ and f"${{encoder.{key}" not in text:
            raise UserError(
                f"encoder={encoder}: nothing reads {key!s:.60} at the top of its yaml. "
                "Options of an encoder belong below contextual."
            )


def check_names(config: DictConfig, used: Mapping[str, str]) -> None:
    """Raises UserError for a yaml with another `name`: a run is known by this name."""
    plain: Any = OmegaConf.to_container(config)
    for group in used.keys() & {"task", "suite", "encoder"}:
        name = str(plain[group].get("name"))
        is_unresolved = name.startswith(("???", "${"))
        if name != used[group] and not is_unresolved:
            raise UserError(
                f"{group}={used[group]}: its yaml has name: {name:.60}. "
                "Give file and name one name."
            )
