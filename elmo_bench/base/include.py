"""Folders outside the installation that add tasks, encoders and configs.

`--include FOLDER`, or `$ELMO_BENCH_INCLUDE`. Such a folder has the layout of the
repository: `tasks/<task>/`, `encoders/<kind>.py`, `conf/<group>/<name>.yaml`.
"""

import os
import re
import sys
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import sha256_of
from elmo_bench.base.json import digest

# Of elmo_bench, extended by the included folders of the same name.
PACKAGES = ("tasks", "encoders")
OPTION = "--include"
VARIABLE = "ELMO_BENCH_INCLUDE"
folders: list[Path] = []
_INSTALLED = Path(__file__).parents[1]
# Files whose names neither the installation nor another folder may have.
_PATTERNS = ("tasks/*/data.py", "encoders/[!_]*.py", "conf/*/*.yaml")


def include_given(arguments: Sequence[str]) -> list[str]:
    """Include the folders of a command line, then of `$ELMO_BENCH_INCLUDE`.

    Returns the other arguments. Raises UserError for a folder that has nothing to
    include.
    """
    others = []
    remaining = iter(arguments)
    for argument in remaining:
        option, _, folder = argument.partition("=")
        if option != OPTION:
            others.append(argument)
            continue
        folder = folder or next(remaining, "")
        if not folder:
            raise UserError(f"{OPTION}: no folder given. Give one: {OPTION} FOLDER.")
        include(folder)
    named = os.environ.get(VARIABLE, "").split(os.pathsep)
    for folder in filter(None, named):
        include(folder, origin=f"${VARIABLE}: ")
    return others


def include(folder: str | Path, *, origin: str = f"{OPTION} ") -> None:
    """Add the tasks, encoders and configs of a folder.

    Raises UserError if the folder has nothing to include, or a name that the
    installation or another folder has.

    origin: where the folder comes from, for that error.
    """
    path = Path(folder).expanduser().resolve()
    if not any((path / name).is_dir() for name in (*PACKAGES, "conf")):
        raise UserError(
            f"{origin}{folder}: no folder with tasks/, encoders/ or conf/. "
            "Give a folder that has one."
        )
    if path in folders:
        return
    for relative, names in _claimed(path):
        taken = _path_of_others(names)
        if taken:
            raise UserError(
                f"{origin}{folder}: {relative} has the name of {taken}. "
                "Give yours another name."
            )
    folders.append(path)
    for name in PACKAGES:
        package = sys.modules.get(f"elmo_bench.{name}")
        if package:
            package.__path__.append(str(path / name))


def options() -> list[str]:
    """The options that include the same folders in another command."""
    words = []
    for folder in folders:
        words += [OPTION, str(folder)]
    return words


def _claimed(folder: Path) -> Iterator[tuple[Path, list[Path]]]:
    """Files and encoders of a folder, each with the names that no other may have.

    All of them are paths from the folder.
    """
    for pattern in _PATTERNS:
        for file in sorted(folder.glob(pattern)):
            relative = file.relative_to(folder)
            yield relative, [relative]
    for module in sorted(folder.glob("encoders/[!_]*.py")):
        relative = module.relative_to(folder)
        yield relative, [relative.with_suffix("")]
    for package in sorted(folder.glob("encoders/[!_.]*/")):
        if _files_of_package(package):
            relative = package.relative_to(folder)
            yield relative, [relative.with_name(f"{package.name}.py"), relative]


def _path_of_others(names: Sequence[Path]) -> Path | None:
    """The first of these names in the installation or an included folder, if any."""
    for folder in (_INSTALLED, *folders):
        for name in names:
            if (folder / name).exists():
                return folder / name
    return None


def extended(name: str, path: list[str]) -> list[str]:
    """The `__path__` of the package `elmo_bench.<name>`.

    The included folders come after the installation.
    """
    return [*path, *(str(folder / name) for folder in folders)]


def config_folders(installed: Path) -> list[Path]:
    """The folders that configs are read from."""
    configs = [folder / "conf" for folder in folders]
    return [installed, *(config for config in configs if config.is_dir())]


def code_of(package: str, name: str) -> str:
    """A digest of the code of a task or an encoder (`package`) of an included folder.

    "" for any other. The code of a task is all of its folder. The code of an encoder is
    its module, and the modules next to it whose names occur in the code.
    """
    if not name.isidentifier():
        return ""
    for folder in folders:
        files = _code_files(folder / package, name)
        if files:
            home = folder / package
            if files[0].is_relative_to(home / name):
                home /= name
            names = [file.relative_to(home).as_posix() for file in files]
            digests = map(sha256_of, files)
            return digest(sorted(map(list, zip(names, digests, strict=True))))
    return ""


def _code_files(package: Path, name: str) -> list[Path]:
    """The code of a task or an encoder; [] if it is not there."""
    files = _files_of_package(package / name)
    module = package / f"{name}.py"
    if not files and module.is_file():
        files = [module]
    for file in files:  # the list grows
        code = file.read_text(encoding="utf-8", errors="replace")
        words = set(re.findall(r"\w+", code))
        for other in sorted(file.parent.glob("*.py")):
            if other.stem in words and other not in files:
                files.append(other)
    return files


def _files_of_package(folder: Path) -> list[Path]:
    """The Python files in a folder, without hidden ones."""
    files = []
    for file in sorted(folder.rglob("*.py")):
        parts = file.relative_to(folder).parts
        if not any(part.startswith(".") for part in parts):
            files.append(file)
    return files


def included_lines(error: BaseException) -> str:
    """Where an error passed code of the included folders, and then the error.

    As Python prints them; "" if nowhere.
    """
    frames = []
    for frame in traceback.extract_tb(error.__traceback__):
        if _is_included(frame.filename):
            frames.append(frame)
    is_in_syntax = isinstance(error, SyntaxError) and _is_included(error.filename)
    if not frames and not is_in_syntax:
        return ""
    lines = traceback.format_list(frames)
    lines += traceback.format_exception_only(error)
    return "".join(lines).rstrip()


def _is_included(file: str | None) -> bool:
    return any(Path(file or "").is_relative_to(folder) for folder in folders)
