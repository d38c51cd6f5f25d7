"""The tasks of the clone, for commands that need one's yaml or a part of it, and neither torch nor a whole config."""

import importlib
from pathlib import Path
from typing import Any

import yaml

from elmo_bench.base.errors import UserError

CLONE = Path(__file__).resolve().parents[2]  # the folder of conf/ and tasks/


def tasks() -> list[str]:
    """The names in conf/task."""
    return sorted(path.stem for path in (CLONE / "conf" / "task").glob("*.yaml"))


def task_yaml(task: str) -> dict[str, Any]:
    """`conf/task/<task>.yaml` as plain data, references unresolved. Raises UserError for an unknown task."""
    if task not in (known := tasks()):
        raise UserError(f"unknown task '{task}'; choose one of: {', '.join(known) or 'none (run from a clone)'}")
    return yaml.safe_load((CLONE / "conf" / "task" / f"{task}.yaml").read_text(encoding="utf-8"))


def named(target: str) -> Any:
    """What a dotted name such as a `_target_` stands for."""
    module, name = target.rsplit(".", 1)
    return getattr(importlib.import_module(module), name)
