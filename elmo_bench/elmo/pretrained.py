"""Finding the files of a biLM: by published name (published.yaml), path, address or repository of the Hugging Face Hub.

Published files are downloaded at first use, vectors too. No code of a repository is executed.

Files belong together by their names. Of `x-weights.safetensors` the options are `x-options.json`, the softmax is
`x-softmax.safetensors` and the vocabulary `x-vocabulary.txt`, plain or compressed. The published files have no softmax.
"""

import hashlib
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

import yaml

from elmo_bench.base.downloads import Content, cache_folder, fetch, mirrored, offline
from elmo_bench.base.errors import UserError
from elmo_bench.base.sources import hub_errors

TABLE: dict[str, Any] = yaml.safe_load((Path(__file__).parent / "published.yaml").read_text(encoding="utf-8"))
BILMS: dict[str, str] = TABLE["bilm"]["models"]
VECTORS: dict[str, Any] = TABLE["vectors"]
PUBLISHED = tuple(BILMS)
SHIPPED: dict[str, dict[str, str]] = TABLE["bilm"]["shipped"]
MINI = Path(__file__).parents[1] / "weights"
OPTIONS, WEIGHTS = ("*options.json",), ("*.hdf5", "*weights.safetensors")
KINDS = {"options": "options.json", "weights": "weights.hdf5"}  # of the published files, and how their names end
SOFTMAX, VOCABULARY = "softmax.safetensors", "vocabulary.txt"
ENDINGS = ("", ".gz", ".xz")  # of the vocabulary
ADDRESS = ("https://", "http://")
FILES, HUB = (*OPTIONS, *WEIGHTS), (f"*{SOFTMAX}", f"*{VOCABULARY}*")


class NoSoftmax(UserError):
    """The weights come without a softmax, as the published ones do."""


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
        return bilm_file(weights, "options"), bilm_file(weights, "weights")
    if weights.startswith(ADDRESS):
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
    return bilm_file(weights, "options") if weights in PUBLISHED else locate(weights)[0]


def locate_with_softmax(weights: str) -> tuple[Path, Path, Path, Path]:
    """(options, weights, softmax, vocabulary) of anything that `locate` finds. Raises NoSoftmax, or UserError.

    Nothing is downloaded for the published names.
    """
    if weights not in PUBLISHED:
        on_hub = is_repository(weights) and not Path(weights).expanduser().exists()
        options, file = locate(str(repository(weights, files=(*FILES, *HUB))) if on_hub else weights)
        if (softmax := softmax_of(file)) is not None:
            return options, file, *softmax
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
    pair = softmax_of(weights) or ()
    return {path.name[path.name.index(kind) :]: path for kind, path in zip((SOFTMAX, VOCABULARY), pair, strict=False)}


def check_free(folder: Path, names: Iterable[str]) -> None:
    """Raise UserError if a folder has other files than `names` that would be read as files of the same biLM."""
    there = {path.name for pattern in (*OPTIONS, *WEIGHTS, *HUB) for path in folder.glob(pattern)}
    if others := there - set(names):
        raise UserError(f"{folder}: has {min(others)} already. Save to a folder without weights.")


def checksum_of(options: Path, weights: Path) -> str:
    """SHA-256 of the weights and the start of the options' (clips and activation are there). Raises UserError."""
    return joined(Content(options), Content(weights))


def joined(options: Content, weights: Content) -> str:
    """The checksum of a biLM, from the checksums of its files."""
    return f"{weights.sha256} options {options.sha256[:12]}"


def resolve_file(path_or_address: str) -> Path:
    """A file by its path or its http(s) address, which is downloaded once. Raises UserError if it does not exist."""
    if path_or_address.startswith(ADDRESS):
        if published := known_address(path_or_address):
            return bilm_file(*published)
        name = PurePosixPath(urlsplit(path_or_address).path).name or "file"
        folder = hashlib.sha256(path_or_address.encode()).hexdigest()[:16]
        return fetch(path_or_address, cache_folder() / "elmo" / "urls" / folder / name)
    path = Path(path_or_address).expanduser()
    if not path.is_file():
        raise UserError(f"{path_or_address}: no such file")
    return path


def bilm_file(name: str, kind: str) -> Path:
    """The `options` or `weights` of a published biLM, in the cache folder. Raises UserError if it is not downloaded."""
    folder, base = cache_folder() / "elmo" / name, mirrored(f"{TABLE['bilm']['base']}/{BILMS[name]}")
    files = {each: f"elmo_{BILMS[name]}_{ending}" for each, ending in KINDS.items()}
    by_hand = f"put {' and '.join(files.values())} of {base}/ in {folder}"
    return fetch(f"{base}/{files[kind]}", folder / files[kind], by_hand=by_hand)


def _one(folder: Path, patterns: Sequence[str]) -> Path:
    """The file of a folder that matches a pattern. Raises UserError if there are several or none."""
    files = sorted(path for pattern in patterns for path in folder.glob(pattern))
    if len(files) != 1:
        names = ", ".join(path.name for path in files) or "none"
        more = ", with options= or --options-file" if patterns is OPTIONS else ""
        raise UserError(
            f"{folder}: expected one file {' or '.join(patterns)}, found {names}. Give the file itself{more}."
        )
    return files[0]


def known_address(url: str) -> tuple[str, str] | None:
    """(name, kind) of the published file at an address, as in code written for AllenNLP; None for other addresses."""
    file = PurePosixPath(urlsplit(url).path).name
    kinds = {f"elmo_{stem}_{KINDS[kind]}": (name, kind) for name, stem in BILMS.items() for kind in KINDS}
    return kinds.get(file) if url.startswith(tuple(TABLE["bilm"]["also"])) else None


def is_repository(name: str) -> bool:
    """Whether a name looks like `user/repo` or `user/repo@revision`."""
    return re.fullmatch(r"[\w-][\w.-]*/[\w-][\w.-]*(@[\w./-]+)?", name) is not None


def repository(name: str, *, files: Sequence[str] = FILES, local_files_only: bool = False, **options: Any) -> Path:
    """The local folder of `user/repo` or `user/repo@revision`, with the files that match `files`: a biLM's, or others.

    A revision is a branch, tag or commit. options: token, cache_dir, force_download. `$HF_ENDPOINT` and the other
    variables of huggingface_hub apply. Raises UserError if the files cannot be downloaded.
    """
    from huggingface_hub import snapshot_download  # most runs do not need the Hub

    repo, _, tag = name.partition("@")
    with hub_errors(f"weights '{name}', which is no folder here"):
        return Path(
            snapshot_download(
                repo,
                revision=tag or None,
                local_files_only=local_files_only or offline(),
                allow_patterns=[*files],
                ignore_patterns=["*/*"],
                endpoint=os.environ.get("HF_ENDPOINT") or None,
                **options,
            )
        )
