"""Finding the files of a biLM.

By published name (published.yaml), path, address or repository of the Hugging Face Hub.
Published files are downloaded at first use, vectors too. No code of a repository is
executed.

Files belong together by their names. Of `x-weights.safetensors` the options are
`x-options.json`, the softmax is `x-softmax.safetensors` and the vocabulary
`x-vocabulary.txt`, plain or compressed. The published files have no softmax.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

import yaml

from elmo_bench.base.downloads import (
    Content,
    cache_folder,
    fetch,
    hub_endpoint,
    mirrored,
    offline,
)
from elmo_bench.base.errors import UserError
from elmo_bench.base.hub import hub_errors
from elmo_bench.base.notes import note
from elmo_bench.elmo.softmax_files import FORMS, SOFTMAX, VOCABULARY, softmax_of

TABLE: dict[str, Any] = yaml.safe_load(
    (Path(__file__).parent / "published.yaml").read_text(encoding="utf-8")
)
BILMS: dict[str, str] = TABLE["bilm"]["models"]
VECTORS: dict[str, Any] = TABLE["vectors"]
PUBLISHED = tuple(BILMS)
NAMES = ("mini", *PUBLISHED)  # of weights that need no path
SHIPPED: dict[str, dict[str, str]] = TABLE["bilm"]["shipped"]
# Of the weights and vectors that ship with the package.
SHIPPED_FOLDER = Path(__file__).parents[1] / "weights"
OPTIONS = ("*options.json",)
WEIGHTS = ("*.hdf5", "*weights.safetensors")
# Of the published files, and how their names end.
KINDS = {"options": "options.json", "weights": "weights.hdf5"}
ADDRESS = ("https://", "http://")
FILES = (*OPTIONS, *WEIGHTS)
HUB = (f"*{SOFTMAX}", f"*{VOCABULARY}*")
# A repository's folder in the Hub's cache, which has the folder snapshots/COMMIT.
CACHED = re.compile(r"models--([\w.-]+?)--([\w.-]+)")


class NoSoftmax(UserError):
    """The weights come without a softmax, as the published ones do."""


def locate(weights: str, options: str | None = None) -> tuple[Path, Path]:
    """The files (options, weights). `weights` may be, in this order:

    with `options`, a path or address: a path or address too;
    `mini`, or a published name (`small`, `medium`, `original`, `original_5.5B`),
    downloaded at first use;
    a folder with `*options.json` and one `*.hdf5` or `*weights.safetensors`;
    a weights file, as path or address, with its options next to it;
    `user/repo` or `user/repo@revision` on the Hugging Face Hub.

    Raises UserError if there are no such files.
    """
    if not isinstance(weights, str):
        raise UserError(
            f"weights={weights!r:.60}: give a path, user/repo on the Hugging Face Hub, "
            f"or one of: {', '.join(NAMES)}."
        )
    if options is not None and weights in NAMES and not Path(weights).is_file():
        raise UserError(
            f"options {options}: {weights} has options of its own. Leave them out, or "
            "give the weights file that they belong to."
        )
    if options is not None and weights:
        return resolve_file(options), resolve_file(weights)
    if weights in PUBLISHED:
        return bilm_file(weights, "options"), bilm_file(weights, "weights")
    if weights.startswith(ADDRESS):
        if not weights.endswith("weights.hdf5"):
            raise UserError(
                f"{weights}: the address of its options.json is unknown. Give it with "
                "options=…."
            )
        options = weights.removesuffix("weights.hdf5") + "options.json"
        return resolve_file(options), resolve_file(weights)
    path = SHIPPED_FOLDER if weights == "mini" else Path(weights).expanduser()
    if path.is_file():
        if path.suffix not in FORMS:
            raise UserError(
                f"{weights}: not a weights file. Give one that ends in .hdf5 or "
                ".safetensors."
            )
        return _options_next_to(path), path
    if not path.is_dir() and is_repository(weights):
        path = repository(weights)
    if not weights or not path.is_dir():
        raise UserError(
            f"weights '{weights}': no such folder or file. Give a path, user/repo on "
            f"the Hugging Face Hub, or one of: {', '.join(NAMES)}."
        )
    file = _one(path, WEIGHTS)
    return _one(path, OPTIONS), file


def _options_next_to(weights: Path) -> Path:
    """The options of a weights file: of the same name, else the only ones there."""
    name = weights.stem.replace("weights", "options") + ".json"
    options = weights.with_name(name)
    if "weights" in weights.stem and options.is_file():
        return options
    options = _one(weights.parent, OPTIONS)
    start = options.name.removesuffix("options.json")
    for other in _matching(weights.parent, WEIGHTS):
        if start and other != weights and other.name.startswith(f"{start}weights"):
            raise UserError(
                f"{weights}: the only options in its folder, {options.name}, are those "
                f"of {other.name}. Put its own next to it, as {name}."
            )
    return options


def locate_options(weights: str) -> Path:
    """The options of anything that `locate` finds.

    The weights of a published name are not downloaded.
    """
    if weights in PUBLISHED:
        return bilm_file(weights, "options")
    options, _ = locate(weights)
    return options


def locate_with_softmax(weights: str) -> tuple[Path, Path, Path, Path]:
    """(options, weights, softmax, vocabulary) of anything that `locate` finds.

    Nothing is downloaded for the published names. Raises NoSoftmax, or UserError.
    """
    if weights not in PUBLISHED:
        path = weights
        if is_repository(weights) and not Path(weights).expanduser().exists():
            path = str(repository(weights, files=(*FILES, *HUB)))
        options, file = locate(path)
        softmax = softmax_of(file)
        if softmax is not None:
            return options, file, *softmax
    raise NoSoftmax(
        f"weights={weights}: no softmax next to these weights (published files come "
        "without), so no perplexity. `finetune` fits a softmax to your text."
    )


def fetch_softmax(weights: Path) -> None:
    """Download the softmax of weights of the Hub next to them, if there is one.

    `weights` is any file; one in the Hub's cache belongs to a repository and a commit.
    `locate` downloads no softmax, since most uses read none. A note says if the
    repository cannot be asked: without network, or without the token that it needs.
    """
    commit = weights.parent
    folder = commit.parent.parent
    cached = CACHED.fullmatch(folder.name)
    if cached is None or commit.parent.name != "snapshots":
        return
    user, repo = cached.groups()
    name = f"{user}/{repo}@{commit.name}"
    try:
        repository(name, files=HUB, cache_dir=folder.parent)
    except UserError:
        note(f"{user}/{repo}: cannot be asked for a softmax; what is here is written")


def check_free(folder: Path, names: Iterable[str]) -> None:
    """Raise UserError if a folder has files of another biLM.

    These are files other than `names` that would be read as files of the same biLM.
    """
    existing = {path.name for path in _matching(folder, (*OPTIONS, *WEIGHTS, *HUB))}
    others = existing - set(names)
    if others:
        raise UserError(
            f"{folder}: has {min(others)} already. Save to a folder without weights."
        )


def checksum_of(options: Path, weights: Path) -> str:
    """SHA-256 of the weights and the start of the options'.

    The options have the clips and the activation. Raises UserError.
    """
    return joined(Content(options), Content(weights))


def joined(options: Content, weights: Content) -> str:
    """The checksum of a biLM, from the checksums of its files."""
    return f"{weights.sha256} options {options.sha256[:12]}"


def resolve_file(path_or_address: str) -> Path:
    """A file by its path or its http(s) address, which is downloaded once.

    Raises UserError if it does not exist.
    """
    if path_or_address.startswith(ADDRESS):
        published = known_address(path_or_address)
        if published is not None:
            return bilm_file(*published)
        name = PurePosixPath(urlsplit(path_or_address).path).name or "file"
        folder = hashlib.sha256(path_or_address.encode()).hexdigest()[:16]
        target = cache_folder() / "elmo" / "urls" / folder / name
        return fetch(path_or_address, target)
    path = Path(path_or_address).expanduser()
    if not path.is_file():
        raise UserError(f"{path_or_address}: no such file")
    return path


def bilm_file(name: str, kind: str) -> Path:
    """The `options` or `weights` of a published biLM, in the cache folder.

    Raises UserError if it is not downloaded.
    """
    folder = cache_folder() / "elmo" / name
    base = mirrored(f"{TABLE['bilm']['base']}/{BILMS[name]}")
    file = _published_file(name, kind)
    both = [_published_file(name, kind) for kind in KINDS]
    by_hand = f"put {' and '.join(both)} of {base}/ in {folder}"
    return fetch(f"{base}/{file}", folder / file, by_hand=by_hand)


def _published_file(name: str, kind: str) -> str:
    """The name of a published file."""
    return f"elmo_{BILMS[name]}_{KINDS[kind]}"


def _matching(folder: Path, patterns: Sequence[str]) -> list[Path]:
    """The files of a folder that match a pattern, of the first pattern first."""
    paths: list[Path] = []
    for pattern in patterns:
        paths += folder.glob(pattern)
    return paths


def _one(folder: Path, patterns: Sequence[str]) -> Path:
    """The file of a folder that matches a pattern.

    Raises UserError if there are several or none.
    """
    files = sorted(_matching(folder, patterns))
    if len(files) == 1:
        return files[0]
    names = ", ".join(path.name for path in files) or "none"
    what_to_do = "Give the file itself."
    if patterns is OPTIONS:
        what_to_do = "Put the options of x-weights.hdf5 next to it, as x-options.json."
    raise UserError(
        f"{folder}: expected one file {' or '.join(patterns)}, found {names}. "
        f"{what_to_do}"
    )


def known_address(url: str) -> tuple[str, str] | None:
    """(name, kind) of the published file at an address; None for other addresses.

    Code written for AllenNLP has such addresses.
    """
    if not url.startswith(tuple(TABLE["bilm"]["also"])):
        return None
    file = PurePosixPath(urlsplit(url).path).name
    for name in BILMS:
        for kind in KINDS:
            if file == _published_file(name, kind):
                return name, kind
    return None


def is_repository(name: str) -> bool:
    """Whether a name looks like `user/repo` or `user/repo@revision`."""
    return re.fullmatch(r"[\w-][\w.-]*/[\w-][\w.-]*(@[\w./-]+)?", name) is not None


def repository(
    name: str,
    *,
    files: Sequence[str] = FILES,
    local_files_only: bool = False,
    **options: Any,
) -> Path:
    """The local folder of `user/repo` or `user/repo@revision`.

    It has the files that match `files`: a biLM's, or others. A revision is a branch,
    tag or commit. options: token, cache_dir, force_download. `$HF_ENDPOINT` and the
    other variables of huggingface_hub apply. Raises UserError if the files cannot be
    downloaded.
    """
    from huggingface_hub import snapshot_download  # most runs do not need the Hub

    repo, _, revision = name.partition("@")
    with hub_errors(f"weights '{name}', which is no folder here"):
        folder = snapshot_download(
            repo,
            revision=revision or None,
            local_files_only=local_files_only or offline(),
            allow_patterns=[*files],
            ignore_patterns=["*/*"],
            endpoint=hub_endpoint(),
            **options,
        )
    return Path(folder)
