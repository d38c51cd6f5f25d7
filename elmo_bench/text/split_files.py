"""The files of each split of the user's own data. No torch.

`data.file` is a file, a folder with a file for each split, or `hub:user/repo`;
`data.train`, `data.dev` and `data.test` are files.
"""

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import chain
from pathlib import Path

from elmo_bench.base.downloads import hub_endpoint, offline
from elmo_bench.base.errors import UserError, redacted
from elmo_bench.base.hub import hub_errors, hub_file
from elmo_bench.base.notes import note
from elmo_bench.base.sources import SPLITS, TABLES
from elmo_bench.text.sizes import LARGEST
from elmo_bench.text.tables import check_file

HUB = "hub:"  # begins the name of a data set of the Hugging Face Hub
RUNS = Path("results", "runs")  # where runs keep their records, unless told otherwise
# Of the files of a split, as words in their names, also before `data` or `set`.
NAMES = {
    "train": {"train", "training"},
    "dev": {
        "dev",
        "devel",
        "development",
        "valid",
        "validation",
        "validate",
        "val",
        "testa",
    },
    "test": {"test", "testb", "testing"},
}
# What the names of the parts of one table differ in: numbers, and checksums of the Hub.
SHARD = re.compile(r"(?<=\d)-[0-9a-f]{16}(?=\.)|\d+")
SPARE = (  # words of files that are a split if no file has its name
    ({"eval", "evaluation", "evaluate"}, ("dev", "test")),
    ({"holdout", "heldout", "held", "unseen"}, ("test", "dev")),
)


def files_of(
    file: str | None,
    by_split: Mapping[str, str | None],
    reads: Callable[[Path], bool],
) -> dict[str, list[Path]]:
    """The files of each split that the user has, from `file` or from `by_split`.

    `reads` says whether a file of a folder may hold data. Raises UserError.
    """
    _check_addresses([file, *by_split.values()])
    if file is not None and file.startswith(HUB):
        return _of_hub(file.removeprefix(HUB).strip("/"), reads)
    if file is not None and Path(file).expanduser().is_dir():
        folder = Path(file).expanduser()
        if folder.resolve() == Path(folder.resolve().anchor):
            raise UserError(
                f"data.file={file}: the root of all files. Give the folder of the data."
            )
        return _by_split(_files_in(folder, reads), folder)
    names = by_split if file is None else {"train": file}
    splits: dict[str, list[Path]] = {}
    for split, name in names.items():
        if name is not None:
            path = Path(name).expanduser()
            check_file(path)
            splits[split] = [path]
    return splits


def _check_addresses(names: Iterable[str | None]) -> None:
    """Raise UserError for an address, whose password a path's message would show."""
    for name in names:
        if name is not None and "://" in name:
            raise UserError(
                f"{redacted(name)}: an address. Download the file and give its path, "
                "or a data set of the Hub as hub:USER/REPO."
            )


def _files_in(folder: Path, reads: Callable[[Path], bool]) -> list[Path]:
    """The files of a folder that may hold data, in order.

    The results of this program in it are left out. Raises UserError for a folder in it
    that cannot be read.
    """
    files: list[Path] = []
    for parent, folders, names in os.walk(folder, onerror=_raise_unreadable):
        if Path(parent) == folder and (folder / RUNS).is_dir():
            folders.remove(RUNS.parent.name)
        files += [Path(parent, name) for name in names]
    files = [path for path in files if _is_data(path, folder, reads)]
    return sorted(path for path in files if path.is_file())


def _raise_unreadable(error: OSError) -> None:
    raise UserError(
        f"data.file: {error.filename} cannot be read ({error.strerror}). "
        "Give a folder with the data alone."
    ) from None


def _is_data(path: Path, folder: Path, reads: Callable[[Path], bool]) -> bool:
    """Whether a file of a folder may hold data, and is in no hidden folder of it.

    Programs keep copies in such folders: `.ipynb_checkpoints`, `.git`, `.cache`.
    """
    hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
    return not hidden and reads(path)


def _by_split(files: Sequence[Path], folder: Path) -> dict[str, list[Path]]:
    """The files of each split, by the words of their names.

    One file alone is all of the data. Raises UserError.
    """
    if not files:
        endings = f"Those that end in {', '.join(TABLES)} are read"
        raise UserError(f"{folder}: no file of data. {endings}.")
    if len(files) == 1:
        return {"train": [*files]}
    chosen: dict[str, list[Path]] = defaultdict(list)
    words = {file: _words(str(file.relative_to(folder))) for file in files}
    for file in files:
        splits = [split for split in SPLITS if words[file] & NAMES[split]]
        if len(splits) == 1:
            chosen[splits[0]].append(file)
    unnamed = [file for file in files if not words[file] & set().union(*NAMES.values())]
    for names, places in SPARE:
        free = [split for split in places if split not in chosen]
        others = [file for file in unnamed if words[file] & names]
        if free and others and "train" in chosen:
            chosen[free[0]] = others
            unnamed = [file for file in unnamed if file not in others]
    for split, paths in chosen.items():
        if len({_series(path) for path in paths}) > 1:
            raise _unclear(folder, f"more than one {split}", paths)
    if "train" not in chosen:
        raise _unclear(folder, "no file with train in its name", files)
    return {split: chosen[split] for split in SPLITS if split in chosen}


