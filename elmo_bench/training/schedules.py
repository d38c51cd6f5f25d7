"""Learning-rate schedules by the names of the configs (`task.training.schedule`)."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from torch.optim import lr_scheduler

from elmo_bench.base.errors import UserError

SCHEDULES: dict[str, Callable[..., Any]] = {
    "exponential": lr_scheduler.ExponentialLR,
    "plateau": partial(lr_scheduler.ReduceLROnPlateau, mode="max"),
}


def schedule(options: Mapping[str, Any]) -> dict[str, Any]:
    """{"scheduler": what makes it for an optimiser, "every": steps or "epoch"}. Raises UserError."""
    name, every = options["name"], options["every"]
    if name not in SCHEDULES:
        raise UserError(f"task.training.schedule.name={name}: choose one of: {', '.join(SCHEDULES)}")
    numbers = {key: value for key, value in options.items() if key not in ("name", "every")}
    return {"scheduler": partial(SCHEDULES[name], **numbers), "every": every}
