"""How large the house is, what a reader of it has to hold at once, and how far four things walk through it.

    python benchmarks/house.py              # a minute; house.py density FOLDER for other code, house.py places

Density, of each part: names, operators and numbers (tokens); the mean length of a line of code; and packed
expressions, which a reader has to take apart: a sequence times a condition, a conditional expression in another, a
comprehension with two `for`s. Vague names are variables and arguments whose name says nothing of what they hold.

Walks: a number of the command line to the page, a sentence to its loss, a record to its cell, a row of own data to its
loss. A module of this project counts if one of its functions is called with the thing, as an argument or inside one:
they are what somebody reads who follows it. They are found in a real run of a few sentences and a real report of it.

Circles: files that import each other, wherever in the file, under TYPE_CHECKING too.
"""

import argparse
import ast
import contextlib
import io
import os
import sys
import tempfile
import threading
import tokenize
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
PARTS = ("elmo_bench", "tasks")
VAGUE = {"own", "each", "said", "told", "given", "kept", "known", "found", "made", "its"}
LONG = 100  # characters of a line
WORD, PENALTY = "zebrafishish", 0.01234567  # appear nowhere else, so that they can be followed
DEPTH = 4  # how deep in an argument the thing may be
CALLS = 7  # of one function; what it does later is the same


@dataclass
class Density:
    """What the files of a folder ask of a reader."""

    files: int = 0
    lines: int = 0
    tokens: int = 0
    lengths: list[int] = field(default_factory=list)  # of lines of code: no comment, docstring, import or blank line
    places: list[str] = field(default_factory=list)  # `file:line: kind` of each packed expression and vague name

    def count(self, kind: str) -> int:
        """How many places are of this kind."""
        return sum(place.endswith(f": {kind}") for place in self.places)

    @property
    def mean_line(self) -> float:
        return sum(self.lengths) / max(1, len(self.lengths))

    @property
    def long_lines(self) -> int:
        return sum(length >= LONG for length in self.lengths)


KINDS = ("sequence * condition", "nested conditional", "two fors", "vague name")


def sources(folder: Path) -> list[Path]:
    """The Python files of a folder, without those behind a link."""
    paths = []
    for path in sorted(folder.rglob("*.py")):
        inside = [path, *path.relative_to(folder).parents]
        if not any((folder / part).is_symlink() for part in inside):
            paths.append(path)
    return paths


def density(paths: list[Path]) -> Density:
    """The density of these files together."""
    result = Density(files=len(paths))
    for path in paths:
        source = path.read_text(encoding="utf-8")
        tree = ast.parse(source)
        result.lines += source.count("\n")
        result.tokens += tokens(source)
        for node in ast.walk(tree):
            kind = packed(node)
            if kind:
                result.places.append(f"{path}:{node.lineno}: {kind}")  # type: ignore[attr-defined]
        skipped = lines_without_code(tree)
        for number, line in enumerate(source.splitlines(), start=1):
            text = line.strip()
            if text and number not in skipped and not text.startswith("#"):
                result.lengths.append(len(line))
    return result


def tokens(source: str) -> int:
    """How many names, operators and numbers a file has."""
    counted = (tokenize.NAME, tokenize.OP, tokenize.NUMBER)
    stream = tokenize.generate_tokens(io.StringIO(source).readline)
    return sum(token.type in counted for token in stream)


def lines_without_code(tree: ast.Module) -> set[int]:
    """The numbers of the lines of docstrings and imports."""
    lines: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if ast.get_docstring(node, clean=False) is None:
                continue
            text = node.body[0]
            lines.update(range(text.lineno, (text.end_lineno or text.lineno) + 1))
    return lines


def packed(node: ast.AST) -> str:
    """The kind of a packed expression or a vague name, or ""."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        for sequence, condition in ((node.left, node.right), (node.right, node.left)):
            if is_sequence(sequence) and is_condition(condition):
                return "sequence * condition"
    if isinstance(node, ast.IfExp):
        parts = (node.test, node.body, node.orelse)
        if any(isinstance(part, ast.IfExp) for part in parts):
            return "nested conditional"
    if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) and len(node.generators) > 1:
        return "two fors"
    is_variable = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in VAGUE
    is_argument = isinstance(node, ast.arg) and node.arg in VAGUE
    return "vague name" if is_variable or is_argument else ""


def is_sequence(node: ast.AST) -> bool:
    """Whether this is a literal list or text."""
    return isinstance(node, ast.List | ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def is_condition(node: ast.AST) -> bool:
    """Whether this is true or false."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in ("bool", "any", "all")
    return isinstance(node, ast.Compare | ast.BoolOp) or (
        isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    )


