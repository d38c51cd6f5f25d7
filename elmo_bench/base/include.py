"""Folders outside the installation that add tasks, encoders and configs: `--include FOLDER`, or `$ELMO_BENCH_INCLUDE`.

Such a folder has the layout of the repository: `tasks/<task>/`, `encoders/<kind>.py`, `conf/<group>/<name>.yaml`.
"""

import os
import re
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import sha256_of
from elmo_bench.base.json import digest

PACKAGES = ("tasks", "encoders")  # of elmo_bench, extended by the included folders of the same name
OPTION, VARIABLE = "--include", "ELMO_BENCH_INCLUDE"
folders: list[Path] = []
_INSTALLED = Path(__file__).parents[1]


def include_given(arguments: Sequence[str]) -> list[str]:
    """Include the folders of a command line, then those of `$ELMO_BENCH_INCLUDE`; the arguments without the former.

    Raises UserError for a folder that has nothing to include.
    """
    left, given = [], iter(arguments)
    for argument in given:
        option, _, folder = argument.partition("=")
        if option != OPTION:
            left.append(argument)
        elif folder := folder or next(given, ""):
            include(folder)
        else:
            raise UserError(f"{OPTION}: no folder given. Give one: {OPTION} FOLDER.")
    for folder in filter(None, os.environ.get(VARIABLE, "").split(os.pathsep)):
        include(folder, said=f"${VARIABLE}: ")
    return left


def include(folder: str | Path, *, said: str = f"{OPTION} ") -> None:
    """Add the tasks, encoders and configs of a folder.

    Raises UserError if it has none of them, or one of a name that the installation or another folder has.

    said: where the folder comes from, for that error.
    """
    path = Path(folder).expanduser().resolve()
    if not any((path / name).is_dir() for name in (*PACKAGES, "conf")):
        raise UserError(f"{said}{folder}: no folder with tasks/, encoders/ or conf/. Give a folder that has one.")
    if path in folders:
        return
    for pattern in ("tasks/*/data.py", "encoders/[!_]*.py", "conf/*/*.yaml"):
        for own in (each.relative_to(path) for each in sorted(path.glob(pattern))):
            if taken := next((other / own for other in (_INSTALLED, *folders) if (other / own).exists()), None):
                raise UserError(f"{said}{folder}: {own} has the name of {taken}. Give yours another name.")
    folders.append(path)
    for name in PACKAGES:
        if package := sys.modules.get(f"elmo_bench.{name}"):
            package.__path__.append(str(path / name))


def extended(name: str, path: list[str]) -> list[str]:
    """The `__path__` of the package `elmo_bench.<name>`, with the included folders behind the installation."""
    return [*path, *(str(folder / name) for folder in folders)]


def config_folders(installed: Path) -> list[Path]:
    """The folders that configs are read from."""
    return [installed, *(folder / "conf" for folder in folders if (folder / "conf").is_dir())]


def code_of(package: str, name: str) -> str:
    """A digest of the code of a task or an encoder (`package`) that an included folder has; "" for any other.

    The code of an encoder is its module, and the modules next to it whose names occur in the code.
    """
    for folder in folders if name.isidentifier() else ():
        path = folder / package
        files = sorted((path / name).glob("*.py")) or [each for each in [path / f"{name}.py"] if each.is_file()]
        for file in files:  # the list grows
            named = {*re.findall(r"\w+", file.read_text(encoding="utf-8", errors="replace"))}
            files += [each for each in sorted(file.parent.glob("*.py")) if each.stem in named and each not in files]
        if files:
            return digest([[each.name, sha256_of(each)] for each in sorted(files)])
    return ""


def included_lines(error: BaseException) -> str:
    """Where an error passed code of the included folders, and then the error, as Python prints them; "" if nowhere."""

    def is_included(file: str | None) -> bool:
        return any(Path(file or "").is_relative_to(folder) for folder in folders)

    frames = [each for each in traceback.extract_tb(error.__traceback__) if is_included(each.filename)]
    if not frames and not (isinstance(error, SyntaxError) and is_included(error.filename)):
        return ""
    return "".join([*traceback.format_list(frames), *traceback.format_exception_only(error)]).rstrip()
