"""What is known of an encoder by its kind, without loading it: imports no torch."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

from elmo_bench.base.errors import UserError
from elmo_bench.elmo import pretrained
from elmo_bench.elmo.pretrained import locate, locate_options
from elmo_bench.encoders import hf_files
from elmo_bench.encoders.static import path_of


class Inputs(NamedTuple):
    """What an encoder's vectors depend on, besides its options and its code."""

    files: list[Path]
    packages: tuple[str, ...] = ()  # whose versions matter


def _elmo(options: Mapping[str, Any]) -> Inputs:
    weights = options.get("weights", "mini")
    return Inputs([*locate(weights, options.get("options"))])


def _random(options: Mapping[str, Any]) -> Inputs:
    return Inputs([locate_options(options.get("weights", "mini"))])


def _hf(options: Mapping[str, Any]) -> Inputs:
    folder = hf_files.find(str(options.get("weights")))
    return Inputs(hf_files.files_of(folder), hf_files.PACKAGES)


def _cove(options: Mapping[str, Any]) -> Inputs:
    weights = Path(str(options.get("weights"))).expanduser()
    return Inputs([weights, path_of(str(options.get("inputs")))])


def _named(options: Mapping[str, Any]) -> Inputs:
    files = []
    for option, value in options.items():
        if not isinstance(value, str) or option in ("kind", "device"):
            continue
        path = Path(value).expanduser()
        if path.is_dir():
            files += sorted(file for file in path.iterdir() if file.is_file())
        elif path.is_file():
            files.append(path)
        elif option == "weights":
            raise UserError(f"{value}: no such file or folder")
    return Inputs(files)


@dataclass(frozen=True)
class Kind:
    """A kind of encoder. The defaults are those of a kind that `KINDS` lacks, such as
    one of the user's.
    """

    # Of options of `Setup.encoders`: the files that the encoder will read. By default
    # those that the options name, and the files of a folder.
    inputs: Callable[[Mapping[str, Any]], Inputs] = _named
    # Of weights that need no path.
    names: tuple[str, ...] = ()
    # Tokens a second that it reads: results/costs. An `hf` model has MiniLM's rate; a
    # larger model is slower.
    rate: float = 1700
    # The extra of elmo-bench that it needs, and a package that the extra brings.
    extra: str = ""
    package: str = ""


KINDS = {
    "elmo": Kind(_elmo, pretrained.NAMES, rate=3000),
    "random": Kind(_random, pretrained.NAMES, rate=3000),
    "hf": Kind(_hf, hf_files.NAMES, extra="hf", package="transformers"),
    "cove": Kind(_cove, rate=3000),
    "precomputed": Kind(rate=inf),  # another program has computed its layers
}


def kind_of(options: Mapping[str, Any]) -> Kind:
    """The kind of the encoder with these options."""
    return KINDS.get(str(options.get("kind")), Kind())


def inputs_of(options: Mapping[str, Any]) -> Inputs:
    """The inputs of the encoder with these options. Raises UserError for a file that is
    missing.
    """
    return kind_of(options).inputs(options)
