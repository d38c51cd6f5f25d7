"""What a run refuses of its options alone, before data and weights are read; no torch."""

from collections.abc import Callable, Sequence
from math import inf
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from elmo_bench.base.errors import UserError
from elmo_bench.spec.config import check


def _text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _number(value: Any) -> bool:
    return isinstance(value, (int, float))


def _whole(least: int) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, int) and value >= least


def _or_null(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or fits(value)


# (option, what fits, what to give)
_RULES: tuple[tuple[str, Callable[[Any], bool], str], ...] = (
    ("seed", _whole(0), "give a whole number from 0"),
    ("ledger", _text, "give a folder, such as ./3"),
    ("encoder.name", _text, "give a name, or a folder, such as ./3"),
    ("encoder.words", ("learned", "static", None).__contains__, "choose one of: learned, static, null"),
    ("place", ("input", "output", "both").__contains__, "choose one of: input, output, both"),
    ("mix.penalty", lambda value: _number(value) and 0 <= value < inf, "give a number from 0"),
    ("data.root", _or_null(_text), "give a folder, such as ./3"),
    ("data.train_fraction", lambda value: _number(value) and 0 < value <= 1, "give a number above 0, up to 1"),
    ("data.max_train", _or_null(_whole(1)), "give a whole number from 1, or null for no limit"),
    ("data.least_steps", _or_null(_whole(1)), "give a whole number from 1, or null"),
)


def check_sweep(overrides: Sequence[str], *, multirun: bool = True) -> None:
    """Raises UserError, before the first run of a sweep, for what `check` and `check_values` refuse."""
    for config in check("config", overrides, multirun=multirun):
        check_values(config, overrides)


def check_values(config: DictConfig, overrides: Sequence[str] = ()) -> None:
    """Raises UserError, in one line, for a value that no run can have, by itself or beside the others."""
    for key, fits, wanted in _RULES:
        value = OmegaConf.select(config, key)
        if not fits(value):
            raise UserError(f"{key}={value}: {wanted}")
    encoder, ledger = config.encoder, Path(config.ledger)
    if file := next((path for path in (ledger, *ledger.parents) if path.is_file()), None):
        raise UserError(f"ledger={ledger}: {file} is a file; give a folder")
    if encoder.contextual is None and any(override.startswith("encoder.name=") for override in overrides):
        raise UserError("encoder.name=… is for encoder=hf; beside other encoders give it a yaml (conf/encoder/hf.yaml)")
    if encoder.words and not encoder.vectors:
        raise UserError(
            f"encoder.vectors=null: encoder.words={encoder.words} needs a static table, if only for its width"
        )
    if getattr(encoder.contextual, "stateful", False) and config.store.mode != "off":
        raise UserError("encoder.contextual.stateful=true: vectors depend on the order of reading; add store=off")
