"""The walls of the house: who imports whom, what stays clear of torch, how long a file may be (see CONTRIBUTING.md)."""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.house import circles
from benchmarks.house import imports as module_imports
from elmo_bench.spec.task_files import suite_tasks
from tests.reporting.ledgers import add
from tests.runs import first_ones

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "elmo_bench"
# What each package may import besides `base` and itself: data flows one way, without circles.
MAY_IMPORT: dict[str, set[str]] = {
    "base": set(),
    "spec": set(),
    "text": set(),
    "nn": {"text"},
    "elmo": {"text", "nn"},
    "encoders": {"text", "nn", "elmo"},
    "training": {"text", "nn"},
    "pretraining": {"spec", "text", "nn", "elmo", "training"},
    "ledger": set(),
    "runner": {"spec", "text", "nn", "elmo", "encoders", "training", "ledger"},
    "reporting": {"spec", "ledger"},
    "cli": {
        "_version", "spec", "text", "elmo", "encoders", "training", "pretraining", "ledger", "runner", "reporting",
    },
    "api": {"spec", "text", "ledger", "runner", "reporting", "cli"},
}  # fmt: skip
LONGEST = 350  # lines of a file
# Modules that open files and have no reader: the files are the installation's, the system's, verified by checksum, or
# made by this process a moment ago.
OWN_FILES = {
    "cli/entry", "base/downloads", "base/include", "base/machine", "cli/cost", "cli/run", "cli/test", "elmo/export",
    "elmo/pretrained", "reporting/findings", "reporting/cards", "reporting/pages", "reporting/published",
    "reporting/render",
    "runner/export", "runner/sweep", "training/loggers",
}  # fmt: skip
OPENS = re.compile(
    r"json\.loads?\(|\.read_text\(|\.read_bytes\(|\b(safe_open|load_file|read_lines|read_json|parse_json|safe_load)\("
    r"|(np|torch)\.load\(|h5py\.File\(path|ZipFile\(|from_pretrained\(folder|from_parquet\("
)
TASKS = sorted(path.stem for path in (ROOT / "conf" / "task").glob("*.yaml"))
# Tasks that have the heads and metrics of others.
REUSE = {"classification": {"sst5"}, "deprel": {"pos"}, "pairs": {"snli", "classification"}, "tagging": {"ner"}}


def sources(folder: Path) -> list[Path]:
    """Python files below a folder, without those behind the links elmo_bench/tasks and elmo_bench/conf."""
    return sorted(folder.rglob("*.py"))


def imports(path: Path) -> Iterator[str]:
    """The dotted modules that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import; write elmo_bench.…"
            # `from elmo_bench import ledger` imports elmo_bench.ledger.
            yield from (
                f"{node.module}.{alias.name}" if node.module == "elmo_bench" else str(node.module)
                for alias in node.names
            )


def test_every_package_is_listed():
    found = {path.parent.name for path in PACKAGE.glob("*/__init__.py") if not path.parent.is_symlink()}
    assert found == MAY_IMPORT.keys()
    assert {path.stem for path in PACKAGE.glob("*.py")} == {"__init__", "__main__", "_version"}


@pytest.mark.parametrize("folder", MAY_IMPORT)
def test_a_package_imports_only_what_it_may(folder):
    allowed = MAY_IMPORT[folder] | {"base", folder}
    wrong = {
        f"{path.relative_to(ROOT)}: {module}"
        for path in sources(PACKAGE / folder)
        for module in imports(path)
        if module == "elmo_bench" or (module.startswith("elmo_bench.") and module.split(".")[1] not in allowed)
    }
    assert not wrong


def test_no_files_import_each_other():
    """Wherever in the file, under TYPE_CHECKING too."""
    assert circles(module_imports(ROOT)) == []


def test_a_task_imports_no_other_task_and_no_runner():
    kept_out = ("elmo_bench.runner", "elmo_bench.cli", "elmo_bench.reporting", "elmo_bench.pretraining")
    for path in sources(ROOT / "tasks"):
        task = path.relative_to(ROOT / "tasks").parts[0]
        allowed = tuple(f"elmo_bench.tasks.{name}." for name in (task, *REUSE.get(task, ())))
        for module in imports(path):
            assert not module.startswith(("tasks", *kept_out)), f"{path}: {module}"
            assert not module.startswith("elmo_bench.tasks.") or f"{module}.".startswith(allowed), f"{path}: {module}"


def test_the_package_names_no_task():
    """But for examples of commands. The names of tasks on data of the user's own are common words."""
    names = re.compile(rf"\b({'|'.join(suite_tasks())})\b")
    assert not {
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in sources(PACKAGE)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if names.search(re.sub(r"\btask=[\w,]+", "", line))
    }


