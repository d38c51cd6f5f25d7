"""The files that an encoder will read, known without loading it: imports no torch."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from elmo_bench.base.errors import UserError
from elmo_bench.elmo.pretrained import locate, locate_options
from elmo_bench.encoders import hf_files
from elmo_bench.encoders.static import path_of


class Inputs(NamedTuple):
    """What an encoder's vectors depend on, besides its options and its code."""

    files: list[Path]
    packages: tuple[str, ...] = ()  # whose versions matter


def inputs_of(options: Mapping[str, Any]) -> Inputs:
    """The inputs of the encoder with these options (`Setup.encoders`).

    Of a kind that is not listed here: the files that its options name, and the files of
    a folder. Raises UserError for a file that is missing.
    """
    kind = str(options.get("kind"))
    listed = {"cove": _cove, "elmo": _elmo, "hf": _hf, "random": _random}
    return listed.get(kind, _named)(options)


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
