"""Finding the files of a biLM by name, path, address or repository, and loading them.

Files belong together by their names. Of `x-weights.safetensors` the options are `x-options.json`, the softmax is
`x-softmax.safetensors` and the vocabulary `x-vocabulary.txt`, plain or compressed. The published files have no softmax.
"""

import hashlib
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from elmo_bench.base.downloads import cache_folder, fetch, record, verify
from elmo_bench.base.errors import UserError
from elmo_bench.base.files import sha256_of
from elmo_bench.elmo.model import BiLM
from elmo_bench.elmo.options import BiLMOptions
from elmo_bench.elmo.published import BILMS, FILES, bilm_file, bilm_folder, is_repository, known_address, repository
from elmo_bench.elmo.weights import load

MINI = Path(__file__).parents[1] / "weights"
PUBLISHED = tuple(BILMS)
OPTIONS, WEIGHTS = ("*options.json",), ("*.hdf5", "*weights.safetensors")
SOFTMAX, VOCABULARY = "softmax.safetensors", "vocabulary.txt"
ENDINGS = ("", ".gz", ".xz", ".zst")  # of the vocabulary
HUB = (f"*{SOFTMAX}", f"*{VOCABULARY}*")


class NoSoftmax(UserError):
    """The weights come without a softmax, as the published ones do."""


def load_bilm(weights: str, options: str | None = None) -> tuple[BiLM, str]:
    """The frozen biLM that `locate` finds, and its checksum. Raises UserError."""
    return load_files(*locate(weights, options))


def load_files(options: Path, weights: Path) -> tuple[BiLM, str]:
    """The frozen biLM of two files, and its checksum (see `checksum_of`).

    Raises UserError if the files do not belong together, or if a file in the cache folder has changed.
    """
    checksums = {path: _sha256(path) for path in (options, weights)}
    for path, checksum in checksums.items():
        verify(path, checksum)
    bilm = load(BiLMOptions.from_file(options), weights)
    for path, checksum in checksums.items():
        record(path, checksum)
    return bilm, _joined(checksums[options], checksums[weights])


def checksum_of(options: Path, weights: Path) -> str:
    """SHA-256 of the weights and the start of the options' (clips and activation are there). Raises UserError."""
    return _joined(_sha256(options), _sha256(weights))


def _joined(options: str, weights: str) -> str:
    return f"{weights} options {options[:12]}"


def locate(weights: str, options: str | None = None) -> tuple[Path, Path]:
    """The files (options, weights). `weights` may be, in this order:

    with `options`, a path or address: a path or address too;
    `mini`, or a published name (`small`, `medium`, `original`, `original_5.5B`), downloaded at first use;
    a folder with `*options.json` and one `*.hdf5` or `*weights.safetensors`;
    a weights file, as path or address, with its options next to it;
    `user/repo` or `user/repo@revision` on the Hugging Face Hub.

    Raises UserError if there are no such files.
    """
    if options is not None:
        return resolve_file(options), resolve_file(weights)
    if weights in PUBLISHED:
        folder = bilm_folder(weights)
        return (
            locate_options(weights),
            _at_most_one(folder, WEIGHTS) or bilm_file(weights, "weights"),
        )
    if _is_address(weights):
        if not weights.endswith("weights.hdf5"):
            raise UserError(f"{weights}: the address of its options.json is unknown. Give it with options=….")
        return resolve_file(weights.removesuffix("weights.hdf5") + "options.json"), resolve_file(weights)
    path = MINI if weights == "mini" else Path(weights).expanduser()
    if path.is_file():
        options_file = path.with_name(path.stem.replace("weights", "options") + ".json")
        named = "weights" in path.stem and options_file.is_file()
        return options_file if named else _one(path.parent, OPTIONS), path
    if not path.is_dir() and is_repository(weights):
        path = repository(weights)
    if not path.is_dir():
        known = ", ".join(["mini", *PUBLISHED])
        raise UserError(
            f"weights '{weights}': no such folder or file. Give a path, user/repo on the Hugging Face Hub, or one of: "
            f"{known}."
        )
    return _one(path, OPTIONS), _one(path, WEIGHTS)


