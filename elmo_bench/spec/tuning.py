"""The options of a run that tunes its encoder."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from omegaconf import DictConfig

from elmo_bench.base.errors import UserError

# Whether a run trains its encoder further, and the learning rate of that.
TUNE = "encoder.contextual.tune"
TUNED_RATE = "encoder.tune_lr"
FROZEN = "none"  # the value of TUNE for an encoder that is not trained
# The rates that dev chooses from, for each encoder (docs/choices.md).
TRIED_RATES = {"lora": (1e-4, 3e-4, 1e-3), "full": (1e-5, 3e-5, 1e-4)}
# Of a tuned encoder, where the user gives none: the middle one.
USUAL_RATES = {way: rates[1] for way, rates in TRIED_RATES.items()}
WAYS = (FROZEN, *USUAL_RATES)  # the values of TUNE
BACKWARD = 3  # reading with gradients takes so many times as long as without


def tuned_name(encoder: str, settings: Mapping[str, Any]) -> str:
    """The name of the encoder of a run with these settings.

    Such as `minilm, tuned (lora at 0.0003)`, or `minilm` if it is frozen. No comma is
    in the brackets: tables have one before each option in which a run differs.
    """
    if TUNE not in settings:
        return encoder
    return f"{encoder}, tuned ({settings[TUNE]} at {settings.get(TUNED_RATE)})"


def check_tuning(config: DictConfig, encoders: Iterable[Mapping[str, Any]]) -> None:
    """Raises UserError for an encoder that is to be tuned, and cannot be.

    encoders: the options of each contextual encoder.
    """
    contextual = config.encoder.contextual
    if contextual is None:
        return
    ways = [options.get("tune") for options in (contextual, *encoders)]
    asked = [way for way in ways if way not in (None, FROZEN)]
    if not asked:
        return
    option, name = f"{TUNE}={asked[0]}", config.encoder.name
    if contextual.get("kind") == "stack":
        raise UserError(
            f"{option}: encoder={name} is a stack, which cannot be tuned. Choose one "
            "of its encoders alone."
        )
    if config.mix.kind == "first":
        raise UserError(
            f"{option}: encoder={name} with mix=first reads the lowest layer alone, "
            "and the layers above it would be trained for nothing. Choose tune=none, "
            "or an encoder and mix that read all layers."
        )
    if config.task.get("report", {}).get("deterministic"):
        raise UserError(
            f"{option}: the head of task={config.task.name} learns without gradients. "
            "Choose tune=none."
        )


def check_frozen(options: Sequence[str], command: str) -> None:
    """Raises UserError if options on the command line tune an encoder."""
    for option in options:
        key, _, value = option.lstrip("+").partition("=")
        if key == TUNE and value != FROZEN:
            raise UserError(
                f"{option}: {command} is for frozen encoders. Leave it out."
            )


def tokens_read(
    options: Mapping[str, Any],
    *,
    train: int,
    dev: int,
    test: int,
    passes: float,
    epochs: int,
) -> float:
    """As many tokens as an encoder of these options reads in a run.

    A frozen encoder reads each text once. A tuned one reads the training texts so many
    times (`passes`), which with the backward pass takes three times as long, and dev
    after each of the epochs.
    """
    if options.get("tune") in (None, FROZEN):
        return train + dev + test
    return BACKWARD * passes * train + epochs * dev + test
