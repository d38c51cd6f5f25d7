"""Files and tables of data set repositories on the Hugging Face Hub."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elmo_bench.base.downloads import hub_endpoint, offline
from elmo_bench.base.errors import UserError
from elmo_bench.base.reading import reader, reading

if TYPE_CHECKING:
    from datasets import Dataset


def hub_file(repo: str, file: str, *, revision: str) -> Path:
    """A file of a data set repository, downloaded once to the Hub's own cache.

    `$HF_ENDPOINT` and the other variables of huggingface_hub apply. Raises UserError.
    """
    # Costs over a second, and most runs download nothing.
    from huggingface_hub import hf_hub_download

    with hub_errors(f"{repo}@{revision}/{file}"):
        path = hf_hub_download(
            repo,
            file,
            repo_type="dataset",
            revision=revision,
            endpoint=hub_endpoint(),
            local_files_only=offline(),
        )
        return Path(path)


@contextmanager
def hub_errors(where: str) -> Iterator[None]:
    """Raise the errors of huggingface_hub as a UserError.

    It is one line that begins with `where`.
    """
    from huggingface_hub.errors import HfHubHTTPError, HTTPError

    try:
        yield
    # ValueError: no name of a repository or file.
    except (HfHubHTTPError, HTTPError, OSError, ValueError) as error:
        lines = str(error).strip().splitlines()
        reason = lines[0] if lines else type(error).__name__
        raise UserError(
            f"{where}: not on the Hub, or no network ({reason.rstrip('.')}). "
            "Use your own files instead."
        ) from None


@reader
def hub_table(repo: str, file: str, *, revision: str) -> "Dataset":
    """A parquet file of a data set repository as a table.

    No code from the Hub runs. Raises UserError.
    """
    import datasets  # costs over a second

    path = hub_file(repo, file, revision=revision)
    where = f"{repo}@{revision}/{file}"
    with reading(where, "a parquet file", f"Delete {path} and start again."):
        table = datasets.Dataset.from_parquet(str(path))
        # Texts are UTF-8; otherwise that would show when they are used.
        table.data.validate(full=True)
    return table


def hub_split(
    hub: Mapping[str, Any], split: str, *, columns: Sequence[str] = ()
) -> tuple[str, "Dataset"]:
    """(REPO/FILE, for messages, and the table) of a split of a suite.

    hub: `hub` of the suite's options (see `SuiteData`); split: the key of a file in it.
    Raises UserError, also for a table that lacks one of `columns`.
    """
    table = hub_table(hub["repo"], hub[split], revision=hub["revision"])
    where = f"{hub['repo']}/{hub[split]}"
    missing = [column for column in columns if column not in table.column_names]
    if missing:
        raise UserError(
            f"{where}: no column {', '.join(missing)}. Check hub in the task's yaml."
        )
    return where, table
