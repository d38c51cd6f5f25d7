"""From a name in a config to code: the classes of a task and the loader of an encoder.

A name is a file or folder of `elmo_bench.tasks` or `elmo_bench.encoders`. Nothing else chooses code, so a config or a
record from elsewhere cannot.
"""

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.include import code_of
from elmo_bench.base.metric import Counting

MEMBERS = {  # of the classes of a task: elmo_bench/training/contracts.py
    "Data": ("schema", "ending", "read", "files", "canonical", "vocabulary", "read_file", "write"),
    "Head": ("collate", "loss", "predict"),
    "Metric": ("main", "formula", "summed", "files", "counts", "figures", "score_files"),
}


def tasks() -> list[str]:
    """The names of the tasks."""
    return sorted({path.parent.name for root in _folders("tasks") for path in Path(root).glob("*/data.py")})


def task_class(task: str, part: str) -> Any:
    """The class `Data`, `Head` or `Metric` of a task: `part` names its module.

    Raises UserError for an unknown task, and for one without that module, class, or a member of the class.
    """
    if task in (known := tasks()) and not task.isidentifier():
        raise UserError(f"task={task:.60}: not the name of a Python package. Call its folder {_proper(task):.60}.")
    if task not in known:
        names = ", ".join(known)
        raise UserError(f"task={task:.60}: unknown task. Choose one of: {names}. Or give its folder: --include FOLDER.")
    module, name = f"elmo_bench.tasks.{task}.{part}", part.capitalize()
    try:
        made = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        if error.name in (module, name):
            raise UserError(f"task={task}: no class {name} in its {part}.py. See CONTRIBUTING.md.") from None
        if isinstance(error, ImportError) and str(error.name).startswith("elmo_bench."):  # of another version
            raise UserError(f"task={task}: its {part}.py: {str(error)[:120]}. See CONTRIBUTING.md.") from None
        raise  # of something else that the task imports
    if lacking := [member for member in MEMBERS[name] if not hasattr(made, member)]:
        raise UserError(f"task={task}: class {name} in its {part}.py has no {', '.join(lacking)}. See CONTRIBUTING.md.")
    return made


def metric_of(task: str) -> Counting | None:
    """The metric of a task by which its records are checked; None if the task is not installed.

    Raises UserError if the task is installed and has no sound metric.
    """
    installed = {path.parent.name for root in _folders("tasks") for path in Path(root).glob("*/metric.py")}
    return task_class(task, "metric")() if task in installed or task in tasks() else None


def load_encoder(kind: str = "", *, run_seed: int = 0, version: Any = None, **options: Any) -> Any:
    """The encoder that the module `elmo_bench.encoders.<kind>` loads. Raises UserError for an unknown kind.

    run_seed: the `seed` of a `load` that takes one, unless the options have it.
    version: of its code, which is part of a run's hash and no option of `load`.
    """
    known = {path.stem for root in _folders("encoders") for path in Path(root).glob("*.py")}
    if not kind:
        raise UserError("encoder.contextual: its yaml has no kind. Give the name of a file in encoders.")
    where = f"encoder.contextual.kind={kind:.60}"
    if kind not in known:
        raise UserError(f"{where}: unknown. Give the folder that has it: --include FOLDER.")
    if not kind.isidentifier():
        raise UserError(f"{where}: not the name of a Python module. Call its file {_proper(kind):.60}.py.")
    if (load := getattr(importlib.import_module(f"elmo_bench.encoders.{kind}"), "load", None)) is None:
        raise UserError(f"{where}: encoders/{kind}.py has no function load. See CONTRIBUTING.md.")
    if "seed" in inspect.signature(load).parameters:
        options.setdefault("seed", run_seed)
    try:
        inspect.signature(load).bind(**options)
    except TypeError as error:
        raise UserError(f"encoder.contextual: load of encoders/{kind}.py: {error}. Mend one of them.") from None
    encoder = load(**options)
    if code_of("encoders", kind):
        checks = importlib.import_module("elmo_bench.encoders.checks")  # imports torch, as every encoder does
        checks.check_encoder(encoder, name=f"encoder.contextual.kind={kind}")
    return encoder


def _proper(name: str) -> str:
    return re.sub(r"\W", "_", name)


def _folders(package: str) -> list[str]:
    """Where `elmo_bench.<package>` finds its modules; it is imported by name, since it may import torch."""
    return list(importlib.import_module(f"elmo_bench.{package}").__path__)
