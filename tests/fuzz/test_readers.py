"""Every reader gives a result or a UserError of one line for any file, in bounded time and memory.

A mutant is known by its reader and number. `make fuzz` has 5,000 of each reader ($MUTANTS), `make test` 12.
"""

import os
import resource
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch

from elmo_bench.base.errors import UserError
from tests.fuzz.damage import damaged
from tests.fuzz.readers import Case, cases

SECONDS = 10  # of processor time; a reader needs a few milliseconds for a file of these sizes
MEMORY = 2**31  # bytes of addresses in addition to the process's own


class TooLong(BaseException):
    """Not an Exception, so that no reader takes it for damage."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", cases(), ids=lambda case: case.reader)
def test_a_damaged_file_ends_in_a_result_or_in_one_line(case: Case, tmp_path: Path):
    folder = tmp_path / "files"
    folder.mkdir()
    case.make(folder)
    sound = {path.relative_to(folder): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
    check(case.read(folder), case.finite)
    for number in range(int(os.environ.get("MUTANTS", case.mutants))):
        random = Random(f"{case.reader} {number}")
        for path, content in sound.items():  # writing over a file takes longer than reading it
            if not (folder / path).is_file() or (folder / path).read_bytes() != content:
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_bytes(content)
        path = random.choice([path for path in sound if path.match(case.damaged)])
        (folder / path).write_bytes(damaged(random, case.packed or path.name, sound[path]))
        try:
            with bounded():
                check(case.read(folder), case.finite)
        except UserError as error:
            assert 0 < len(str(error)) < 1200 and "\n" not in str(error), f"mutant {number} of {path}"
        except (Exception, TooLong) as error:
            pytest.fail(f"mutant {number} of {path}: {error!r:.300}")


def check(value: object, finite: bool) -> None:
    """Read a result to its end; fail for arrays with numbers that are not finite."""
    if isinstance(value, Mapping | Iterator | list | tuple):
        for each in value.values() if isinstance(value, Mapping) else value:
            check(each, finite)
    elif finite and isinstance(value, torch.Tensor | np.ndarray):
        assert torch.as_tensor(value).isfinite().all(), "numbers that are not finite"


@contextmanager
def bounded() -> Iterator[None]:
    """At most SECONDS of processor time, and MEMORY more than the process has now."""

    def ring(*_: object) -> None:
        raise TooLong(f"more than {SECONDS} seconds of processor time")

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    before = signal.signal(signal.SIGPROF, ring)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY, hard))
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.signal(signal.SIGPROF, before)