def locate_options(weights: str) -> Path:
    """The options of anything that `locate` finds; the weights of a published name are not downloaded."""
    if weights in PUBLISHED:
        return _at_most_one(bilm_folder(weights), OPTIONS) or bilm_file(weights, "options")
    return locate(weights)[0]


def locate_with_softmax(weights: str) -> tuple[Path, Path, Path, Path]:
    """(options, weights, softmax, vocabulary) of anything that `locate` finds. Raises NoSoftmax, or UserError.

    Nothing is downloaded for the published names.
    """
    if weights not in PUBLISHED:
        place = weights
        if is_repository(weights) and not Path(weights).expanduser().exists():
            place = str(repository(weights, files=(*FILES, *HUB)))
        options, file = locate(place)
        if (softmax := softmax_of(file)) is not None:
            return options, file, *softmax
        if weights == "mini":
            raise NoSoftmax("weights=mini: its softmax is not shipped. `finetune` fits one.")
    raise NoSoftmax(
        f"weights={weights}: no softmax next to these weights (published files come without), so no perplexity. "
        "`finetune` fits a softmax to your text."
    )


def softmax_of(weights: Path) -> tuple[Path, Path] | None:
    """(softmax, vocabulary) of a weights file, or None. Raises UserError for a softmax without its vocabulary."""
    prefix = weights.stem.partition("weights")[0] if "weights" in weights.stem else ""
    softmax = weights.with_name(prefix + SOFTMAX)
    if not softmax.is_file():
        return None
    names = [f"{prefix}{VOCABULARY}{ending}" for ending in ENDINGS]
    if beside := [path for name in names if (path := weights.with_name(name)).is_file()]:
        return softmax, beside[0]
    raise UserError(f"{softmax}: its vocabulary is missing. Put {names[0]} next to it.")


def softmax_files(weights: Path) -> dict[str, Path]:
    """The softmax and the vocabulary of a weights file, by the names that they have next to `weights.…`."""
    if (pair := softmax_of(weights)) is None:
        return {}
    softmax, vocabulary = pair
    return {SOFTMAX: softmax, VOCABULARY + (vocabulary.suffix if vocabulary.suffix in ENDINGS else ""): vocabulary}


def check_free(folder: Path, names: Iterable[str]) -> None:
    """Raise UserError if a folder has other files than `names` that would be read as files of the same biLM."""
    there = {path.name for pattern in (*OPTIONS, *WEIGHTS, *HUB) for path in folder.glob(pattern)}
    if others := there - set(names):
        raise UserError(f"{folder}: has {min(others)} already. Save to a folder without weights.")


def resolve_file(path_or_address: str) -> Path:
    """A file by its path or its http(s) address, which is downloaded once. Raises UserError if it does not exist."""
    if _is_address(path_or_address):
        if published := known_address(path_or_address):
            return bilm_file(*published)
        name = PurePosixPath(urlsplit(path_or_address).path).name
        if not name:
            raise UserError(f"{path_or_address}: not the address of a file. Give one that ends in a file name.")
        folder = hashlib.sha256(path_or_address.encode()).hexdigest()[:16]
        return fetch(path_or_address, cache_folder() / "elmo" / "urls" / folder / name)
    path = Path(path_or_address).expanduser()
    if not path.is_file():
        raise UserError(f"{path_or_address}: no such file")
    return path


def _is_address(text: str) -> bool:
    return text.startswith(("https://", "http://"))


def _sha256(path: Path) -> str:
    try:
        return sha256_of(path)
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror or error})") from None


def _at_most_one(folder: Path, patterns: tuple[str, ...]) -> Path | None:
    files = sorted(path for pattern in patterns for path in folder.glob(pattern))
    if len(files) > 1:
        names = ", ".join(path.name for path in files)
        raise UserError(f"{folder}: {len(files)} files match {' or '.join(patterns)} ({names}). Name one of them.")
    return files[0] if files else None


def _one(folder: Path, patterns: tuple[str, ...]) -> Path:
    if (file := _at_most_one(folder, patterns)) is None:
        raise UserError(f"{folder}: no files match {' or '.join(patterns)}. Put one there, or give another folder.")
    return file
