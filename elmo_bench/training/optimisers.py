"""Optimisers by name: `task.training.optimizer` in a config, such as `{name: adam, lr: 0.001}`."""

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch.optim import Optimizer

from elmo_bench.base.errors import UserError

OPTIMISERS: dict[str, type[Optimizer]] = {
    "adadelta": torch.optim.Adadelta,
    "adagrad": torch.optim.Adagrad,
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "sgd": torch.optim.SGD,
}


def build_optimiser(options: Mapping[str, Any], parameters: Iterable[torch.nn.Parameter]) -> Optimizer:
    """The optimiser `options["name"]`; the other options are its arguments. Raises UserError."""
    return construct("task.training.optimizer", OPTIMISERS, options, list(parameters))


def construct(where: str, known: Mapping[str, Any], options: Mapping[str, Any], *given: Any) -> Any:
    """Call the constructor that `options["name"]` chooses with `given` and the other options.

    `where` is the option's name, for the UserError about an unknown name or an argument that does not fit.
    """
    arguments = dict(options)
    name = arguments.pop("name", None)
    if name not in known:
        raise UserError(f"{where}.name={name}: unknown name. Choose one of: {', '.join(known)}.")
    try:
        return known[name](*given, **arguments)
    except (TypeError, ValueError) as error:
        raise UserError(f"{where}: {error}. Check its options for {name}.") from error
