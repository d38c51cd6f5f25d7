"""The options of a training, checked before the long work."""

import torch
from omegaconf import DictConfig

from elmo_bench.base.errors import UserError
from elmo_bench.elmo.export import DTYPES
from elmo_bench.pretraining.loop import BFLOAT16, device_of, optimizer_of
from elmo_bench.spec.settings import Rules, check_rules, number, text

# Tuples, since a value may be a list, which a dict or a set cannot look up.
NUMBERS = tuple(DTYPES)
ACCELERATORS = ("cpu", "gpu")
PRECISIONS = ("32-true", BFLOAT16)
SCHEDULES = ("constant", "linear", "cosine")
RULES: Rules = (  # as in spec/settings.py
    (ACCELERATORS.__contains__, "one of: cpu, gpu", ("accelerator",)),
    (NUMBERS.__contains__, f"one of: {', '.join(NUMBERS)}", ("dtype",)),
    (
        PRECISIONS.__contains__,
        f"one of: {', '.join(PRECISIONS)}",
        ("recipe.precision",),
    ),
    (SCHEDULES.__contains__, f"one of: {', '.join(SCHEDULES)}", ("recipe.schedule",)),
    (text, "a name, such as ./my-elmo", ("out", "encoded", "tokenizer")),
    (text, "a text", ("licence",)),
    (
        number(1, whole=True),
        "a whole number from 1",
        (
            "recipe.cells",
            "recipe.samples",
            "recipe.vocabulary",
            "recipe.steps",
            "fit_steps",
        ),
    ),
    (
        number(0, above=True),
        "a number above 0",
        ("recipe.epochs", "recipe.minutes", "recipe.clip", "recipe.optimizer.lr"),
    ),
    (
        number(0),
        "a number from 0",
        ("recipe.warmup", "recipe.full_from", "checkpoint_minutes"),
    ),
    (number(0, 1), "a number from 0, below 1", ("recipe.dropout",)),
    (number(0, 2**32, whole=True), f"a whole number from 0 to {2**32 - 1}", ("seed",)),
)
NULLABLE = (
    "encoded",
    "recipe.steps",
    "recipe.epochs",
    "recipe.minutes",
    "fit_steps",
)


def check_run(config: DictConfig) -> None:
    """Check options before the long work.

    Raises UserError for an option that no training can have.
    """
    check_rules(config, RULES, NULLABLE)
    recipe = config.recipe
    if recipe.steps is None and recipe.minutes is None and recipe.epochs is None:
        raise UserError(
            "recipe.epochs=null: without recipe.steps and recipe.minutes. Give one of "
            "the three."
        )
    device_of(config)
    optimizer_of(config, [torch.zeros(1, requires_grad=True)])  # for its errors
