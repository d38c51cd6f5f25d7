"""How large the house is and how far three things walk through it: lines, modules, and modules on the call stack.

    python benchmarks/house.py              # a minute, on the small data of the tests

A walk is made by a real run (one epoch of named entities on a few sentences) and a real report of it. Whenever one of
its named functions is called, the modules of this project that are on the call stack between the command and that
function are added: they are what somebody has to read who follows a key, a sentence or a score. Modules of libraries
(Lightning, torch, pandas) do not count.
"""

import contextlib
import io
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import patch

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
PARTS = {"elmo_bench": ("conf", "tasks"), "tasks": (), "tests": (), "benchmarks": (".peer",)}
RUN = ("run", "task=ner", "encoder=elmo", "data.max_train=20", "task.training.epochs=1", "logger=none")
# From the option on the command line to its cell on the page; from a file to the loss; from a record to its cell.
WALKS = {
    "mix.penalty, to the page": (
        "elmo_bench.spec.run_spec:RunSpec.of",
        "elmo_bench.nn.mix:ScalarMix.__init__",
        "elmo_bench.nn.mix:ScalarMix.regularisation",
        "elmo_bench.ledger.store:write_record",
        "elmo_bench.reporting.tables:make_table",
    ),
    "a sentence, to its loss": (
        "elmo_bench.tasks.ner.data:read_file",
        "elmo_bench.tasks.ner.head:Head.collate",
        "elmo_bench.tasks.ner.head:Head.loss",
    ),
    "a record, to its cell": (
        "elmo_bench.ledger.store:read_record",
        "elmo_bench.reporting.pages:html_page",
    ),
}


def sizes() -> Iterator[tuple[str, int, int]]:
    """(folder, lines of .py and .c, modules) of each part of the house and, indented, of the parts of the package."""

    def count(folder: Path, without: tuple[str, ...] = ()) -> tuple[int, int]:
        files = [
            path
            for path in sorted([*folder.rglob("*.py"), *folder.rglob("*.c")])
            if not {*path.relative_to(folder).parts} & {*without} and "__pycache__" not in path.parts
        ]
        return sum(len(path.read_bytes().splitlines()) for path in files), sum(p.suffix == ".py" for p in files)

    for name, without in PARTS.items():
        yield name, *count(ROOT / name, without)
        for part in sorted(ROOT.joinpath(name).iterdir()) if name == "elmo_bench" else ():
            if part.is_dir() and not part.is_symlink() and any(part.rglob("*.py")):
                yield f"  {part.name}", *count(part)


@contextlib.contextmanager
def _watched(name: str, modules: set[str]) -> Iterator[None]:
    """Add the project's modules on the stack at each call of the function `name` (`module:qualified.name`)."""
    module, _, path = name.partition(":")
    *owners, last = path.split(".")
    owner: Any = import_module(module)
    for each in owners:
        owner = getattr(owner, each)
    static = vars(owner)[last]
    function: Callable[..., Any] = getattr(static, "__func__", static)

    @wraps(function)
    def watched(*arguments: Any, **named: Any) -> Any:
        frame = sys._getframe(1)
        modules.add(module)
        while frame is not None:
            found = frame.f_globals.get("__name__", "")
            if found.startswith(("elmo_bench.", "tasks.")):
                modules.add(found)
            frame = frame.f_back  # type: ignore[assignment]
        return function(*arguments, **named)

    made: Any = type(static)(watched) if isinstance(static, classmethod | staticmethod) else watched
    # Also replace it in modules that imported it by name.
    holders = [owner] if owners else [m for m in list(sys.modules.values()) if getattr(m, last, None) is function]
    with contextlib.ExitStack() as stack:
        for holder in holders:
            stack.enter_context(patch.object(holder, last, made))
        yield


def walks() -> dict[str, list[str]]:
    """The modules of each walk, sorted."""
    from elmo_bench.__main__ import main

    found: dict[str, set[str]] = {name: set() for name in WALKS}
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        os.environ |= {"ELMO_BENCH_DATA": str(ROOT / "tests" / "data"), "ELMO_BENCH_CACHE": f"{folder}/cache"}
        for name in ("run", "report"):
            import_module(f"elmo_bench.cli.{name}")
        for walk, functions in WALKS.items():
            for function in functions:
                stack.enter_context(_watched(function, found[walk]))
        stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
        for command in ([*RUN, f"ledger={folder}/runs"], ["report", "--ledger", f"{folder}/runs", "--out", folder]):
            if code := main(command):
                sys.exit(code)
    return {name: sorted(modules) for name, modules in found.items()}


def main() -> None:
    """Print the sizes and the walks."""
    for name, lines, modules in sizes():
        print(f"{name:<16} {lines:>7,} lines {modules:>4} modules")
    for name, walk in walks().items():
        print(f"\n{name}: {len(walk)} modules\n  " + "\n  ".join(walk))


if __name__ == "__main__":
    main()
