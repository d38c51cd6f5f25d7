"""The walks of house.py: through which modules one thing passes, from an option, a file or a record to the end."""

import contextlib
import io
import os
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

PARTS = ("elmo_bench", "tasks")
WORD, PENALTY = "zebrafishish", 0.01234567  # appear nowhere else, so that they can be followed
DEPTH = 4  # how deep in an argument the thing may be
CALLS = 7  # of one function; what it does later is the same


def is_penalty(value: Any) -> bool:
    if isinstance(value, str):
        return str(PENALTY) in value[:20_000]
    return isinstance(value, float) and abs(value - PENALTY) < 1e-12


def is_sentence(value: Any) -> bool:
    return isinstance(value, str) and len(value) < 400 and WORD in value


def is_record(value: Any) -> bool:
    if isinstance(value, dict):
        return "attempt" in value and "scores" in value
    return type(value).__name__ == "Record"


SHORT = ["task.training.epochs=1", "logger=none"]
RUN = ["run", "task=ner", "encoder=elmo", "data.root={work}", *SHORT]
ROWS = ["data.file={work}/rows.csv", "task.training.least_steps=4"]
OWN = ["run", "task=classification", "encoder=elmo", *ROWS, *SHORT]
REPORT = ["report", "--ledger", "{work}/runs", "--out", "{work}/out"]
# {name: (whether a value is the thing, the commands that it is followed through)}
WALKS: dict[str, tuple[Callable[[Any], bool], list[list[str]]]] = {
    "mix.penalty, to the page": (is_penalty, [[*RUN, f"mix.penalty={PENALTY}"], REPORT]),
    "a sentence, to its loss": (is_sentence, [RUN]),
    "a record, to its cell": (is_record, [RUN, REPORT]),
    "a row of own data, to its loss": (is_sentence, [OWN]),
}


def holds(is_thing: Callable[[Any], bool], value: Any, depth: int = DEPTH) -> bool:
    """Whether a value is the thing, or contains it: in a mapping, a sequence, or an object of this project."""
    if value is None:
        return False
    if is_thing(value):
        return True
    if depth == 0:
        return False
    if type(value).__name__ == "DictConfig":
        return is_thing(str(value))
    inside: list[Any] = []
    if isinstance(value, dict):
        inside = [*list(value.values())[:200], *list(value)[:300]]
    elif isinstance(value, list | tuple | set | frozenset):
        inside = list(value)[:300]
    elif type(value).__module__.startswith(PARTS):
        inside = list(getattr(value, "__dict__", {}).values())[:60]
    return any(holds(is_thing, part, depth - 1) for part in inside)


class Walk:
    """A profiling function of Python that notes which functions of this project are called with the thing."""

    def __init__(self, is_thing: Callable[[Any], bool]):
        self.is_thing = is_thing
        self.modules: dict[str, set[str]] = {}
        self.calls: Counter[tuple[str, str]] = Counter()
        self.busy = False

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        module, code = frame.f_globals.get("__name__", ""), frame.f_code
        if event != "call" or self.busy or not module.startswith(PARTS):
            return
        self.calls[module, code.co_qualname] += 1
        if self.calls[module, code.co_qualname] > CALLS:
            return
        self.busy = True  # looking into an argument may call functions of the project
        try:
            arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + 2]
            if any(holds(self.is_thing, frame.f_locals.get(name)) for name in arguments):
                self.modules.setdefault(module, set()).add(code.co_qualname)
        except Exception:  # an argument that cannot be looked into is not the thing
            pass
        finally:
            self.busy = False


def walk(name: str) -> dict[str, set[str]]:
    """{module: functions} of a walk, in the order of the first call."""
    from elmo_bench.__main__ import main as command_line

    is_thing, commands = WALKS[name]
    profiler = Walk(is_thing)
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"ELMO_BENCH_CACHE": f"{folder}/cache"}
        write_data(Path(folder))
        for command in commands:
            arguments = [argument.replace("{work}", folder) for argument in command]
            if arguments[0] == "run":
                arguments.append(f"ledger={folder}/runs")
            threading.setprofile(profiler)
            sys.setprofile(profiler)
            try:
                with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                    code = command_line(arguments)
            finally:
                sys.setprofile(None)
                threading.setprofile(None)  # type: ignore[arg-type]
            if code:
                sys.exit(code)
    return profiler.modules


def write_data(folder: Path) -> None:
    """Small files of named entities and of own data, in each of which the word appears."""
    (folder / "wnut17").mkdir()
    for name in ("wnut17train.conll", "emerging.dev.conll", "emerging.test.annotated"):
        sentences = []
        for number in range(30):
            sentences.append(f"{WORD}\tO\n{name[:8]}{number}\tO\nOslo\tB-location\n\n")
        (folder / "wnut17" / name).write_text("".join(sentences), encoding="utf-8")
    rows = ["text,label\n"]
    for number in range(90):
        word = WORD if number == 7 else "fish"
        rows.append(f"{word} swims {number},{'ab'[number % 2]}\n")
    (folder / "rows.csv").write_text("".join(rows), encoding="utf-8")
