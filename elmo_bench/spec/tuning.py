"""The options of a run that tunes its encoder."""

from omegaconf import DictConfig

from elmo_bench.base.errors import UserError

# Whether a run trains its encoder further, and the learning rate of that.
TUNE = "encoder.contextual.tune"
TUNED_RATE = "encoder.tune_lr"
# The rates that dev chooses from, for each encoder (docs/protocol.md).
TRIED_RATES = {"lora": (1e-4, 3e-4, 1e-3), "full": (1e-5, 3e-5, 1e-4)}
# Of a tuned encoder, where the user gives none: the middle one.
USUAL_RATES = {way: rates[1] for way, rates in TRIED_RATES.items()}


def check_tuning(encoder: DictConfig, task: DictConfig) -> None:
    """Raises UserError for an encoder that is to be tuned, and cannot be."""
    contextual = encoder.contextual
    if contextual is None:
        return
    parts = contextual.get("parts") or {}
    asked = [options.get("tune") for options in (contextual, *parts.values())]
    if {*asked} <= {None, "none"}:
        return
    if contextual.get("kind") == "stack":
        raise UserError(
            f"encoder.contextual.tune: encoder={encoder.name} is a stack, which "
            "cannot be tuned. Choose one of its encoders alone."
        )
    if task.get("report", {}).get("deterministic"):
        raise UserError(
            f"encoder.contextual.tune={contextual.tune}: the head of "
            f"task={task.name} learns without gradients. Choose tune=none."
        )
