"""The machine, packages and code of a run, for its record."""

import platform
import subprocess
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

from elmo_bench.base.machine import processor

_PROJECT = Path(__file__).resolve().parents[2]


def environment(packages: Iterable[str], project: Path = _PROJECT) -> dict[str, Any]:
    """The record's `environment` without device, threads and precision, which the runner adds.

    Leaves out packages that are not installed.
    """
    commit, dirty = _git_state(project)
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpu": processor(),
        "packages": {name: version for name in packages if (version := _version(name))},
        "commit": commit,
        "dirty": dirty,
    }


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _git_state(project: Path) -> tuple[str | None, bool | None]:
    """(commit, dirty) of the checkout, else of the wheel (see setup.py); (None, None) if neither is known."""
    top = _git(project, "rev-parse", "--show-toplevel")
    commit = _git(project, "rev-parse", "HEAD")
    if not top or not commit or Path(top).resolve() != project:
        wheel = project / "elmo_bench" / "commit.txt"
        commit, dirty, _ = wheel.read_text().strip().partition("-dirty") if wheel.is_file() else ("", "", "")
        return (commit, bool(dirty)) if commit else (None, None)
    # Records are untracked files until somebody commits them; they do not change the code.
    changes = _git(project, "status", "--porcelain", "--", ".", ":(exclude)results")
    return commit, None if changes is None else bool(changes)


def _git(project: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", project, *arguments], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