def imports(root: Path = ROOT) -> dict[str, set[str]]:
    """{module: the modules of this project that its file imports}, of the package and the tasks."""
    files: dict[str, Path] = {}
    for part in PARTS:
        for path in sources(root / part):
            name = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
            files[name if part == "elmo_bench" else f"elmo_bench.{name}"] = path
    graph: dict[str, set[str]] = {}
    for name, path in files.items():
        graph[name] = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for imported in imported_names(node):
                if imported in files and imported != name:
                    graph[name].add(imported)
    return graph


def imported_names(node: ast.AST) -> Iterator[str]:
    """The modules that a statement may import: `from a.b import c` imports a.b, and a.b.c where that is a module.

    `from elmo_bench import c` imports the module c alone: the names of `elmo_bench` are imported when they are used.
    """
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield alias.name
    elif isinstance(node, ast.ImportFrom) and node.module:
        if node.module != "elmo_bench":
            yield node.module
        for alias in node.names:
            yield f"{node.module}.{alias.name}"


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """The groups of modules of which each reaches each other by imports, by name; usually none."""
    reached: dict[str, set[str]] = {}
    for start in graph:
        seen: set[str] = set()
        waiting = [start]
        while waiting:
            for module in graph[waiting.pop()] - seen:
                seen.add(module)
                waiting.append(module)
        reached[start] = seen
    on_circles = [start for start, seen in reached.items() if start in seen]
    groups = {tuple(sorted(module for module in reached[start] if start in reached[module])) for start in on_circles}
    return [list(group) for group in sorted(groups)]


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
OWN = ["run", "task=classification", "encoder=elmo", "data.file={work}/rows.csv", "task.training.least_steps=4", *SHORT]
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
        sentences = [f"{WORD}\tO\n{name[:8]}{number}\tO\nOslo\tB-location\n\n" for number in range(30)]
        (folder / "wnut17" / name).write_text("".join(sentences), encoding="utf-8")
    rows = [f"{WORD if number == 7 else 'fish'} swims {number},{'ab'[number % 2]}\n" for number in range(90)]
    (folder / "rows.csv").write_text("text,label\n" + "".join(rows), encoding="utf-8")


def print_density(folders: list[Path]) -> None:
    """A line for each part of the house, and for the whole."""
    print(f"{'':<24} files   lines  tokens  mean line  of {LONG}+  " + "  ".join(KINDS))
    for folder in folders:
        result = density(sources(folder))
        name = folder.relative_to(ROOT) if folder.is_relative_to(ROOT) else folder
        counts = "  ".join(f"{result.count(kind):>{len(kind)}}" for kind in KINDS)
        print(
            f"{name!s:<24} {result.files:>5} {result.lines:>7,} {result.tokens:>7,} {result.mean_line:>10.1f} "
            f"{result.long_lines:>8}  {counts}"
        )


def main() -> None:
    """Print density, walks and circles."""
    parser = argparse.ArgumentParser(description="Measure the house: density, walks, circles of imports.")
    parser.add_argument("what", nargs="?", choices=["all", "density", "places"], default="all")
    parser.add_argument("folders", nargs="*", type=Path, help="other code than this project's")
    options = parser.parse_args()
    inside = sorted((ROOT / "elmo_bench").iterdir())
    packages = [path for path in inside if path.is_dir() and not path.is_symlink() and sources(path)]
    folders = options.folders or [ROOT / "elmo_bench", ROOT / "tasks", *packages]
    if options.what == "places":
        for folder in folders[: len(PARTS)]:
            print("\n".join(density(sources(folder)).places))
        return
    print_density(folders)
    if options.what == "density":
        return
    for name in WALKS:
        modules = walk(name)
        print(f"\n{name}: {len(modules)} modules")
        for module, functions in modules.items():
            print(f"  {module}: {', '.join(sorted(functions))}")
    print("\ncircles of imports: " + ("; ".join(" <-> ".join(group) for group in circles(imports())) or "none"))


if __name__ == "__main__":
    main()
