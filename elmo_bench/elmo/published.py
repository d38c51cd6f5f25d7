"""Published weights and vectors by name (published.yaml); they are downloaded to the cache folder at first use."""

from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

import yaml

from elmo_bench.base.downloads import cache_folder, fetch, mirrored

TABLE: dict[str, Any] = yaml.safe_load((Path(__file__).parent / "published.yaml").read_text(encoding="utf-8"))
BILMS: dict[str, Any] = TABLE["bilm"]["models"]
VECTORS: dict[str, Any] = TABLE["vectors"]
_ENDINGS = {"options": "options.json", "weights": "weights.hdf5"}


def bilm_folder(name: str) -> Path:
    """The folder of a published biLM's files. Users may put the files there by hand, under any name."""
    return cache_folder() / "elmo" / name


def bilm_file(name: str, kind: str) -> Path:
    """The `options` or `weights` of a published biLM. Raises UserError if the file cannot be downloaded."""
    model, folder = BILMS[name], bilm_folder(name)
    base = mirrored(f"{TABLE['bilm']['base']}/{model['stem']}")
    files = {each: _file_name(name, each) for each in _ENDINGS}
    return fetch(
        f"{base}/{files[kind]}",
        folder / files[kind],
        sha256=model[kind]["sha256"],
        by_hand=f"put {' and '.join(files.values())} of {base}/ in {folder}",
    )


def known_address(url: str) -> tuple[str, str] | None:
    """(name, kind) of the published file at an address, as in code written for AllenNLP; None for other addresses."""
    file = PurePosixPath(urlsplit(url).path).name
    kinds = {_file_name(name, kind): (name, kind) for name in BILMS for kind in _ENDINGS}
    return kinds.get(file) if url.startswith(tuple(TABLE["bilm"]["also"])) else None


def vector_archive(name: str) -> Path:
    """The archive with the vectors of this name. Raises UserError if it cannot be downloaded."""
    archive = TABLE["archives"][VECTORS[name]["archive"]]
    file = PurePosixPath(urlsplit(archive["url"]).path).name
    return fetch(mirrored(archive["url"]), cache_folder() / "vectors" / file, sha256=archive["sha256"])


def _file_name(name: str, kind: str) -> str:
    return f"elmo_{BILMS[name]['stem']}_{_ENDINGS[kind]}"
