"""The checkpoints that a killed run left: whether it can be resumed from them."""

from pathlib import Path
from typing import Any

from torch.nn import Module

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import read_checkpoint, write_checkpoint
from elmo_bench.runner.head_files import shapes_of
from elmo_bench.training.callbacks import History


def read_states(last: Path, module: Module, history: History) -> dict[str, Any]:
    """The states of the callbacks in a checkpoint.

    The best checkpoint is read too: the run needs it in the end, and one that is
    damaged would end every start. If it is of the epoch after the last one's, a kill
    came before last.ckpt was written again, and it takes that place. Raises UserError
    if either does not fit the module and the history of this process, or both do not
    fit each other.
    """
    ours = shapes_of(module.state_dict())
    latest = read_checkpoint(last, advice="")
    best = read_checkpoint(last.with_name("best.ckpt"), advice="")
    for checkpoint in (latest, best):
        if shapes_of(checkpoint["state_dict"]) != ours:
            raise UserError(f"{last}: written by another version of this program")
    states: dict[str, Any] = latest["callbacks"]
    past = states[history.state_key]
    if past.keys() != history.state_dict().keys():
        raise UserError(f"{last}: written by another version of this program")
    if past["code"] != history.code:
        raise UserError("the code of its encoder or task has changed")
    dev = past["curves"]["dev"]
    of_best = best["callbacks"][history.state_key]["curves"]["dev"]
    if of_best[:-1] == dev:
        write_checkpoint(last, best)
        states = best["callbacks"]
        return states
    upto_best = dev[: dev.index(max(dev)) + 1]
    if of_best != upto_best:
        raise UserError("best.ckpt is not of its best epoch")
    return states
