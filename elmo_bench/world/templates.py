"""The sentence patterns of a task's generated data."""

from functools import cache
from pathlib import Path


@cache
def read_templates(path: Path) -> dict[str, tuple[str, ...]]:
    """The lines of a file by group. `[group]` starts a group, `#` a comment; each task defines what its lines mean."""
    groups: dict[str, tuple[str, ...]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            group = line.strip("[]")
            groups[group] = ()
        elif line and not line.startswith("#"):
            groups[group] += (line,)
    return groups
