"""`elmo-bench fetch`: put every data file of a suite into the data folder.

It imports no torch.

Files that ship with the package (`elmo_bench/data/<folder>`) are copied from there, the
others are downloaded. `fetch` of a suite in `conf/task/<task>.yaml` lists the
downloads, or is a line that says why there are none. Each download has

    file, url       its name in the suite's folder, and its public address
    sha256          of the download; null for an archive that the server packs anew each
                    time
    terms           what the user must accept, if it has terms
    member          a file in a zip archive: the data file is that member
    make, made      options of `make(download, **options) -> bytes` in the task's module
                    `part`, and the SHA-256 of these bytes, which are the data file
"""

import argparse
import hashlib
import importlib
import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from elmo_bench.base import include
from elmo_bench.base.downloads import cache_folder, data_folder, fetch, mirrored
from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write, open_text, sha256_of, unpack
from elmo_bench.base.sources import SHIPPED, as_list
from elmo_bench.cli import parser
from elmo_bench.spec.task_files import suite_tasks, task_yaml


def main(arguments: list[str]) -> int:
    """Copy and download; exit code 2 if a download failed or its terms were not
    accepted.
    """
    options = _parse(arguments)
    if options.root is None:
        raise UserError("no data folder. Give --root FOLDER, or set $ELMO_BENCH_DATA.")
    suites = {task: suites_of(task) for task in options.task or suite_tasks()}
    _check_suite(options.suite, suites)
    failed = 0
    any_copied = False
    for task, of_task in suites.items():
        if options.suite not in of_task:
            print(f"{task}: has no suite {options.suite}")
            continue
        suite = of_task[options.suite]
        if suite.get("source") == "hub":
            print(f"{task}: its runs download suite {options.suite} from the Hub")
            continue
        folder = options.root / suite.get("folder", "")
        for name, source in shipped(suite):
            print(f"{task}: {copy(source, folder / name)}", flush=True)
            any_copied = True
        failed += _download(task, suite.get("fetch", []), folder, options)
    if any_copied:  # whoever gets the folder gets the licences
        print(f"licences: {copy(SHIPPED / 'NOTICE.md', options.root / 'NOTICE.md')}")
    return 2 if failed else 0


def _folder(name: str) -> Path | None:
    """None for an empty name, as of a variable that is empty."""
    return Path(name).expanduser() if name else None


def _parse(arguments: list[str]) -> argparse.Namespace:
    command = parser("fetch", "Files that ship with the package are copied.")
    add = command.add_argument
    add("--suite", default="open", help="open (default) or paper")
    add("--task", nargs="+", help="some tasks instead of all")
    add(
        "--root",
        type=_folder,
        default=_folder(data_folder() or ""),
        help="the data folder; $ELMO_BENCH_DATA by default",
    )
    add(
        "--accept-research-use",
        action="store_true",
        help="accept the terms that fetch prints without",
    )
    return command.parse_args(arguments)


