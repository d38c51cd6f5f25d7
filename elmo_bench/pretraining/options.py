"""Options that every training has: what they may be, the device, the learning rate."""

import math

import torch
from omegaconf import DictConfig, OmegaConf

from elmo_bench.base.errors import UserError
from elmo_bench.elmo.export import DTYPES

COUNTED = ("recipe.cells", "recipe.samples", "recipe.vocabulary", "recipe.steps", "fit_steps")
POSITIVE = ("recipe.epochs", "recipe.minutes", "recipe.clip")
BFLOAT16 = "bf16-mixed"
CHOICES = {"accelerator": ("cpu", "gpu"), "dtype": tuple(DTYPES), "recipe.precision": ("32-true", BFLOAT16),
           "recipe.schedule": ("constant", "linear", "cosine")}  # fmt: skip


def check_options(config: DictConfig) -> None:
    """Raises UserError for an option that no training can have, before the long work; null is fine for a number."""
    for key, choices in CHOICES.items():
        if (value := OmegaConf.select(config, key)) not in choices:
            raise UserError(f"{key}={value}: unknown. Choose {', '.join(choices)}.")
    for key in COUNTED + POSITIVE:
        value, kinds = OmegaConf.select(config, key), (int,) if key in COUNTED else (int, float)
        if value is not None and (not isinstance(value, kinds) or value <= 0):
            raise UserError(f"{key}={value}: give {'a whole number from 1' if key in COUNTED else 'a number above 0'}")
    if not isinstance(config.seed, int) or config.seed < 0:
        raise UserError(f"seed={config.seed}: give a whole number from 0")
    if not 0 <= config.recipe.dropout < 1:
        raise UserError(f"recipe.dropout={config.recipe.dropout}: give a number from 0 to below 1")
    if config.recipe.steps is config.recipe.minutes is config.recipe.epochs is None:
        raise UserError("recipe.epochs=null: without recipe.steps and recipe.minutes. Give one of the three.")
    device_of(config)


def device_of(config: DictConfig) -> str:
    """torch's name of the device. Raises UserError if it is missing."""
    if config.accelerator == "gpu" and not torch.cuda.is_available():
        raise UserError("accelerator=gpu: no CUDA device here. Use accelerator=cpu.")
    return "cuda" if config.accelerator == "gpu" else "cpu"


def rate_factor(schedule: str, *, step: int, warmup: int, done: float) -> float:
    """The learning rate as a fraction of its highest value: a linear warm-up, then by `done`, the fraction behind.

    `constant` stays, `linear` falls to 0, `cosine` falls to a fiftieth.
    """
    up = min(1.0, (step + 1) / max(1, warmup))
    falls = {"constant": 1.0, "linear": 1 - done, "cosine": 0.02 + 0.49 * (1 + math.cos(math.pi * done))}
    return up * falls[schedule]
