"""What is refused of options alone, before data and weights are read."""

from collections.abc import Callable, Sequence
from math import inf
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from elmo_bench.base.errors import UserError
from elmo_bench.spec.config import compose
from elmo_bench.spec.options import is_option, unknown_option
from elmo_bench.spec.settings import VERSIONS, parts_of

_OPEN = ("task", "encoder", "mix", "launcher", "logger")  # `+key=value` may add an option to these


def _text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _number(low: float, high: float = inf, *, above: bool = False, whole: bool = False) -> Callable[[Any], bool]:
    """A finite number from `low`, or `above` it, and below `high`; `whole`: an integer."""
    kinds = (int,) if whole else (int, float)
    return lambda value: type(value) in kinds and low <= value < high and not (above and value == low)


def _filters(value: Any) -> bool:
    """Whether this is a list of [width, number], such as [[3, 64]]."""
    pairs = list(value) if isinstance(value, Sequence) else []
    return pairs != [] and all(
        isinstance(pair, Sequence) and len(pair) == 2 and all(map(_COUNT, pair)) for pair in pairs
    )


_COUNT, _POSITIVE = _number(1, whole=True), _number(0, above=True)
# (option, what fits, whether null fits too, what to give)
_RULES: tuple[tuple[str, Callable[[Any], bool], bool, str], ...] = (
    ("lr_scale", _POSITIVE, False, "give a number above 0"),
    ("seed", _number(0, whole=True), False, "give a whole number from 0"),
    ("ledger", _text, False, "give a folder, such as ./3"),
    ("encoder.name", _text, False, "give a name, or a folder, such as ./3"),
    ("encoder.weights", _text, True, "give a name, or a folder, such as ./3"),
    ("encoder.vectors", _text, True, "give a name, or a file, such as ./3"),
    ("data.root", _text, True, "give a folder, such as ./3"),
    ("store.max_gb", _number(0), True, "give a number from 0"),
    ("trainer.accelerator", ("cpu", "gpu").__contains__, False, "choose one of: cpu, gpu"),
    ("trainer.device", ("cpu", "cuda").__contains__, False, "choose one of: cpu, cuda"),
    ("trainer.precision", ("32-true", "bf16-mixed").__contains__, False, "choose one of: 32-true, bf16-mixed"),
    ("encoder.words", ("learned", "static").__contains__, True, "choose one of: learned, static, null"),
    ("place", ("input", "output", "both").__contains__, False, "choose one of: input, output, both"),
    ("mix.penalty", _number(0), False, "give a number from 0"),
    ("mix.dropout", _number(0, 1), False, "give a number from 0, below 1"),
    ("data.train_fraction", lambda value: value == 1 or _number(0, 1, above=True)(value), False,
     "give a number above 0, up to 1"),
    ("data.max_train", _COUNT, True, "give a whole number from 1, or null for no limit"),
    ("data.least_steps", _COUNT, True, "give a whole number from 1, or null"),
    ("task.training.epochs", _COUNT, False, "give a whole number from 1"),
    ("task.training.patience", _COUNT, True, "give a whole number from 1, or null for all epochs"),
    ("task.training.batch", _COUNT, False, "give a whole number from 1"),
    ("task.training.tokens", _COUNT, False, "give a whole number from 1"),
    ("task.training.clip", _POSITIVE, True, "give a number above 0, or null"),
    ("task.characters.dim", _COUNT, True, "give a whole number from 1"),
    ("task.characters.filters", _filters, True, "give pairs of a width and a number of filters, such as [[3,64]]"),
)  # fmt: skip


def check_options(config: DictConfig) -> None:
    """Raises UserError, in one line, for an option that no run can have, alone or together with the others."""
    for option, fits, null, wanted in _RULES:
        value = OmegaConf.select(config, option)
        if not (null if value is None else fits(value)):
            raise UserError(f"{option}={value}: {wanted}")
    data = config.data
    if data.least_steps is not None and data.max_train is not None and data.train_fraction == 1:
        raise UserError(
            f"data.least_steps={data.least_steps}: has no effect on data.max_train={data.max_train}. "
            "Use data.train_fraction, or remove data.least_steps."
        )
    encoder, mix, ledger = config.encoder, config.mix.kind, Path(config.ledger)
    if file := next((path for path in (ledger, *ledger.parents) if path.is_file()), None):
        raise UserError(f"ledger={ledger}: {file} is a file; give a folder")
    if encoder.words and not encoder.vectors:
        raise UserError(
            f"encoder.vectors=null: encoder.words={encoder.words} needs a static table, which gives their width"
        )
    named = encoder.get("with_first") or {}  # {encoder: the name that it has with mix=first}
    others = [named.get(encoder.name)] if mix == "first" else [key for key in named if named[key] == encoder.name]
    if other := next(filter(None, others), None):
        same = f"encoder={other}" + ("" if mix == "first" else f" mix={mix}")
        raise UserError(f"encoder={encoder.name} mix={mix}: the same run as {same}. Use that name.")
    if any(options.get("stateful") for options in parts_of(encoder.contextual).values()) and config.store.mode != "off":
        raise UserError("encoder.contextual.stateful=true: vectors depend on the order of reading; add store=off")


def check_given(options: Sequence[str]) -> None:
    """Raises UserError for a `key=value` that no run reads.

    That is one that sets a version of the code, which a record states as it is, and one that `+` adds where nothing
    looks for it, such as `+data.max_trian=5`.
    """
    for given in options:
        key = given.partition("=")[0].lstrip("+~")
        if key in VERSIONS:
            raise UserError(f"{given}: a version of the code, which no option changes. Remove the option.")
        if given.startswith("+") and key.split(".")[0] not in _OPEN:
            plain = compose("config")
            if not is_option(key, plain):
                raise UserError(unknown_option(key, plain))
