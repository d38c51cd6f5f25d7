"""A run of `embed` in a process of its own, killed (SIGKILL) where or when the test says.

The process is forked from a server that has torch imported and no threads, so that a run costs milliseconds.
"""

import importlib
import multiprocessing
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Place = tuple[str, int]  # module:function, and which of its calls is not lived through
_SERVER = multiprocessing.get_context("forkserver")
# What takes most of a start; the second is imported when torch moves a module to empty memory.
_SERVER.set_forkserver_preload(["elmo_bench.elmo.embed.job", "torch.fx.experimental.symbolic_shapes"])


def run(
    arguments: Sequence[str], folder: Path, *, part_tokens: int, die_at: Place | None = None, kill_after: float = 0
) -> int | None:
    """The exit code of the command, run in `folder` with `in.txt` on standard input: -9 where it was killed."""
    process = _SERVER.Process(target=_work, args=(list(arguments), str(folder), part_tokens, die_at))
    process.start()
    if kill_after:
        process.join(kill_after)
        process.kill()
    process.join()
    return process.exitcode


def _work(arguments: list[str], folder: str, part_tokens: int, die_at: Place | None) -> None:
    from elmo_bench.__main__ import main
    from elmo_bench.elmo.embed import lines

    os.chdir(folder)
    os.dup2(os.open("in.txt", os.O_RDONLY), 0)
    lines.PART_TOKENS = part_tokens
    if die_at:
        _die_at(*die_at)
    sys.exit(main(["embed", *arguments]))


def _die_at(where: str, calls: int) -> None:
    module, _, path = where.partition(":")
    *owners, name = path.split(".")
    owner: Any = importlib.import_module(module)
    for part in owners:
        owner = getattr(owner, part)
    plain, left = getattr(owner, name), calls

    def dying(*args: Any, **keywords: Any) -> Any:
        nonlocal left
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        return plain(*args, **keywords)

    setattr(owner, name, dying)
