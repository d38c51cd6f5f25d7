"""The files of each split of the user's own data. No torch.

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
from elmo_bench.base.sources import SPLITS, TABLES, hub_errors, hub_file
from elmo_bench.text.tables import check_file, ending_of

NAMES = {  # of the files of a split, as words in their names, also before `data` or `set`
    "train": {"train", "training"},
    "dev": {"dev", "devel", "development", "valid", "validation", "validate", "val", "testa"},
    "test": {"test", "testb", "testing"},
}
SPARE = (  # words of files that are a split if no file has its name
    ({"eval", "evaluation", "evaluate"}, ("dev", "test")),
    ({"holdout", "heldout", "held", "unseen"}, ("test", "dev")),
)


def files_of(file: str | None, given: Mapping[str, str | None], reads: Callable[[Path], bool]) -> dict[str, list[Path]]:
    """The files of each split that the user has: of `file`, or those `given` by split.

    `reads` says whether a file of a folder may hold data. Raises UserError.
    """
    if file is not None and file.startswith("hub:"):
        return _of_hub(file.removeprefix("hub:").strip("/"), reads)
    named = {"train": file} if file is not None else given
    paths = {split: Path(name).expanduser() for split, name in named.items() if name is not None}
    if file is not None and (folder := paths["train"]).is_dir():
        return _by_split(sorted(each for each in folder.rglob("*") if each.is_file() and reads(each)), folder)
    for path in paths.values():
        check_file(path)
    return {split: [path] for split, path in paths.items()}


def _by_split(files: Sequence[Path], folder: Path) -> dict[str, list[Path]]:
    """The files of each split, by the words of their names; one file alone is all of the data. Raises UserError."""
    if not files:
        raise UserError(f"{folder}: no file of data. Those that end in {', '.join(TABLES)} are read.")
    if len(files) == 1:
        return {"train": [*files]}
    chosen: dict[str, list[Path]] = defaultdict(list)
    words = {file: _words(str(file.relative_to(folder))) for file in files}
    for file in files:
        splits = [split for split in SPLITS if words[file] & NAMES[split]]
        if len(splits) == 1:
            chosen[splits[0]].append(file)
    for names, places in SPARE:
        free = [split for split in places if split not in chosen]
        others = [file for file in files if words[file] & names and not words[file] & set().union(*NAMES.values())]
        if free and others and "train" in chosen:
            chosen[free[0]] = others
    wrong = [split for split, own in chosen.items() if len({(file.parent, ending_of(file)) for file in own}) > 1]
    if wrong or "train" not in chosen:
        named = [str(file.relative_to(folder)) for file in (chosen[wrong[0]] if wrong else files)]
        what = f"more than one {wrong[0]}" if wrong else "no file with train in its name"
        raise UserError(f"{folder}: {what} ({', '.join(named[:5])}). Give data.train=FILE, or a folder inside.")
    return {split: chosen[split] for split in SPLITS if split in chosen}


def _words(name: str) -> set[str]:
    """The words of a name in lower case: {"train", "csv"} of `trainData.csv`."""
    return {re.sub(r"(?<=.)(data|set)$", "", word) for word in re.findall(r"[a-z]+", name.lower())}


def unused_files(file: str | None, used: Mapping[str, Sequence[Path]], reads: Callable[[Path], bool]) -> list[str]:
    """The names of the files of a folder, or of a data set of the Hub, that may hold data and that no split uses."""
    names = {path.name for paths in used.values() for path in paths}
    if file is None or (not file.startswith("hub:") and not Path(file).expanduser().is_dir()):
        return []
    if file.startswith("hub:"):
        user, repo, folder = _parts(file.removeprefix("hub:").strip("/"))
        listed = _listing(f"{user}/{repo}", os.environ.get("HF_ENDPOINT") or None)[1]
        found = [path for path in listed if path.is_relative_to(folder)]
    else:
        found = [path for path in Path(file).expanduser().rglob("*") if path.is_file()]
    return sorted({path.name for path in found if reads(path)} - names)


def _parts(name: str) -> list[str]:
    """User, repository and folder of `user/repo/folder`."""
    return [*name.split("/", 2), "", ""][:3]


def _of_hub(name: str, reads: Callable[[Path], bool]) -> dict[str, list[Path]]:
    """The files of each split of `user/repo`, or of a folder in it, downloaded to the Hub's cache. Raises UserError."""
    user, repo, folder = _parts(name)
    if not user or not repo:
        raise UserError(f"data.file=hub:{name}: give hub:user/repo")
    revision, files = _listing(f"{user}/{repo}", os.environ.get("HF_ENDPOINT") or None)
    root = Path(f"hub:{user}", repo)
    splits = _by_split([root / path for path in files if path.is_relative_to(folder) and reads(path)], root / folder)
    return {
        split: [hub_file(f"{user}/{repo}", str(path.relative_to(root)), revision=revision) for path in paths]
        for split, paths in splits.items()
    }


@cache  # a sweep asks for each run
def _listing(repo: str, endpoint: str | None) -> tuple[str, list[Path]]:
    """(commit, files) of a data set repository. Raises UserError."""
    from huggingface_hub import HfApi

    if offline():
        raise UserError(f"hub:{repo}: which files it has is not known without network. Give data.file=FOLDER.")
    with hub_errors(f"hub:{repo}"):
        about = HfApi(endpoint).dataset_info(repo)
    return str(about.sha), sorted(Path(each.rfilename) for each in about.siblings or ())
