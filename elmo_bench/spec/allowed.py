"""Which options a user may set, and which `+key=value` may add."""

from collections.abc import Mapping

from hydra.core.override_parser.types import Override
from omegaconf import DictConfig, OmegaConf

from elmo_bench.base.errors import UserError
from elmo_bench.spec.conf_files import config_files, plain_yaml
from elmo_bench.spec.options import METRIC, dotted

# Versions of code: a user does not choose them.
VERSIONS = ("protocol", "task.version", "encoder.contextual.version")
# Mappings that no run is without.
WHOLE = ("task.data", "task.head")
# `+key=value` may add an option to these groups, of which the launcher passes on what
# is below one key, and of a task's `report` nothing would read a new key.
OPEN = ("task", "encoder", "mix", "launcher", "logger")
PASSED_ON = "launcher.extra"
REPORT = "task.report."


def may_be_new(key: str) -> bool:
    """Whether `+key=value` may add this option."""
    group = key.partition(".")[0]
    if group == key or group not in OPEN or key == METRIC:
        return False
    if group == "launcher":
        return key == PASSED_ON or key.startswith(f"{PASSED_ON}.")
    return not key.startswith(REPORT)


def check_allowed(override: Override, defaults: DictConfig) -> None:
    """Raises UserError for an option that no user may set."""
    key = override.key_or_group
    option = override.input_line
    value = override.value()
    keys = dotted(value, f"{key}.") if isinstance(value, Mapping) else [key]
    if set(keys) & {*VERSIONS, "task.name", "task.head.name", "head.name"}:
        raise UserError(
            f"{option}: comes with the code, with task= or with head=. "
            "Remove the option."
        )
    if key in WHOLE and override.value() is None:
        raise UserError(f"{option}: every run reads its parts. Remove the option.")
    if key == "encoder.contextual" and override.value() is None:
        raise UserError(
            f"{option}: leaves an encoder without its layers. Choose encoder=glove."
        )
    if key == "encoder.name":
        _check_encoder_name(override, defaults)


def _check_encoder_name(override: Override, defaults: DictConfig) -> None:
    """Refuse a name except for `hf` and `precomputed`, which take one.

    Also refuse the name of another encoder.
    """
    option = override.input_line
    if not OmegaConf.is_missing(defaults.encoder, "name"):
        raise UserError(
            f"{option}: encoder.name is for encoder=hf. "
            "Other encoders are named by their yaml."
        )
    last = str(override.value()).rstrip("/").split("/")[-1]
    path = config_files("encoder").get(last)
    if path and plain_yaml(path).get("name") == last:
        raise UserError(
            f"{option}: tables would take it for encoder={last}. Rename the folder."
        )