def _series(path: Path) -> Path:
    """The path of a file without the numbers of its name, which the parts of one table
    have in common.

    Parts of the Hub may have a checksum in their names, too.
    """
    return path.parent / SHARD.sub("", path.name)


def _unclear(folder: Path, what: str, paths: Sequence[Path]) -> UserError:
    """The error for a folder whose files leave open which split they are."""
    names = ", ".join(str(path.relative_to(folder)) for path in paths[:5])
    how = "Give data.train=FILE, or a folder inside"
    return UserError(f"{folder}: {what} ({names}). {how}.")


def _words(name: str) -> set[str]:
    """The words of a name in lower case: {"train", "csv"} of `trainData.csv`."""
    words = re.findall(r"[a-z]+", name.lower())
    return {re.sub(r"(?<=.)(data|set)$", "", word) for word in words}


def note_files(
    file: str, paths: Mapping[str, Sequence[Path]], reads: Callable[[Path], bool]
) -> None:
    """Note which files of a folder are which split, and which are none."""
    if [path.name for path in paths["train"]] != [Path(file).name]:
        named: list[str] = []
        for split, of_split in paths.items():
            more = f" and {len(of_split) - 1} more" if len(of_split) > 1 else ""
            named.append(f"{split}={of_split[0].name}{more}")
        note(f"files: {', '.join(named)}")
    unused = unused_files(file, paths, reads)
    if unused:
        listed = ", ".join(unused[:5])
        if len(unused) > 5:
            listed += " …"
        how = "Give data.train=, data.dev= and data.test=FILE to use them"
        note(f"files that no split uses: {listed}. {how}")


def unused_files(
    file: str | None,
    used: Mapping[str, Sequence[Path]],
    reads: Callable[[Path], bool],
) -> list[str]:
    """The names of the files that may hold data and that no split uses.

    `file` is a folder or a data set of the Hub; of anything else there are none.
    """
    if file is None:
        return []
    if file.startswith(HUB):
        user, repo, folder = _parts(file.removeprefix(HUB).strip("/"))
        _, listed = _listing(f"{user}/{repo}", hub_endpoint())
        inside = [path for path in listed if path.is_relative_to(folder)]
        files = [path for path in inside if _is_data(path, Path(folder), reads)]
    else:
        path = Path(file).expanduser()
        files = _files_in(path, reads) if path.is_dir() else []
    names = {path.name for path in chain.from_iterable(used.values())}
    return sorted({path.name for path in files} - names)


def _parts(name: str) -> list[str]:
    """User, repository and folder of `user/repo/folder`."""
    return [*name.split("/", 2), "", ""][:3]


def _of_hub(name: str, reads: Callable[[Path], bool]) -> dict[str, list[Path]]:
    """The files of each split of `user/repo`, or of a folder in it.

    They are downloaded to the Hub's cache. Raises UserError, also for files that are
    too large, before it downloads them.
    """
    user, repo, folder = _parts(name)
    if not user or not repo:
        raise UserError(f"data.file=hub:{name}: give hub:user/repo")
    revision, listed = _listing(f"{user}/{repo}", hub_endpoint())
    inside = [path for path in listed if path.is_relative_to(folder)]
    root = Path(f"{HUB}{user}", repo)
    files = [root / path for path in inside if _is_data(path, Path(folder), reads)]
    of_split = _by_split(files, root / folder)
    used = chain.from_iterable(of_split.values())
    size = sum(listed[path.relative_to(root)] for path in used)
    if size > LARGEST:
        most = f"its files have {size / 2**30:.1f} GiB; at most 1 GiB is read"
        how = "Download some of them and give data.train=FILE"
        raise UserError(f"hub:{name}: {most}. {how}.")
    splits: dict[str, list[Path]] = defaultdict(list)
    for split, paths in of_split.items():
        for path in paths:
            file = str(path.relative_to(root))
            splits[split].append(hub_file(f"{user}/{repo}", file, revision=revision))
    return dict(splits)


@cache  # a sweep asks for each run
def _listing(repo: str, endpoint: str | None) -> tuple[str, dict[Path, int]]:
    """(commit, the bytes of each file) of a data set repository. Raises UserError."""
    from huggingface_hub import HfApi

    if offline():
        what = "which files it has is not known without network"
        raise UserError(f"hub:{repo}: {what}. Give data.file=FOLDER.")
    with hub_errors(f"hub:{repo}"):
        about = HfApi(endpoint).dataset_info(repo, files_metadata=True)
    sizes = {Path(file.rfilename): file.size or 0 for file in about.siblings or ()}
    return str(about.sha), dict(sorted(sizes.items()))
