"""From a name in a config to code: the classes of a task and the loader of an encoder.

A name is a file or folder of `elmo_bench.tasks` or `elmo_bench.encoders`. Nothing else
chooses code, so a config or a record from elsewhere cannot.
"""

import importlib
import inspect
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.include import code_of
from elmo_bench.spec.task_files import FLOOR, STRONG
from elmo_bench.spec.tuning import FROZEN

MEMBERS = {  # of the classes of a task: elmo_bench/training/contracts.py
    "Data": (
        *("schema", "ending", "read", "files"),
        *("canonical", "vocabulary", "read_file", "write"),
    ),
    "Head": ("collate", "loss", "predict"),
    "Floor": ("vocabulary", "fits", "collate", "predict"),
    "Metric": (
        "main",
        "formula",
        "summed",
        "files",
        "counts",
        "figures",
        "score_files",
    ),
}


def tasks() -> list[str]:
    """The names of the tasks."""
    files = _files("tasks", "*/data.py")
    return sorted({path.parent.name for path in files})


def task_class(task: str, part: str) -> Any:
    """The class `Data`, `Head` or `Metric` of a task: `part` names its module.

    Raises UserError for an unknown task, and for one without that module, class, or a
    member of the class.
    """
    name = part.capitalize()
    return _class(task, part, name, MEMBERS[name])


def head_class(task: str, head: str) -> Any:
    """The class `Head` of a choice of `head`. Raises UserError, as `task_class`."""
    part = "head" if head == STRONG else head
    members = MEMBERS["Floor" if head == FLOOR else "Head"]
    return _class(task, part, "Head", members)


def _class(task: str, part: str, name: str, members: Sequence[str]) -> Any:
    """The class of this name in a module of a task, which has these members."""
    _check_task(task)
    module = f"elmo_bench.tasks.{task}.{part}"
    where = f"task={task}"
    advice = "See docs/extend.md."
    try:
        cls = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        if error.name in (module, name):
            raise UserError(
                f"{where}: no class {name} in its {part}.py. {advice}"
            ) from None
        # Of another version of this package.
        if isinstance(error, ImportError) and str(error.name).startswith("elmo_bench."):
            problem = str(error)[:120]
            raise UserError(f"{where}: its {part}.py: {problem}. {advice}") from None
        raise  # of something else that the task imports
    missing = ", ".join(member for member in members if not hasattr(cls, member))
    if missing:
        raise UserError(
            f"{where}: class {name} in its {part}.py has no {missing}. {advice}"
        )
    return cls


def metric_of(task: str, main: str | None = None) -> Any:
    """The metric of a task, by which its records are checked: a `contracts.Metric`.

    main: the name of its main figure (`task.metric`). The task's usual one if it has
    none of this name. None if the task is not installed. Raises UserError if the task
    is installed and has no sound metric.
    """
    installed = {path.parent.name for path in _files("tasks", "*/metric.py")}
    if task not in installed and task not in tasks():
        return None
    usual = task_class(task, "metric")
    for other in getattr(usual, "others", ()):
        if other.main == main:
            return other()
    return usual()


def _check_task(task: str) -> None:
    """Raises UserError for an unknown task and for one that cannot be imported."""
    names = tasks()
    if task not in names:
        offered = ", ".join(names)
        raise UserError(
            f"task={task:.60}: unknown task. Choose one of: {offered}. "
            "Or give its folder: --include FOLDER, or set $ELMO_BENCH_INCLUDE."
        )
    if not task.isidentifier():
        raise UserError(
            f"task={task:.60}: not the name of a Python package. "
            f"Call its folder {_proper(task):.60}."
        )


def load_encoder(
    kind: str = "", *, run_seed: int = 0, version: Any = None, **options: Any
) -> Any:
    """The encoder that the module `elmo_bench.encoders.<kind>` loads.

    run_seed: the `seed` of a `load` that takes one, unless the options set it.
    version: of its code, which is part of a run's hash and no option of `load`.

    Raises UserError for an unknown kind and for options that `load` does not take.
    """
    load = _loader(kind)
    parameters = inspect.signature(load).parameters
    if "seed" in parameters:
        options.setdefault("seed", run_seed)
    if "tune" not in parameters:
        tune = options.pop("tune", FROZEN)
        if tune != FROZEN:
            raise UserError(
                f"encoder.contextual.tune={tune!s:.60}: an encoder of kind {kind} "
                "cannot be tuned. Choose tune=none."
            )
    try:
        inspect.signature(load).bind(**options)
    except TypeError as error:
        raise UserError(
            f"encoder.contextual: load of encoders/{kind}.py: {error}. "
            "Mend one of them."
        ) from None
    encoder = load(**options)
    is_included = code_of("encoders", kind) != ""
    if is_included:
        # Imported here, since the module imports torch, as every encoder does.
        checks = importlib.import_module("elmo_bench.encoders.checks")
        checks.check_encoder(encoder, name=f"encoder.contextual.kind={kind}")
    return encoder


def _loader(kind: str) -> Callable[..., Any]:
    """The function `load` of an encoder's module. Raises UserError."""
    if not kind:
        raise UserError(
            "encoder.contextual: its yaml has no kind. "
            "Give the name of a file in encoders."
        )
    where = f"encoder.contextual.kind={kind:.60}"
    kinds = {path.stem for path in _files("encoders", "*.py")}
    if kind not in kinds:
        raise UserError(
            f"{where}: unknown. Give the folder that has it: --include FOLDER, "
            "or set $ELMO_BENCH_INCLUDE."
        )
    if not kind.isidentifier():
        raise UserError(
            f"{where}: not the name of a Python module. "
            f"Call its file {_proper(kind):.60}.py."
        )
    module = importlib.import_module(f"elmo_bench.encoders.{kind}")
    load = getattr(module, "load", None)
    if load is None:
        raise UserError(
            f"{where}: encoders/{kind}.py has no function load. See docs/extend.md."
        )
    return load


def _proper(name: str) -> str:
    return re.sub(r"\W", "_", name)


def _files(package: str, pattern: str) -> list[Path]:
    """The files that match a pattern where `elmo_bench.<package>` finds its modules.

    The package is imported by name, since it may import torch.
    """
    folders = importlib.import_module(f"elmo_bench.{package}").__path__
    files: list[Path] = []
    for folder in folders:
        files += Path(folder).glob(pattern)
    return files
