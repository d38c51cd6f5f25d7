"""Finished runs, found without reading data and weights: imports no torch.

A run is finished if its record is in the folder that the digests of today's files lead to. Computing these digests
takes parsing and encoders, so the cache folder has a memo of them, by the options that say where data, weights and
vectors are and by the code that reads them, with the digests of their files and the versions of the packages that an
encoder's checksum depends on. Files are hashed again, large ones by the rule of `base/downloads.py`. Without a memo the
run does the full work, and writes one.
"""

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

from elmo_bench.base.downloads import SETTLED, Content, cache_folder
from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write, sha256_of
from elmo_bench.base.json import digest, read_json
from elmo_bench.base.sources import MissingData
from elmo_bench.ledger import RunPaths
from elmo_bench.spec.names import task_class
from elmo_bench.spec.run_spec import RunSpec, Setup
from elmo_bench.spec.settings import FILES

MAX_BYTES = 2**24  # of a memo: the data of a suite may be thousands of files
_PACKAGE = Path(__file__).parents[1]
Sources = dict[str, Any]


def sources_of(spec: RunSpec, setup: Setup) -> Sources:
    """The options that say where data, weights and vectors are: a spec knows the last component of a path alone."""
    words = spec.settings.get("encoder.words")
    return {
        "task": spec.task,
        "version": spec.settings.get("task.version"),
        "suite": spec.suite,
        "data": setup.data,
        "root": str(setup.data_root or ""),
        "encoder": {"words": words, "vectors": setup.vectors, "contextual": setup.encoders},
        "source": setup.source,  # in a record too, unlike the rest: tells two encoders of one name apart
    }


def finished(ledger: Path, spec: RunSpec, seed: int, contents: Mapping[str, Any] | None) -> RunPaths | None:
    """The paths of the run's record, if it has one on these contents."""
    if contents is None:
        return None
    paths = RunPaths(ledger, spec.suite, spec.task, spec.encoder, spec.with_contents(contents).hash, seed)
    return paths if paths.record.exists() else None


def contents_of(sources: Sources) -> dict[str, Any] | None:
    """The `contents` of a spec that today's files give; None if there is no memo of them."""
    with suppress(Exception):  # a file is gone, there is no sound memo, or a task fails, which its run will report
        memo = read_json(_memo(sources), max_bytes=MAX_BYTES)
        if memo["packages"] != _versions(memo["packages"]):
            return None
        same_files = {*map(str, data_files(sources))} <= memo["files"].keys()
        if same_files and all(_digest(Path(path)) == known for path, known in memo["files"].items()):
            return dict(memo["contents"])
    return None


def remember(
    sources: Sources, contents: Mapping[str, Any], encoders: Iterable[Any], *, has_table: bool, started: float
) -> None:
    """Write the memo of what a run read: its contents, its encoders, and whether it read a table of word vectors.

    There is none if an encoder does not say which files it was loaded from, or if a file may have changed since the run
    `started` (seconds, as time.time()).
    """
    from elmo_bench.encoders.static import path_of

    with suppress(Exception):  # a run that can be made needs no memo
        files, packages = data_files(sources), set[str]()
        takes_files = any(options.keys() & {*FILES} for options in sources["encoder"]["contextual"].values())
        for encoder in encoders:
            own = getattr(encoder, "files", getattr(encoder, "inputs", None))
            if own is None and (takes_files or encoder.parameters):
                return
            packages.update(getattr(encoder, "packages", ()))
            # The names in the folders of an encoder's files count too.
            files += [path.resolve() for file in own or () for path in (Path(file), Path(file).parent)]
        if has_table:
            files.append(path_of(sources["encoder"]["vectors"]).resolve())
        digests = {str(path): _digest(path) for path in files}
        changed = (time for path in files for time in (path.stat().st_mtime, path.stat().st_ctime))
        if max(changed) < started - SETTLED:
            with atomic_write(_memo(sources), "w") as handle:
                memo = {"contents": dict(contents), "files": digests, "packages": _versions(packages)}
                json.dump(memo, handle)


def data_files(sources: Sources) -> list[Path]:
    """The files of a run's data. Raises UserError, which says how to get a missing file."""
    data = task_class(sources["task"], "data")(**sources["data"])
    root = Path(sources["root"]) if sources["root"] else None
    try:
        return [Path(path) for path in data.files(sources["suite"], root)]
    except MissingData as error:
        fetch = sources["data"][sources["suite"]].get("fetch") or ""
        if isinstance(fetch, str):
            how = f"{fetch[:1].upper()}{fetch[1:]}".rstrip(".") + "." if fetch else ""
        else:
            which = "" if sources["suite"] == "open" else f"--suite {sources['suite']} "
            how = f"Download it: elmo-bench fetch {which}--task {sources['task']} --root FOLDER"
        raise UserError(f"{error} {how}".rstrip()) from None


def _memo(sources: Sources) -> Path:
    """By the current folder too, since options may name files in it."""
    tasks = (Path(root, sources["task"]) for root in import_module("elmo_bench.tasks").__path__)
    encoders = map(Path, import_module("elmo_bench.encoders").__path__)
    code = _code("base", "text", "elmo", *tasks, *encoders)
    return cache_folder() / "contents" / f"{digest([sources, str(Path.cwd()), code])}.json"


def _versions(packages: Iterable[str]) -> dict[str, str]:
    """The installed version of each package, which is not imported."""
    return {name: metadata.version(name) for name in sorted(packages)}


def _digest(path: Path) -> str:
    """The SHA-256 of a file, or a digest of the names in a folder."""
    return digest(sorted(entry.name for entry in path.iterdir())) if path.is_dir() else Content(path).sha256


@cache
def _code(*folders: str | Path) -> str:
    """A digest of the files in these folders, which may be packages of `elmo_bench`."""
    files = sorted(path for folder in folders for path in (_PACKAGE / folder).rglob("*") if path.is_file())
    return digest([[path.name, sha256_of(path)] for path in files if "__pycache__" not in path.parts])
