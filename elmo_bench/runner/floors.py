"""The floor of a run on data of the user's own, which its score is compared with.

Imports no torch.
"""

from collections.abc import Sequence

from omegaconf import DictConfig

from elmo_bench.spec.run_spec import DRAWN
from elmo_bench.spec.settings import METRIC
from elmo_bench.spec.task_files import floor_of

# The floor takes these options of a run, which say what it reads and where it is kept.
_SHARED = (
    *("data", "suite", "size", "store", "logger", "launcher"),
    *("ledger", "overwrite", "predictions", "experiment", "quick"),
)


def floor_options(config: DictConfig, options: Sequence[str]) -> list[str] | None:
    """The options of the floor of a run; None for a floor, and for a task without one.

    config: of the run. options: that made it, an experiment's among them.
    """
    floor = floor_of(config.task.name)
    if floor is None or config.encoder.name == floor:
        return None
    keys = {option: option.partition("=")[0].lstrip("+") for option in options}
    # All seeds of a floor are the same, unless they draw the training examples.
    is_drawn = not DRAWN.isdisjoint(keys.values())
    shared = []
    for option, key in keys.items():
        if key == "seed":
            is_shared = is_drawn
        elif key.startswith("task"):
            is_shared = key in ("task", METRIC) or key.startswith("task.data.")
        else:
            is_shared = key.split(".")[0] in _SHARED or key == "trainer.threads"
        if is_shared:
            shared.append(option)
    return [*shared, f"encoder={floor}"]
