"""Files that belong together, written to one folder."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

from elmo_bench.base.files import atomic_write


@contextmanager
def write_together(folder: Path, names: Iterable[str]) -> Iterator[dict[str, IO[bytes]]]:
    """Handles by name, to write and read bytes; when the block ends all are on disk before the first one shows.

    If it ends with an error, none does. Raises UserError as `files.atomic_write`.
    """
    with ExitStack() as stack:
        handles = {name: stack.enter_context(atomic_write(folder / name, "w+b")) for name in names}
        yield handles
        for handle in handles.values():
            handle.flush()
