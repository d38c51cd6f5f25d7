"""The sentence patterns that a task's generated data is made from."""

from functools import cache
from pathlib import Path


@cache
def read_templates(path: Path) -> dict[str, tuple[str, ...]]:
    """The lines of a file by group: `[group]` begins one, `#` a comment; what a line means is the task's own."""
    groups: dict[str, tuple[str, ...]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            group = line.strip("[]")
            groups[group] = ()
        elif line and not line.startswith("#"):
            groups[group] += (line,)
    return groups