def _check_suite(suite: str, suites: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise UserError for a suite that none of the tasks has, if any has suites."""
    names: set[str] = set().union(*suites.values())
    if names and suite not in names:
        choices = ", ".join(sorted(names))
        raise UserError(f"--suite {suite}: unknown suite. Choose one of: {choices}.")


def _download(task: str, wanted: Any, folder: Path, options: argparse.Namespace) -> int:
    """Download the files of a task and print a line for each; how many failed.

    wanted: the list of downloads, or a line that says why there are none.
    """
    if isinstance(wanted, str):
        print(f"{task}: {wanted}. See tasks/{task}/README.md.")
        return 0
    failed = 0
    errors = set()  # files of one archive may share an error
    for file in wanted:
        path = folder / file["file"]
        try:
            _check_terms(file, path, task, options)
            print(f"{task}: {fetch_file(file, path, task)}", flush=True)
        except UserError as error:
            failed += 1
            if str(error) not in errors:
                print(f"elmo-bench fetch: {task}: {error}", file=sys.stderr)
            errors.add(str(error))
            if "terms" in file and not options.accept_research_use:
                break  # the other files of the task have the same terms
    return failed


def _check_terms(
    file: Mapping[str, Any], path: Path, task: str, options: argparse.Namespace
) -> None:
    """Raise UserError if a missing file has terms that were not accepted."""
    if "terms" not in file or path.is_file() or options.accept_research_use:
        return
    words = ["elmo-bench", *include.options(), "fetch", "--suite", options.suite]
    words += ["--task", task, "--root", str(options.root), "--accept-research-use"]
    raise UserError(
        f"{path}: {file['terms']}. If you accept that, run: {shlex.join(words)}"
    )


def suites_of(task: str) -> dict[str, dict[str, Any]]:
    """The suites in `conf/task/<task>.yaml`, by name.

    Raises UserError for an unknown task.
    """
    tasks = suite_tasks()
    if task not in tasks:
        raise UserError(f"unknown task '{task}'. Choose one of: {', '.join(tasks)}.")
    data = task_yaml(task).get("data") or {}
    return {name: node for name, node in data.items() if isinstance(node, dict)}


def shipped(suite: Mapping[str, Any]) -> Iterator[tuple[str, Path]]:
    """(name, file in the package) of each file of a suite that ships.

    A packed file has `.xz` behind its name.
    """
    folder = SHIPPED / suite.get("folder", "")
    for value in suite.values():
        for name in as_list(value):
            if isinstance(name, str):
                yield from _shipped_as(folder, name)


def _shipped_as(folder: Path, name: str) -> Iterator[tuple[str, Path]]:
    for ending in (".xz", ""):
        source = folder / f"{name}{ending}"
        if source.is_file():
            yield name, source


def copy(source: Path, path: Path) -> str:
    """Copy a shipped file to `path` unless that exists; a line with what was done.

    Raises UserError.
    """
    is_packed = source.name != path.name
    with open_text(source) if is_packed else source.open("rb") as file:
        content = file.read()
    if path.is_file():
        return _exists(path, hashlib.sha256(content).hexdigest())
    with atomic_write(path) as target:
        target.write(content)
    return f"{path}: copied from the package"


def fetch_file(file: Mapping[str, Any], path: Path, task: str) -> str:
    """Download a file to `path` unless it exists; a line with what was done.

    Raises UserError.
    """
    checksum = file.get("sha256")
    is_whole = "member" not in file and "make" not in file
    if path.is_file():
        return _exists(path, checksum if is_whole else file.get("made"))
    source = path if is_whole else _archive(file["url"], task)
    by_hand = None if "make" in file else _by_hand(path, is_whole)
    fetched = fetch(mirrored(file["url"]), source, sha256=checksum, by_hand=by_hand)
    actual = sha256_of(fetched)
    short = f"SHA-256 {actual[:12]}…"
    if is_whole:
        unverified = "which cannot be verified: none is published"
        return f"{path}: {short}, {'as published' if checksum else unverified}"
    if checksum and actual != checksum:
        raise UserError(
            f"{source}: damaged or changed ({short}, not {checksum[:12]}…). "
            "Delete it and start again."
        )
    if "member" in file:
        unpack(source, file["member"], path)
        return f"{path}: from {source.name}, {short}"
    return _make(file, source, path, task)


def _archive(url: str, task: str) -> Path:
    """Where a download is kept from which a data file is taken or made.

    Archives of two addresses may have one name, such as `main.zip`.
    """
    name = PurePosixPath(urlsplit(url).path).name
    of_address = hashlib.sha256(url.encode()).hexdigest()[:8]
    return cache_folder() / "data" / task / of_address / name


def _by_hand(path: Path, is_whole: bool) -> str:
    """What to do with a file that the user downloads."""
    what = "it" if is_whole else f"{path.name} of it"
    return f"put {what} at {path}"


def _make(file: Mapping[str, Any], source: Path, path: Path, task: str) -> str:
    """Make a data file of a download; a line with what was done.

    Raises UserError if the result is not the published one.
    """
    part = importlib.import_module(f"elmo_bench.tasks.{task}.part")
    content = part.make(source, **file["make"])
    checksum = hashlib.sha256(content).hexdigest()
    short = f"SHA-256 {checksum[:12]}…"
    if checksum != file["made"]:
        raise UserError(
            f"{source}: what was made of it for {path} has the {short}, "
            f"not {file['made'][:12]}…. Delete it to download it again."
        )
    with atomic_write(path) as target:
        target.write(content)
    return f"{path}: made of {source.name}, {short}, as published"


def _exists(path: Path, checksum: str | None) -> str:
    if checksum and sha256_of(path) != checksum:
        return f"{path}: exists, but is not the published file. It is kept."
    return f"{path}: exists"
