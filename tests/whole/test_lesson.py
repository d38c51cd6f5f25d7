"""docs/lesson.md and the notebook: every command and every cell runs, offline, in an empty folder."""

import ast
import json
import re
import shlex
import shutil
import subprocess
import sys
import textwrap

import pytest

from elmo_bench.__main__ import main
from tests.runs import ROOT, printed

LESSON = ROOT / "docs" / "lesson.md"
NOTEBOOK = ROOT / "docs" / "notebooks" / "first.ipynb"
COMMANDS = [
    shlex.split(line, comments=True)[1:] for line in re.findall(r"(?m)^ {4}(elmo-bench .*)$", LESSON.read_text("utf-8"))
]
FEW = {"pos": ["task.training.epochs=1"], "ner": ["task.training.epochs=1", "data.max_eval=50"]}
PYTHON = re.findall(r"(?m)^    import (?:elmo_bench|json).*\n(?:    .*\n)+", LESSON.read_text("utf-8"))


def cells():
    return json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]


@pytest.mark.slow
@pytest.mark.usefixtures("forgotten")
def test_the_lesson_runs_as_printed(tmp_path, monkeypatch, capfd):
    """Sweeps train for one epoch, and on named entities see 50 examples of dev and test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))  # of the runs that the sweep starts
    monkeypatch.delenv("ELMO_BENCH_DATA")
    for path in ("encoders/suffix.py", "conf/encoder/suffix.yaml"):
        file = tmp_path / "mine" / path
        file.parent.mkdir(parents=True)
        file.write_text(printed("docs/lesson.md", path, "mine"))
    shown = {}
    for words in COMMANDS:
        if words[0] == "merge":
            shutil.copytree("class", words[1])
        task = next((word.removeprefix("task=") for word in words if word.startswith("task=")), "")
        few = FEW[task] if "sweep" in words else []
        code = main([*words, *few])
        printed_now = capfd.readouterr()
        # One epoch is a change of the defaults, so `compare` has nothing to compare.
        assert code == (2 if words[0] == "compare" else 0), printed_now
        shown[" ".join(words)] = printed_now.out
    layers = {layer: text for layer, text in ((words[-1], shown[" ".join(words)]) for words in COMMANDS[1:3])}
    assert set(re.findall(r"(?m)^ (\d\.\d{3}) ", layers["0"])) == {"1.000", "0.769"}
    assert "[kind]" in layers["2"] and "1.000" not in layers["2"]
    frames = []
    for code in PYTHON:
        namespace: dict = {}
        exec(textwrap.dedent(code), namespace)
        frames.append(namespace.get("frame"))
    assert [len(frame) for frame in frames[:2]] == [6, 8] and len(frames) == 3
    assert "gain" in capfd.readouterr().out
    assert {path.name for path in tmp_path.glob("*.png")} == {"layers.png", "seeds.png", "tags.png"}


def test_the_notebook_is_committed_with_its_outputs():
    code = [cell for cell in cells() if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == [*range(1, len(code) + 1)]
    text = json.dumps([cell["outputs"] for cell in code])
    assert text.count("image/png") == 2 and text.count("text/html") >= 3
    assert "\\r" not in text and "Traceback" not in text and "site-packages" not in text
    for cell in code:
        ast.parse("".join(cell["source"]))


@pytest.mark.slow
def test_the_notebook_runs(tmp_path, monkeypatch):
    """In a kernel. No cell prints a carriage return, which a notebook would show as a new line each."""
    import nbformat
    from nbclient import NotebookClient

    monkeypatch.setenv("PYTHONPATH", f"{ROOT}:{':'.join(filter(None, sys.path))}")
    monkeypatch.delenv("ELMO_BENCH_DATA")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    place = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=600, kernel_name="python3", resources=place).execute()
    outputs = json.dumps([cell.get("outputs") for cell in notebook.cells])
    assert "\\r" not in outputs
    assert len(list(tmp_path.glob("results/runs/*/*/*/*/seed?.json"))) == 9


@pytest.mark.slow
def test_the_calls_import_no_torch_before_they_need_it():
    code = "import sys, elmo_bench; elmo_bench.run, elmo_bench.sweep, elmo_bench.compare; print('torch' in sys.modules)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert ended.stdout == "False\n"
