"""`elmo-bench fetch`: puts every data file of a suite into the data folder; imports no torch.

Files that ship with the package (`elmo_bench/data/<folder>`) are copied from there, the others are downloaded. `fetch`
of a suite in `conf/task/<task>.yaml` lists the downloads, or is a line that says why there are none. Each download has

    file, url       its name in the suite's folder, and its public address
    sha256          of the download; null for an archive that the server packs anew each time
    terms           what the user must accept, if it has terms
    member          a file in a zip archive: the data file is that member
    make, made      options of `make(download, **options) -> bytes` in the task's module `part`, and the SHA-256 of
                    these bytes, which are the data file
"""

import hashlib
import importlib
import os
import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from elmo_bench.base.downloads import cache_folder, fetch, mirrored
from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write, open_text, sha256_of, unpack
from elmo_bench.base.sources import SHIPPED, as_list
from elmo_bench.cli import parser
from elmo_bench.spec.config import suite_tasks, task_yaml


def main(arguments: list[str]) -> int:
    """Copy and download; exit code 2 if a file is missing afterwards."""
    folder = os.environ.get("ELMO_BENCH_DATA")
    add = (command := parser("fetch", "Files that ship with the package are copied.")).add_argument
    add("--suite", default="open", help="open (default) or paper")
    add("--task", nargs="+", help="some tasks instead of all")
    add("--root", type=Path, default=folder and Path(folder), help="the data folder; $ELMO_BENCH_DATA by default")
    add("--accept-research-use", action="store_true", help="accept the terms that fetch prints without")
    options = command.parse_args(arguments)
    root = options.root
    if not root:
        raise UserError("no data folder. Give --root FOLDER, or set $ELMO_BENCH_DATA.")
    suites = {task: suites_of(task) for task in options.task or suite_tasks()}
    if not any(options.suite in own for own in suites.values()):
        known = ", ".join(sorted(set().union(*suites.values())))
        raise UserError(f"--suite {options.suite}: unknown suite. Choose one of: {known}.")
    failed, copied = 0, False
    for task, own in suites.items():
        if options.suite not in own:
            print(f"{task}: has no suite {options.suite}")
            continue
        suite = own[options.suite]
        wanted = suite.get("fetch", [])
        for name, source in shipped(suite):
            print(f"{task}: {copy(source, root / suite['folder'] / name)}", flush=True)
            copied = True
        if isinstance(wanted, str):
            print(f"{task}: {wanted}. See tasks/{task}/README.md.")
            continue
        for file in wanted:
            path = root / suite["folder"] / file["file"]
            try:
                if "terms" in file and not path.is_file() and not options.accept_research_use:
                    again = f"--suite {options.suite} --task {task} --root {shlex.quote(str(root))}"
                    accept = f"If you accept that, run: elmo-bench fetch {again} --accept-research-use"
                    raise UserError(f"{path}: {file['terms']}. {accept}")
                print(f"{task}: {fetch_file(file, path, task)}", flush=True)
            except UserError as error:
                failed += 1
                print(f"elmo-bench fetch: {task}: {error}", file=sys.stderr)
                if "terms" in file and not options.accept_research_use:
                    break  # the other files of the task have the same terms
    if copied:  # whoever gets the folder gets the licences
        print(f"licences: {copy(SHIPPED / 'NOTICE.md', root / 'NOTICE.md')}")
    return 2 if failed else 0


def suites_of(task: str) -> dict[str, dict[str, Any]]:
    """The suites in `conf/task/<task>.yaml`, by name. Raises UserError for an unknown task."""
    if task not in (known := suite_tasks()):
        raise UserError(f"unknown task '{task}'. Choose one of: {', '.join(known)}.")
    return {name: node for name, node in task_yaml(task)["data"].items() if isinstance(node, dict)}


def shipped(suite: Mapping[str, Any]) -> Iterator[tuple[str, Path]]:
    """(name, file in the package) of each file of a suite that ships; a packed file has `.xz` behind its name."""
    for name in (name for value in suite.values() for name in as_list(value) if isinstance(name, str)):
        for source in (SHIPPED / suite.get("folder", "") / f"{name}{ending}" for ending in (".xz", "")):
            if source.is_file():
                yield name, source


def copy(source: Path, path: Path) -> str:
    """Copy a shipped file to `path` unless that exists; returns a line that says what was done. Raises UserError."""
    with source.open("rb") if source.name == path.name else open_text(source) as file:
        content = file.read()
    if path.is_file():
        return _exists(path, hashlib.sha256(content).hexdigest())
    with atomic_write(path) as target:
        target.write(content)
    return f"{path}: copied from the package"


def fetch_file(file: Mapping[str, Any], path: Path, task: str) -> str:
    """Download a file to `path` unless it exists; returns a line that says what was done. Raises UserError."""
    checksum, whole = file.get("sha256"), not {"member", "make"} & file.keys()
    if path.is_file():
        return _exists(path, checksum if whole else file.get("made"))
    source = path if whole else cache_folder() / "data" / task / PurePosixPath(urlsplit(file["url"]).path).name
    by_hand = None if "make" in file else f"put {'it' if whole else f'{path.name} of it'} at {path}"
    actual = sha256_of(fetch(mirrored(file["url"]), source, sha256=checksum, by_hand=by_hand))
    said = f"SHA-256 {actual[:12]}…"
    if whole:
        return f"{path}: {said}, {'as published' if checksum else 'which cannot be verified: none is published'}"
    if checksum and actual != checksum:
        raise UserError(f"{source}: damaged or changed ({said}, not {checksum[:12]}…). Delete it and start again.")
    if "member" in file:
        unpack(source, file["member"], path)
        return f"{path}: from {source.name}, {said}"
    content = importlib.import_module(f"elmo_bench.tasks.{task}.part").make(source, **file["make"])
    if (made := hashlib.sha256(content).hexdigest()) != file["made"]:
        why = f"what was made of it for {path} has the SHA-256 {made[:12]}…, not {file['made'][:12]}…"
        raise UserError(f"{source}: {why}. Delete it to download it again.")
    with atomic_write(path) as target:
        target.write(content)
    return f"{path}: made of {source.name}, SHA-256 {made[:12]}…, as published"


def _exists(path: Path, checksum: str | None) -> str:
    changed = checksum and sha256_of(path) != checksum
    return f"{path}: exists" + (", but is not the published file. It is kept." if changed else "")
