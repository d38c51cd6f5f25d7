"""How a run is called: its label, the command that makes it, its learning rate.

Also whether it needs a GPU.
"""

import shlex
from math import isfinite
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.spec.config import choice_yaml, config_of
from elmo_bench.spec.options import is_option, spelled
from elmo_bench.spec.run_spec import RunSpec
from elmo_bench.spec.settings import METRIC, OWN, RATE, invented

# Options that come with their choice of `mix`. A run adds other new options with `+`.
_OF_MIX = ("mix.layer", "mix.scalars")


def label_of(spec: RunSpec) -> str:
    """The difference from the default run, such as `mix=last, place=both`.

    Empty for the default run. The hash if nothing states the difference and there is no
    default run, as its yaml is not included: all of the settings would differ.
    """
    if spec.stated_changes is None and spec.usual is None:
        return f"run {spec.hash}"
    return ", ".join(f"{key}={value}" for key, value in spec.changes.items())


def needs_gpu(spec: RunSpec) -> bool:
    """Whether an encoder computes on a GPU alone, so that no head of it can predict."""
    return any(
        options.get("precision") == "tf32" for options in spec.encoders().values()
    )


def command_of(spec: RunSpec, seed: int) -> str:
    """The command that makes a run.

    A path of data, weights or vectors appears as its last component. Raises UserError
    if there is none, as for settings that no run has.
    """
    options = [*spec.base_options]
    setting = invented(spec.settings)
    if setting:
        raise UserError(f"no run has {setting}")
    for key, value in spec.settings.items():
        if key.removeprefix("data.") in OWN or key == METRIC:
            options.append(f"{key}={spelled(value)}")
    for key, change in spec.changes.items():
        if key == "head":
            continue  # part of the default run of this head
        plus = "+" if _is_new(spec, key) else ""
        options.append(f"{plus}{key}={change}")
    return shlex.join(["elmo-bench", "run", *options, f"seed={seed}"])


def _is_new(spec: RunSpec, key: str) -> bool:
    """Whether the config of the default run lacks an option.

    A config is composed only if the yaml of task or encoder does not have the option.
    """
    if key in _OF_MIX:
        return False
    group = key.partition(".")[0]
    if group in ("task", "encoder"):
        prefix = f"{group}="
        choices = [part for part in spec.base_options if part.startswith(prefix)]
        tree = choice_yaml(group, choices[0].removeprefix(prefix))
        if _has(tree, key):
            return False
    return not is_option(key, config_of(spec.base_options))


def _has(tree: Any, key: str) -> bool:
    """Whether nested mappings have this dotted key."""
    for part in key.split("."):
        if not isinstance(tree, dict) or part not in tree:
            return False
        tree = tree[part]
    return True


def rate_factor(spec: RunSpec) -> float | None:
    """The learning rate divided by the default run's, as `lr_scale` on the command
    line.

    None if a run has no learning rate, or one beyond all numbers.
    """
    rate = spec.settings.get(RATE)
    if not isinstance(rate, int | float) or rate <= 0:
        return None
    if RATE not in spec.changes:
        return 1.0
    usual_rate = (spec.usual or {}).get(RATE)
    if not isinstance(usual_rate, int | float) or usual_rate <= 0:
        return None
    factor = rate / usual_rate
    return float(f"{factor:.6g}") if isfinite(factor) else None
