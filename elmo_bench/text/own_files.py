"""Which files hold data of the user's own, by split.

`data.file` is a file, a folder with a file for each split, or `hub:user/repo`; `data.train`, `data.dev` and `data.test`
are files.
"""

import os
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

from elmo_bench.base.downloads import offline
from elmo_bench.base.errors import UserError
from elmo_bench.base.sources import SPLITS, TABLES, hub_file
from elmo_bench.text.tables import check_file, ending_of

NAMES = {  # of the files of a split, as words in their names
    "train": {"train", "training"},
    "dev": {"dev", "devel", "development", "valid", "validation", "val", "testa"},
    "test": {"test", "testb", "testing"},
}


def files_of(file: str | None, given: Mapping[str, str | None], reads: Callable[[Path], bool]) -> dict[str, list[Path]]:
    """The files of each split that the user has: of `file`, or those `given` by split.

    `reads` says whether a file of a folder may hold data. Raises UserError.
    """
    if file is None:
        paths = {split: Path(name).expanduser() for split, name in given.items() if name is not None}
        for path in paths.values():
            check_file(path)
        return {split: [path] for split, path in paths.items()}
    if file.startswith("hub:"):
        return _of_hub(file.removeprefix("hub:").strip("/"), reads)
    path = Path(file).expanduser()
    if path.is_dir():
        return by_split(sorted(each for each in path.rglob("*") if each.is_file() and reads(each)), path)
    check_file(path)
    return {"train": [path]}


def by_split(files: Sequence[Path], folder: Path) -> dict[str, list[Path]]:
    """The files of each split, by the words of their names; one file alone is all of the data. Raises UserError."""
    if not files:
        raise UserError(f"{folder}: no file of data. Those that end in {', '.join(TABLES)} are read.")
    if len(files) == 1:
        return {"train": list(files)}
    chosen: dict[str, list[Path]] = defaultdict(list)
    for file in files:
        words = {*re.findall(r"[a-z]+", str(file.relative_to(folder)).lower())}
        of = [split for split in SPLITS if words & NAMES[split]]
        if len(of) == 1:
            chosen[of[0]].append(file)
    for split, own in chosen.items():
        if len({file.parent for file in own}) > 1 or len({ending_of(file) for file in own}) > 1:
            listed = ", ".join(str(file.relative_to(folder)) for file in own[:5])
            raise UserError(f"{folder}: more than one {split} ({listed}). Give data.train=FILE, or a folder inside.")
    if "train" not in chosen:
        listed = ", ".join(str(file.relative_to(folder)) for file in files[:5])
        raise UserError(f"{folder}: no file with train in its name ({listed}). Give data.train=FILE.")
    return {split: chosen[split] for split in SPLITS if split in chosen}


def _of_hub(name: str, reads: Callable[[Path], bool]) -> dict[str, list[Path]]:
    """The files of each split of `user/repo`, or of a folder in it, downloaded to the Hub's cache. Raises UserError."""
    user, _, rest = name.partition("/")
    repo, _, folder = rest.partition("/")
    if not user or not repo:
        raise UserError(f"data.file=hub:{name}: give hub:user/repo")
    revision, files = _listing(f"{user}/{repo}", os.environ.get("HF_ENDPOINT") or None)
    inside = [path for path in files if path.is_relative_to(folder) and reads(path)]
    splits = by_split([Path(f"hub:{user}", repo, path) for path in inside], Path(f"hub:{user}", repo, folder))
    return {
        split: [hub_file(f"{user}/{repo}", "/".join(path.parts[2:]), revision=revision) for path in paths]
        for split, paths in splits.items()
    }


@cache  # a sweep asks for each run
def _listing(repo: str, endpoint: str | None) -> tuple[str, list[Path]]:
    """(commit, files) of a data set repository. Raises UserError."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, HTTPError

    if offline():
        raise UserError(f"hub:{repo}: which files it has is not known without network. Give data.file=FOLDER.")
    try:
        about = HfApi(endpoint).dataset_info(repo)
    except (HfHubHTTPError, HTTPError, OSError, ValueError) as error:
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__).rstrip(".")
        raise UserError(f"hub:{repo}: not on the Hub, or no network ({reason}). Use your own files instead.") from None
    return str(about.sha), sorted(Path(each.rfilename) for each in about.siblings or ())