def test_what_only_reads_the_ledger_imports_no_torch_and_status_no_pandas(tmp_path):
    """In one process: commands that are carried out, then modules that are imported, and all metrics."""
    add(tmp_path / "runs", "ner", "elmo", 0)
    commands = [[command, "--help"] for command in ("sweep", "status", "score", "embed", "report")]
    commands.insert(2, ["status", "seed=0", f"ledger={tmp_path / 'runs'}"])  # before a report, which reads pandas
    commands += [["report", "--ledger", str(tmp_path / "runs"), "--out", str(tmp_path / "results")]]
    modules = ["ledger", "reporting.render", "__main__", "runner.launchers", "runner.run"]
    modules += [f"cli.{command}" for command in ("score", "report", "status", "merge", "sweep", "fetch")]
    code = f"""
import sys
from elmo_bench.__main__ import main

def check(what, *more):
    heavy = {{"torch", "pytorch_lightning", "transformers", *more}} & sys.modules.keys()
    assert not heavy, (what, heavy)

for command in {commands!r}:
    try:
        assert main(command) == 0
    except SystemExit as end:
        assert end.code == 0
    check(command, *(["pandas"] if command[0] in ("status", "sweep") else []))
import elmo_bench
dir(elmo_bench)
import {", ".join(f"elmo_bench.{name}" for name in modules)}
check("modules")
for task in {sorted(TASKS)!r}:
    elmo_bench.spec.names.task_class(task, "metric")
check("metrics")
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def readers(path: Path) -> set[str]:
    """The functions of a module that carry `@reader`, as module:qualified name."""

    def found(node: ast.AST, owner: str) -> Iterator[str]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef):
                yield from found(child, f"{owner}{child.name}.")
            elif isinstance(child, ast.FunctionDef) and any(
                isinstance(each, ast.Name) and each.id == "reader" for each in child.decorator_list
            ):
                yield owner + child.name

    module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    return {f"{module}:{name}" for name in found(ast.parse(path.read_text(encoding="utf-8")), "")}


def test_every_reader_is_given_damaged_files():
    """A reader is what carries `@reader`, and of a task `read_file`, `read` and `score_files`."""
    from tests.fuzz.readers import cases

    without = {
        str(path.relative_to(PACKAGE).with_suffix(""))
        for path in sources(PACKAGE)
        if not readers(path) and OPENS.search(path.read_text(encoding="utf-8"))
    }
    assert without == OWN_FILES, "mark the function that reads with @reader (elmo_bench/base/reading.py)"
    contract = {f"{task}:{part}" for task in TASKS for part in ("read_file", "read", "score_files")}
    marked = set().union(*(readers(path) for path in sources(PACKAGE)))
    assert {case.reader for case in cases()} == marked | contract, "add a case to tests/fuzz"


def test_no_file_is_long():
    files = [
        ROOT / "run.py",
        *(path for name in ("elmo_bench", "tasks", "tests", "benchmarks") for path in sources(ROOT / name)),
    ]
    lengths = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in files}
    assert not {name: length for name, length in lengths.items() if length > LONGEST}


@pytest.mark.parametrize("arguments", first_ones([["--help"], ["report", "--help"]], 1))
def test_a_reader_that_has_had_enough_is_no_error(arguments):
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as nobody_reads:
        done = subprocess.run(
            [sys.executable, "-m", "elmo_bench", *arguments],
            cwd=ROOT,
            env={**os.environ, "PYTHONUNBUFFERED": ""},
            stdout=nobody_reads,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert (done.returncode, done.stderr) == (141, b"")
