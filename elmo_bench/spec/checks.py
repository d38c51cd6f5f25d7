"""What is refused of options alone, before data and weights are read."""

from collections.abc import Callable
from math import inf
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from elmo_bench.base.errors import UserError
from elmo_bench.spec.settings import parts_of


def _text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _whole(least: int) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= least


def _or_null(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or fits(value)


# (option, what fits, what to give)
_RULES: tuple[tuple[str, Callable[[Any], bool], str], ...] = (
    ("lr_scale", lambda value: _number(value) and 0 < value < inf, "give a number above 0"),
    ("seed", _whole(0), "give a whole number from 0"),
    ("ledger", _text, "give a folder, such as ./3"),
    ("encoder.name", _text, "give a name, or a folder, such as ./3"),
    ("encoder.weights", _or_null(_text), "give a name, or a folder, such as ./3"),
    ("encoder.vectors", _or_null(_text), "give a name, or a file, such as ./3"),
    ("data.root", _or_null(_text), "give a folder, such as ./3"),
    ("encoder.words", ("learned", "static", None).__contains__, "choose one of: learned, static, null"),
    ("place", ("input", "output", "both").__contains__, "choose one of: input, output, both"),
    ("mix.penalty", lambda value: _number(value) and 0 <= value < inf, "give a number from 0"),
    ("data.train_fraction", lambda value: _number(value) and 0 < value <= 1, "give a number above 0, up to 1"),
    ("data.max_train", _or_null(_whole(1)), "give a whole number from 1, or null for no limit"),
    ("data.least_steps", _or_null(_whole(1)), "give a whole number from 1, or null"),
    ("task.training.epochs", _whole(1), "give a whole number from 1"),
    ("task.training.patience", _whole(0), "give a whole number from 0"),
)


def check_options(config: DictConfig) -> None:
    """Raises UserError, in one line, for an option that no run can have, alone or together with the others."""
    for option, fits, wanted in _RULES:
        if not fits(value := OmegaConf.select(config, option)):
            raise UserError(f"{option}={value}: {wanted}")
    encoder, ledger = config.encoder, Path(config.ledger)
    if file := next((path for path in (ledger, *ledger.parents) if path.is_file()), None):
        raise UserError(f"ledger={ledger}: {file} is a file; give a folder")
    if encoder.words and not encoder.vectors:
        raise UserError(
            f"encoder.vectors=null: encoder.words={encoder.words} needs a static table, which gives their width"
        )
    if any(options.get("stateful") for options in parts_of(encoder.contextual).values()) and config.store.mode != "off":
        raise UserError("encoder.contextual.stateful=true: vectors depend on the order of reading; add store=off")
