"""Loggers by name: `conf/logger`.

Several at once are joined by a plus: `logger.name=csv+tensorboard`.
"""

import inspect
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pytorch_lightning.loggers import CSVLogger, Logger, TensorBoardLogger, WandbLogger

from elmo_bench.base.errors import UserError, redacted
from elmo_bench.base.refusals import make_folder
from elmo_bench.training.optimisers import construct

# Settings of wandb, which else sends the command line, where a password may be, the
# paths of program and Python, the names of host and user, the remote of git, packages,
# code, what is printed, and how busy the machine is. A setting comes before its
# environment variable.
PRIVATE: dict[str, Any] = {
    "x_disable_meta": True,
    "x_disable_stats": True,
    "x_disable_machine_info": True,
    "x_save_requirements": False,
    "console": "off",
    "save_code": False,
    "disable_code": True,
    "disable_git": True,
    "disable_job_creation": True,
    "host": "hidden",
    "username": "hidden",
    "email": "",
    "program": "elmo-bench",
    "program_relpath": "elmo-bench",
    "program_abspath": "",
}


@contextmanager
def open_loggers(options: Mapping[str, Any], **run: Any) -> Iterator[list[Logger]]:
    """The loggers that `options["name"]` names, none for `none`.

    They are closed when the block ends, as failed if it raises.

    run: `work`, the run's folder; `title`; `config`, plain data; `group`, a name or
    None; `tags`. Of several, each logger gets the options that it has. With one alone,
    an option that it lacks raises UserError.
    """
    names = str(options["name"]).split("+")
    run["config"] = json.loads(redacted(json.dumps(run["config"])))
    loggers: list[Logger] = []
    for name in names:
        chosen = dict(options)
        if len(names) > 1 and name in LOGGERS:
            parameters = inspect.signature(LOGGERS[name]).parameters
            chosen = {key: value for key, value in options.items() if key in parameters}
        elif name in LOGGERS:
            _check_options(name, options)
        chosen["name"] = name
        logger = construct("logger", LOGGERS, {**run, **chosen})
        if logger is not None:
            loggers.append(logger)
    failed = True
    try:
        yield loggers
        failed = False
    finally:
        for logger in loggers:
            if isinstance(logger, WandbLogger):
                logger.experiment.finish(exit_code=int(failed))
            else:
                logger.finalize("failed" if failed else "success")


def _check_options(name: str, options: Mapping[str, Any]) -> None:
    """Raise UserError for an option that a logger lacks."""
    parameters = inspect.signature(LOGGERS[name]).parameters
    for option in options:
        if option != "name" and option not in parameters:
            raise UserError(f"logger.{option}: {name} has no such option. Remove it.")


def start_anew(loggers: Sequence[Logger]) -> None:
    """Forget what was logged of a training that is not resumed."""
    for logger in loggers:
        if isinstance(logger, CSVLogger):
            writer = logger.experiment
            Path(writer.metrics_file_path).unlink(missing_ok=True)
            writer.metrics_keys = []


def csv(*, work: Path, **_: Any) -> Logger:
    """`log/metrics.csv` in the run's folder; a resumed run goes on with it."""
    logger = CSVLogger(work, name="", version="log", flush_logs_every_n_steps=1)
    file = Path(logger.log_dir) / "metrics.csv"
    before = ""
    if file.is_file() and (work / "last.ckpt").exists():
        before = _finished_epochs(file.read_text(encoding="utf-8"))
    file.unlink(missing_ok=True)
    writer = logger.experiment
    if before:
        file.write_text(before, encoding="utf-8")
        writer.metrics_keys = before.splitlines()[0].split(",")
    return logger


def _finished_epochs(text: str) -> str:
    """The rows of a log up to its last epoch, each of which ends with its loss.

    What a killed run logged behind them is logged again.
    """
    lines = text.splitlines(keepends=True)
    if not lines:
        return ""
    names = lines[0].strip().split(",")
    end = 1
    for number, line in enumerate(lines[1:], start=2):
        row = dict(zip(names, line.strip().split(","), strict=False))
        if row.get("loss"):
            end = number
    return "".join(lines[:end])


def tensorboard(
    *, work: Path, config: dict[str, Any], group: str | None = None, **_: Any
) -> Logger:
    """Events in `log` of the run's folder; options and group are its parameters."""
    logger = TensorBoardLogger(work, name="", version="log")
    logger.log_hyperparams(config | {"group": group or ""})
    return logger


def wandb(
    *,
    work: Path,
    title: str,
    config: dict[str, Any],
    project: str,
    group: str | None = None,
    tags: Sequence[str] = (),
) -> Logger:
    """A wandb run in its group: options, scores, curves, nothing of the machine.

    `PRIVATE` keeps the machine out. The run is offline unless a key is set
    (`$WANDB_API_KEY`, `wandb login`) or `$WANDB_MODE` is online.
    """
    import wandb

    online = bool(os.environ.get("WANDB_API_KEY") or wandb.api.api_key)
    mode = os.environ.get("WANDB_MODE", "online" if online else "offline")
    make_folder(work)
    return WandbLogger(
        name=title,
        project=project,
        save_dir=work,
        config=config,
        mode=mode,
        reinit="finish_previous",
        group=group,
        tags=list(tags),
        settings=wandb.Settings(**PRIVATE),
    )


def none(**_: Any) -> None:
    """Nothing is logged."""


LOGGERS: dict[str, Callable[..., Logger | None]] = {
    "csv": csv,
    "none": none,
    "tensorboard": tensorboard,
    "wandb": wandb,
}
