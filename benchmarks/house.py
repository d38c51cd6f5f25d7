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
import io
import sys
import tokenize
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from walks import PARTS, WALKS, walk  # noqa: E402

VAGUE = {"own", "each", "said", "told", "given", "kept", "known", "found", "made", "its"}
LONG = 100  # characters of a line


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
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in VAGUE:
        return "vague name"
    if isinstance(node, ast.arg) and node.arg in VAGUE:
        return "vague name"
    return ""


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
    groups = set()
    for start, seen in reached.items():
        if start in seen:
            groups.add(tuple(sorted(module for module in seen if start in reached[module])))
    return [list(group) for group in sorted(groups)]


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
    packages = [path for path in sorted((ROOT / "elmo_bench").iterdir()) if path.is_dir() and not path.is_symlink()]
    parts = [package for package in packages if sources(package)]
    folders = options.folders or [ROOT / "elmo_bench", ROOT / "tasks", *parts]
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
