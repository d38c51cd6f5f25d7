"""Where real data comes from: files under the user's data folder, or parquet files on the Hugging Face Hub."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from elmo_bench.base.downloads import offline
from elmo_bench.base.errors import UserError

if TYPE_CHECKING:
    from datasets import Dataset


def data_file(root: Path | None, folder: str, names: str | Sequence[str]) -> Path:
    """The first of `names` that is a file in `root`/`folder`.

    Raises UserError where the root is not set or not a folder, where none of the files is there, and where a name
    would lead out of the root.
    """
    names = [names] if isinstance(names, str) else list(names)
    wanted = f"{folder}/{' or '.join(names)}"
    if root is None:
        raise UserError(f"data.root is not set: set it (or $ELMO_BENCH_DATA) to a folder with {wanted}")
    if not Path(root).is_dir():
        raise UserError(f"data.root={root} is not a folder: set it (or $ELMO_BENCH_DATA) to one with {wanted}")
    for name in names:
        inside = Path(folder, name)
        if inside.is_absolute() or ".." in inside.parts:  # the user's own symbolic links may lead anywhere
            raise UserError(f"{inside}: leads out of data.root={root}; use a path inside it")
        if (Path(root) / inside).is_file():
            return Path(root) / inside
    raise UserError(f"{Path(root) / folder}: no {' or '.join(names)} here; put it there, or change data.root")


def hub_table(repo: str, file: str, *, revision: str) -> "Dataset":
    """A parquet file of a data set repository on the Hub, downloaded once to the Hub's own cache; no remote code runs.

    `$HF_ENDPOINT` and the other variables of huggingface_hub hold. Raises UserError where the file cannot be had.
    """
    # Imported here: together they cost over a second, and only this function needs them.
    import datasets
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, HTTPError

    where = f"{repo}@{revision}/{file}"
    try:
        path = hf_hub_download(
            repo,
            file,
            repo_type="dataset",
            revision=revision,
            endpoint=os.environ.get("HF_ENDPOINT") or None,
            local_files_only=offline(),
        )
    except (HfHubHTTPError, HTTPError, OSError) as error:
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__).rstrip(".")
        raise UserError(f"{where}: not on the Hub or no network; use your own files instead ({reason})") from None
    try:
        return datasets.Dataset.from_parquet(path)
    except (datasets.exceptions.DatasetGenerationError, OSError, ValueError):
        raise UserError(f"{where}: damaged parquet file; delete {path} and start again") from None
