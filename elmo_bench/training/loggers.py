"""Loggers by name: `conf/logger`."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pytorch_lightning.loggers import CSVLogger, Logger, WandbLogger

from elmo_bench.base.errors import redacted
from elmo_bench.training.optimisers import construct


def build_logger(options: Mapping[str, Any], **run: Any) -> Logger | None:
    """The logger `options["name"]` for the run that the keyword arguments describe; None for `none`.

    run: `work`, the run's folder; `title`; `config`, plain data; `group`, a name or None; `tags`. Raises UserError.
    """
    return construct("logger", LOGGERS, {**run, **options})


def csv(*, work: Path, **_: Any) -> Logger:
    """`metrics.csv` in the run's folder; a resumed run writes a second file next to the first."""
    before = len(list(work.glob("log*")))
    return CSVLogger(work, name="", version=f"log{before or ''}")


def wandb(
    *,
    work: Path,
    title: str,
    config: dict[str, Any],
    project: str,
    group: str | None = None,
    tags: Sequence[str] = (),
) -> Logger:
    """A wandb run of its own, in its group.

    It is offline unless a key is set (`$WANDB_API_KEY`, `wandb login`) or `$WANDB_MODE` says otherwise.
    """
    import wandb

    config = json.loads(redacted(json.dumps(config)))
    online = bool(os.environ.get("WANDB_API_KEY") or wandb.api.api_key)
    mode = os.environ.get("WANDB_MODE", "online" if online else "offline")
    work.mkdir(parents=True, exist_ok=True)
    return WandbLogger(
        name=title, project=project, save_dir=work, config=config, mode=mode, reinit="finish_previous",
        group=group, tags=list(tags),
    )  # fmt: skip


def none(**_: Any) -> None:
    """Nothing is logged."""


def finish(logger: Logger | None, *, failed: bool) -> None:
    """Close the log of a run, also of a failed one."""
    if isinstance(logger, WandbLogger):
        logger.experiment.finish(exit_code=int(failed))


LOGGERS = {"csv": csv, "none": none, "wandb": wandb}
