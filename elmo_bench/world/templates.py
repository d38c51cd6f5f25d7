"""The sentence patterns of a task's generated data."""

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

Templates = dict[str, tuple[str, ...]]  # lines by group


def templates_beside(module: str) -> Callable[[], Templates]:
    """What reads the file `templates.txt` next to a module, once."""
    return partial(_read, Path(module).with_name("templates.txt"))


@cache
def _read(path: Path) -> Templates:
    """The lines of a file by group. `[group]` starts a group, `#` a comment; each task defines what its lines mean."""
    groups: Templates = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            group = line.strip("[]")
            groups[group] = ()
        elif line and not line.startswith("#"):
            groups[group] += (line,)
    return groups
