"""What a reader does with a mutant, in bounded time and memory."""

import resource
import signal
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from tests.fuzz.cases import Case
from tests.fuzz.mutate import damaged

SECONDS = 10  # a reader needs a few milliseconds for a file of these sizes
MEMORY = 2**31  # bytes of addresses in addition to those of the process


class TooLong(BaseException):
    """Not an Exception, so that no reader takes it for damage."""


def write_mutant(random: Any, case: Case, sound: dict[str, bytes], folder: Path) -> str:
    """Write the sound files to a folder, one of them damaged; its name."""
    for name, content in sound.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    names = sorted(name for name in sound if Path(name).match(case.damaged))
    name = random.choice(names)
    (folder / name).write_bytes(damaged(random, case.format or name, sound[name]))
    return name


def outcome(case: Case, folder: Path) -> tuple[bool, str | None]:
    """Whether the reader returned, and its fault: None if the result is good, or a UserError of one short line."""
    try:
        with bounded(), warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", ResourceWarning)
            result = case.read(folder)
            return True, case.wrong(result) if case.wrong else None
    except UserError as error:
        text = str(error)
        fine = text and "\n" not in text and len(text) < 1200
        return False, None if fine else f"UserError of {len(text)} characters"
    except TooLong:
        return False, f"more than {SECONDS} seconds"
    except Exception as error:
        return False, f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:150]}"


@contextmanager
def bounded() -> Iterator[None]:
    """At most SECONDS, and MEMORY more than the process has now."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    before = signal.signal(signal.SIGALRM, _ring)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY, hard))
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.signal(signal.SIGALRM, before)


def _ring(*_: Any) -> None:
    raise TooLong
