"""A biLM in a repository on the Hugging Face Hub: downloaded to the Hub's own cache; no code of the repository runs."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from elmo_bench.base.downloads import offline
from elmo_bench.base.errors import UserError

FILES = ("*options.json", "*weights.safetensors", "*.hdf5")


def is_repository(name: str) -> bool:
    """Whether a name looks like `user/repo` or `user/repo@revision`."""
    return re.fullmatch(r"[\w-][\w.-]*/[\w-][\w.-]*(@[\w./-]+)?", name) is not None


def repository(
    name: str,
    *,
    also: Sequence[str] = (),
    revision: str | None = None,
    local_files_only: bool = False,
    **keywords: Any,
) -> Path:
    """The folder with options and weights, and what matches `also`, of `user/repo` or `user/repo@revision`.

    A revision is a branch, tag or commit. `$HF_ENDPOINT` and the other variables of huggingface_hub hold; `keywords`
    are those of its `snapshot_download`. Raises UserError where the files cannot be had.
    """
    # Imported here: most runs need no Hub.
    from huggingface_hub import errors, snapshot_download

    repo, _, tag = name.partition("@")
    try:
        return Path(
            snapshot_download(
                repo,
                revision=revision or tag or None,
                local_files_only=local_files_only or offline(),
                allow_patterns=[*FILES, *also],
                ignore_patterns=["*/*"],
                endpoint=os.environ.get("HF_ENDPOINT") or None,
                **keywords,
            )
        )
    except errors.RevisionNotFoundError:
        why = f"it has no revision '{revision or tag}'"
    except errors.RepositoryNotFoundError:
        why = "there is none (or it is private: hf auth login)"
    except errors.LocalEntryNotFoundError:
        why = "not in its cache, and the Hub was not asked (offline) or did not answer"
    except (errors.HfHubHTTPError, errors.HTTPError, errors.HFValidationError, OSError) as error:
        why = next(iter(str(error).strip().splitlines()), type(error).__name__).rstrip(".")
    raise UserError(f"weights '{name}': no such folder or file; as a repository on the Hugging Face Hub: {why}")
