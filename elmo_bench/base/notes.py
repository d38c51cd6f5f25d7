"""What a record says about its run: notes about the data, such as skipped items, and the kernels that were used."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from elmo_bench.base.errors import redacted
from elmo_bench.base.progress import console

_used: dict[str, set[str]] = {}  # ways to compute a part, by its name; of the process, since `forget_kernels`
_kept: list[tuple[set[str], list[str]]] = [(set(), [])]  # printed lines, notes; of the process, then of each open block


def note(text: str, where: Path | None = None) -> None:
    """Print, once, a line that a reader of the scores must know; `where` is the file that it is about.

    The record keeps it without the file's folders, as a record contains no path of the machine that made it.
    """
    text = redacted(text)
    line = f"{where}: {text}" if where else text
    printed, notes = _kept[-1]
    if line not in printed:
        printed.add(line)
        notes.append(f"{where.name}: {text}" if where else text)
        console.print(line, highlight=False, markup=False)


@contextmanager
def noted() -> Iterator[list[str]]:
    """The notes of this block, as they come."""
    notes: list[str] = []
    _kept.append((set(), notes))
    try:
        yield notes
    finally:
        _kept.pop()


def used(name: str, how: str) -> None:
    """Remember that this part was computed in this way, such as `gru` in `c`; or as `kernels_used` says.

    Called at every step, so it does no more.
    """
    _used.setdefault(name, set()).update(how.split(" and "))


def kernels_used() -> dict[str, str]:
    """The way of each part, in alphabetical order; a part that was computed in two ways has both: `c and torch`."""
    return {name: " and ".join(sorted(_used[name])) for name in sorted(_used)}


def forget_kernels() -> None:
    """A run begins: what earlier ones in this process used is not its own."""
    _used.clear()
