"""Finding a biLM by name, path or address, and loading it."""

import hashlib
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from elmo_bench.base.downloads import cache_folder, fetch, record, verify
from elmo_bench.base.errors import UserError
from elmo_bench.base.files import sha256_of
from elmo_bench.elmo.bilm import BiLM
from elmo_bench.elmo.hub import is_repository, repository
from elmo_bench.elmo.options import BiLMOptions
from elmo_bench.elmo.published import BILMS, bilm_file, bilm_folder, known_address
from elmo_bench.elmo.weights import load

MINI = Path(__file__).parents[1] / "weights"
PUBLISHED = tuple(BILMS)
OPTIONS, WEIGHTS = ("*options.json",), ("*.hdf5", "*weights.safetensors")


def load_bilm(weights: str, options: str | None = None) -> tuple[BiLM, str]:
    """The frozen biLM that `locate` finds, and its name in a hash. Raises UserError."""
    return load_files(*locate(weights, options))


def load_files(options: Path, weights: Path) -> tuple[BiLM, str]:
    """The frozen biLM of two files, and its name in a hash.

    That is the SHA-256 of the weights and the beginning of that of the options (clips and activation stand there).
    Raises UserError where the files do not fit, or are no longer those that were first read under their name.
    """
    checksums = {path: _checksum(path) for path in (options, weights)}
    for path, checksum in checksums.items():
        verify(path, checksum)
    bilm = load(BiLMOptions.from_file(options), weights)
    for path, checksum in checksums.items():
        record(path, checksum)
    return bilm, _name(checksums[options], checksums[weights])


def checksum_of(options: Path, weights: Path) -> str:
    """The name in a hash that `load_files` gives these two files. Raises UserError where one is missing."""
    return _name(_checksum(options), _checksum(weights))


def locate(weights: str, options: str | None = None) -> tuple[Path, Path]:
    """(options, weights), of which `weights` may be, in this order:

    with `options`, a path or address: a file, as path or address, too;
    `mini`, or a published name (`small`, `medium`, `original`, `original_5.5B`): downloaded at first use;
    a folder with `*options.json` and one `*.hdf5` or `*weights.safetensors`;
    a weights file, as path or address, with its options beside it;
    `user/repo` or `user/repo@revision` on the Hugging Face Hub.

    Raises UserError where there are no such files.
    """
    if options is not None:
        return resolve_file(options), resolve_file(weights)
    if weights in PUBLISHED:
        return _one(bilm_folder(weights), OPTIONS) or bilm_file(weights, "options"), (
            _one(bilm_folder(weights), WEIGHTS) or bilm_file(weights, "weights")
        )
    if _is_address(weights):
        if not weights.endswith("weights.hdf5"):
            raise UserError(f"{weights}: give the address of its options.json too (options=…)")
        return resolve_file(weights.removesuffix("weights.hdf5") + "options.json"), resolve_file(weights)
    path = MINI if weights == "mini" else Path(weights).expanduser()
    if path.is_file():
        return _options_beside(path), path
    if not path.is_dir() and is_repository(weights):
        path = repository(weights)
    if not path.is_dir():
        known = ", ".join(["mini", *PUBLISHED])
        raise UserError(
            f"weights '{weights}': no such folder or file, and not one of the known weights: {known} (nor user/repo on "
            "the Hugging Face Hub)"
        )
    return _needed(path, OPTIONS), _needed(path, WEIGHTS)


def resolve_file(path_or_address: str) -> Path:
    """A file by its path or its http(s) address; the latter is downloaded once. Raises UserError if it is not there."""
    if _is_address(path_or_address):
        if found := known_address(path_or_address):
            return bilm_file(*found)
        name = PurePosixPath(urlsplit(path_or_address).path).name
        if not name:
            raise UserError(f"{path_or_address}: not the address of a file")
        folder = hashlib.sha256(path_or_address.encode()).hexdigest()[:16]
        return fetch(path_or_address, cache_folder() / "elmo" / "urls" / folder / name)
    path = Path(path_or_address).expanduser()
    if not path.is_file():
        raise UserError(f"{path_or_address}: no such file")
    return path


def _is_address(text: str) -> bool:
    return text.startswith(("https://", "http://"))


def _checksum(path: Path) -> str:
    try:
        return sha256_of(path)
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror or error})") from None


def _name(options: str, weights: str) -> str:
    return f"{weights} options {options[:12]}"


def _options_beside(weights: Path) -> Path:
    """`x_options.json` of `x_weights.hdf5` where there is one, else the only `*options.json` of the folder."""
    beside = weights.with_name(weights.stem.replace("weights", "options") + ".json")
    return beside if "weights" in weights.stem and beside.is_file() else _needed(weights.parent, OPTIONS)


def _one(folder: Path, patterns: tuple[str, ...]) -> Path | None:
    found = sorted(path for pattern in patterns for path in folder.glob(pattern))
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        raise UserError(f"{folder}: {len(found)} files match {' or '.join(patterns)} ({names}); name one of them")
    return found[0] if found else None


def _needed(folder: Path, patterns: tuple[str, ...]) -> Path:
    if (found := _one(folder, patterns)) is None:
        raise UserError(f"{folder}: no files match {' or '.join(patterns)}; exactly one is needed here")
    return found
