"""For each reader (see `elmo_bench.base.reading`): sound files, how they are read, and which of them are damaged."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True, kw_only=True)
class Case:
    """One way to read files. `make` writes sound ones to an empty folder, `read` reads that folder."""

    reader: str  # module:qualified name of a function with `@reader`; or task:part of a task's contract
    make: Callable[[Path], Any]
    read: Callable[[Path], Any]
    variant: str = ""
    damaged: str = "*"  # the names of the files that are damaged
    format: str = ""  # how they are damaged, if not by their name: a name with an ending of mutate.FORMATS
    wrong: Callable[[Any], str | None] | None = None  # what is wrong with a result
    examples: int = 25  # in the default tests

    @property
    def name(self) -> str:
        return self.reader.removeprefix("elmo_bench.") + (f"[{self.variant}]" if self.variant else "")


def not_finite(arrays: Iterable[Any]) -> str | None:
    """What is wrong with these numbers."""
    return None if all(np.isfinite(np.asarray(each)).all() for each in arrays) else "numbers that are not finite"


def file_of(name: str, text: str) -> Callable[[Path], Any]:
    """A function that writes this file to a folder."""
    return lambda folder: (folder / name).write_text(text, encoding="utf-8")


@cache
def cases() -> tuple[Case, ...]:
    """All cases: of the package, and of the tasks, whose readers are found through their contract."""
    from tests.fuzz.config_cases import config_cases
    from tests.fuzz.model_cases import model_cases
    from tests.fuzz.state_cases import state_cases
    from tests.fuzz.task_cases import task_cases
    from tests.fuzz.text_cases import text_cases

    return (*model_cases(), *state_cases(), *task_cases(), *config_cases(), *text_cases())


def sound(case: Case, folder: Path) -> dict[str, bytes]:
    """The content of a case's sound files by their names; they are written to an empty folder, and read there."""
    folder.mkdir(parents=True)
    case.make(folder)
    files: Mapping[str, bytes] = {
        str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }
    result = case.read(folder)
    assert case.wrong is None or case.wrong(result) is None
    return dict(sorted(files.items()))
