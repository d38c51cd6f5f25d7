"""`elmo-bench fetch --suite open`: downloads public data files to the data folder; imports no torch.

`fetch` of a suite in `conf/task/<task>.yaml` is a list of files, or a line that says why there is none. Each file has
`file`, its name in the suite's folder, `url`, and `sha256` of the download (null if not published). If the file is only
a part of the download, it has `member` (a file in a zip archive) or `make`: the options of `make(download, file)` in
the task's module `part`.
"""

import argparse
import importlib
import os
import shutil
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from elmo_bench.base.downloads import cache_folder, fetch, mirrored, record, verify
from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write, sha256_of
from elmo_bench.spec.config import choices, task_yaml


def main(arguments: list[str]) -> int:
    """Download what is public and explain what is not; exit code 2 if a download failed."""
    parser = argparse.ArgumentParser(prog="elmo-bench fetch", description="Public data files, checked.")
    parser.add_argument("--suite", default="open", help="open (default) or paper")
    parser.add_argument("--task", nargs="+", help="some tasks instead of all")
    parser.add_argument("--root", type=Path, help="the data folder; $ELMO_BENCH_DATA by default")
    options = parser.parse_args(arguments)
    root = options.root or (Path(folder) if (folder := os.environ.get("ELMO_BENCH_DATA")) else None)
    if root is None:
        raise UserError("no data folder. Give --root FOLDER, or set $ELMO_BENCH_DATA.")
    suites = {task: suites_of(task) for task in options.task or choices("task")}
    if not any(options.suite in own for own in suites.values()):
        known = ", ".join(sorted(set().union(*suites.values())))
        raise UserError(f"--suite {options.suite}: unknown suite. Choose one of: {known}.")
    failed = 0
    for task, own in suites.items():
        if options.suite not in own:
            print(f"{task}: has no suite {options.suite}")
            continue
        suite = own[options.suite]
        wanted = suite.get("fetch", "nothing to download for this suite")
        if isinstance(wanted, str):
            print(f"{task}: {wanted}. See tasks/{task}/README.md.")
            continue
        for file in wanted:
            try:
                print(f"{task}: {fetch_file(file, root / suite['folder'] / file['file'], task)}", flush=True)
            except UserError as error:
                failed += 1
                print(f"elmo-bench fetch: {task}: {error}", file=sys.stderr)
    return 2 if failed else 0


def suites_of(task: str) -> dict[str, dict[str, Any]]:
    """The suites in `conf/task/<task>.yaml`, by name. Raises UserError for an unknown task."""
    if task not in (known := choices("task")):
        raise UserError(f"unknown task '{task}'. Choose one of: {', '.join(known)}.")
    return {name: node for name, node in task_yaml(task)["data"].items() if isinstance(node, dict)}


def fetch_file(file: Mapping[str, Any], path: Path, task: str) -> str:
    """Download a file to `path` unless it exists; returns a line that says what was done. Raises UserError."""
    checksum, url = file.get("sha256"), mirrored(file["url"])
    whole = not {"member", "make"} & file.keys()
    if path.is_file():
        changed = whole and checksum and sha256_of(path) != checksum
        return f"{path}: exists" + (", but is not the published file. It is kept." if changed else "")
    by_hand = f"put {'it' if whole else f'{path.name} of it'} at {path}"
    if whole:
        found = sha256_of(fetch(url, path, sha256=checksum, by_hand=by_hand))
        return f"{path}: SHA-256 {found[:12]}…, " + (
            "as published" if checksum else "which cannot be verified: none is published"
        )
    source = cache_folder() / "data" / task / PurePosixPath(urlsplit(url).path).name
    found = sha256_of(fetch(url, source, sha256=checksum, by_hand=by_hand))
    record(source, found)
    verify(source, found)
    _take(file, source, path, task)
    return f"{path}: from {source.name}, SHA-256 {found[:12]}…"


def _take(file: Mapping[str, Any], source: Path, path: Path, task: str) -> None:
    if "make" in file:
        importlib.import_module(f"elmo_bench.tasks.{task}.part").make(source, path, **file["make"])
        return
    try:
        with zipfile.ZipFile(source) as archive, archive.open(file["member"]) as member, atomic_write(path) as handle:
            shutil.copyfileobj(member, handle)
    except (zipfile.BadZipFile, KeyError) as error:
        raise UserError(
            f"{source}: not a zip archive with {file['member']} ({error}). Delete it to download it again."
        ) from None
