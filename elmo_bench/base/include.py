"""Folders outside the installation that add tasks, encoders and configs: `--include FOLDER`.

Such a folder has the layout of the repository: `tasks/<task>/`, `encoders/<kind>.py`, `conf/<group>/<name>.yaml`.
"""

import os
import sys
from pathlib import Path

from elmo_bench.base.errors import UserError

PACKAGES = ("tasks", "encoders")  # of elmo_bench, extended by the included folders of the same name
folders: list[Path] = []


def include(folder: str | Path) -> None:
    """Add the tasks, encoders and configs of a folder. Raises UserError if it has none of them."""
    path = Path(folder).expanduser().resolve()
    if not any((path / name).is_dir() for name in (*PACKAGES, "conf")):
        raise UserError(f"--include {folder}: no folder with tasks/, encoders/ or conf/. Give a folder that has one.")
    if path in folders:
        return
    folders.append(path)
    for name in PACKAGES:
        if package := sys.modules.get(f"elmo_bench.{name}"):
            package.__path__.append(str(path / name))


def extended(name: str, path: list[str]) -> list[str]:
    """The `__path__` of the package `elmo_bench.<name>`, with the included folders behind the installation."""
    return [*path, *(str(folder / name) for folder in folders)]


def config_folders(installed: Path) -> list[Path]:
    """The folders that configs are read from: the installation's first, so that nothing in it is replaced."""
    return [installed, *(folder / "conf" for folder in folders if (folder / "conf").is_dir())]


def import_path() -> dict[str, str]:
    """Environment variables with which a child process imports from the same folders as this process, in their order.

    Without them `python -m` looks in the current folder first, where another elmo_bench or a `random.py` may be.
    """
    path = os.pathsep.join(map(os.path.abspath, sys.path))  # "" is the current folder
    return {"PYTHONPATH": path, "PYTHONSAFEPATH": "1"}
