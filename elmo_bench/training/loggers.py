"""Loggers by the names of `conf/logger`."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pytorch_lightning.loggers import CSVLogger, Logger, WandbLogger

from elmo_bench.base.errors import UserError


def csv(*, work: Path, **_: Any) -> Logger:
    """`metrics.csv` under the run's folder; a resumed run writes a folder of its own beside the first."""
    parts = len(list(work.glob("log*")))
    return CSVLogger(work, name="", version=f"log{parts or ''}")


def wandb(
    *,
    work: Path,
    title: str,
    config: dict[str, Any],
    project: str,
    group: str | None = None,
    tags: Sequence[str] = (),
) -> Logger:
    """One wandb run, in its group.

    Offline unless a key is set (`$WANDB_API_KEY`, `wandb login`) or `$WANDB_MODE` says otherwise.
    """
    import wandb

    online = bool(os.environ.get("WANDB_API_KEY") or wandb.api.api_key)
    mode = os.environ.get("WANDB_MODE", "online" if online else "offline")
    work.mkdir(parents=True, exist_ok=True)
    return WandbLogger(
        name=title, project=project, save_dir=work, config=config, mode=mode, reinit="finish_previous",
        group=group, tags=list(tags),
    )  # fmt: skip


def none(**_: Any) -> None:
    """Nothing is logged."""


LOGGERS = {"csv": csv, "none": none, "wandb": wandb}


@contextmanager
def logging(options: Mapping[str, Any], **about: Any) -> Iterator[Logger | None]:
    """The logger of `{"name": …, <options>}`, closed when the block ends. `about`: work, title, config, group, tags."""
    name = options["name"]
    if name not in LOGGERS:
        raise UserError(f"logger.name={name}: choose one of: {', '.join(LOGGERS)}")
    logger = LOGGERS[name](**about, **{key: value for key, value in options.items() if key != "name"})
    failed = True
    try:
        yield logger
        failed = False
    finally:
        finish(logger, failed=failed)


def finish(logger: Logger | None, *, failed: bool) -> None:
    """Close the run's log, also after a failure."""
    if isinstance(logger, WandbLogger):
        logger.experiment.finish(exit_code=int(failed))
