"""Download a model from the Hugging Face Hub to the Hub's cache. No code of the repository is executed."""

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
