"""What kind of value an option takes: the kind of its default."""

import json

from hydra.core.override_parser.types import Override
from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import InterpolationResolutionError

from elmo_bench.base.errors import UserError

# What may replace a value of each kind, apart from null. Text may be replaced by anything, since a name or a path may
# look like a number.
KINDS: dict[str, tuple[type, ...]] = {
    "true or false": (bool,),
    "a number": (int, float),
    "a list": (ListConfig,),
    "values for its parts": (DictConfig,),
}
EITHER = ("task.training.schedule.every",)  # a number of steps, or the word epoch


def check_kind(option: Override, plain: DictConfig, config: DictConfig) -> None:
    """Raises UserError where something else replaces a number, a switch, a list or a group of values."""
    key = option.key_or_group
    if key in EITHER:
        return
    try:
        before, now = (OmegaConf.select(of, key, throw_on_missing=False) for of in (plain, config))
    except InterpolationResolutionError:  # the default is a value that the user has to give
        return
    kind = next((name for name, types in KINDS.items() if isinstance(before, types)), None)
    if kind and now is not None and not isinstance(now, KINDS[kind]):
        if isinstance(before, DictConfig):
            part = str(next(iter(before)))
            key, before = f"{key}.{part}", before[part]
        example = json.dumps(before, default=list).replace(" ", "")
        raise UserError(f"{option.input_line}: give {kind}, such as {key}={example}")
