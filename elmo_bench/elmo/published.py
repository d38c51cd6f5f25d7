"""Published weights and vectors by name (published.yaml), and models of the Hugging Face Hub, downloaded at first use.

No code of a repository is executed.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

import yaml

from elmo_bench.base.downloads import cache_folder, fetch, mirrored, offline
from elmo_bench.base.errors import UserError

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


FILES = ("*options.json", "*weights.safetensors", "*.hdf5")


def is_repository(name: str) -> bool:
    """Whether a name looks like `user/repo` or `user/repo@revision`."""
    return re.fullmatch(r"[\w-][\w.-]*/[\w-][\w.-]*(@[\w./-]+)?", name) is not None


def repository(
    name: str,
    *,
    files: Sequence[str] = FILES,
    revision: str | None = None,
    local_files_only: bool = False,
    **keywords: Any,
) -> Path:
    """The local folder of `user/repo` or `user/repo@revision`, with the files that match `files`: a biLM's, or others.

    A revision is a branch, tag or commit. `$HF_ENDPOINT` and the other variables of huggingface_hub apply; `keywords`
    go to its `snapshot_download`. Raises UserError if the files cannot be downloaded.
    """
    # Imported here because most runs do not need the Hub.
    from huggingface_hub import errors, snapshot_download

    repo, _, tag = name.partition("@")
    try:
        return Path(
            snapshot_download(
                repo,
                revision=revision or tag or None,
                local_files_only=local_files_only or offline(),
                allow_patterns=[*files],
                ignore_patterns=["*/*"],
                endpoint=os.environ.get("HF_ENDPOINT") or None,
                **keywords,
            )
        )
    except errors.RevisionNotFoundError:
        why = f"it has no revision '{revision or tag}'"
    except errors.RepositoryNotFoundError:
        why = "it does not exist (or it is private: hf auth login)"
    except errors.LocalEntryNotFoundError:
        why = "not in its cache, and the Hub is offline or did not answer"
    except (errors.HfHubHTTPError, errors.HTTPError, errors.HFValidationError, OSError) as error:
        why = next(iter(str(error).strip().splitlines()), type(error).__name__).rstrip(".")
    raise UserError(f"weights '{name}': no such folder or file. As a repository on the Hugging Face Hub: {why}.")
