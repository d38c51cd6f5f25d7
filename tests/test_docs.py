"""The examples of the docs run as they stand: docs/encoder.md, README's encoder and CONTRIBUTING's task."""

import re
import textwrap
from pathlib import Path

import pytest

import elmo_bench.encoders
import elmo_bench.tasks
from elmo_bench.__main__ import main

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"-?\d+\.\d+")
FILE = re.compile(r"^ {4}# FOLDER/([\w./]+)(.*\n(?:(?! {4}# FOLDER/| {4}elmo-bench )(?: {4}.*)?\n)*)", re.MULTILINE)
SENTENCES = ("good\tA fine film .", "bad\tA dull film .", "good\tIt works .", "bad\tIt drags on and on .")


def test_the_examples_run_as_written_and_print_what_is_shown(capsys):
    namespace: dict = {}
    page = ROOT / "docs" / "encoder.md"
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    assert sum(kind == "text" for kind, _ in blocks) >= 5
    for number, (kind, text) in enumerate(blocks):
        if kind == "python":
            exec(compile(text, f"{page.name}, block {number}", "exec"), namespace)
            continue
        printed = capsys.readouterr().out
        assert NUMBER.sub("#", printed) == NUMBER.sub("#", text)
        shown = [float(found) for found in NUMBER.findall(text)]
        assert [float(found) for found in NUMBER.findall(printed)] == pytest.approx(shown, abs=0.02)


def test_the_encoder_of_readme_and_the_task_of_contributing_run(tmp_path, monkeypatch, capsys):
    """Their code is put into a folder, which a run includes, as the pages say."""
    for page in ("README.md", "CONTRIBUTING.md"):
        for name, code in FILE.findall((ROOT / page).read_text(encoding="utf-8")):
            path = tmp_path / "mine" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(f"    # {code}"), encoding="utf-8")
    (tmp_path / "mine" / "tasks" / "mytask" / "__init__.py").touch()
    (tmp_path / "data" / "mydata").mkdir(parents=True)
    for split, sentences in {"train": SENTENCES[:3] * 8, "dev": SENTENCES[:2], "test": SENTENCES[::-1]}.items():
        (tmp_path / "data" / "mydata" / f"{split}.txt").write_text("\n".join(sentences) + "\n")
    (tmp_path / "new.txt").write_text("A fine film .\n")
    monkeypatch.setattr("elmo_bench.base.include.folders", [])
    for package in (elmo_bench.tasks, elmo_bench.encoders):
        monkeypatch.setattr(package, "__path__", [*package.__path__])
    monkeypatch.chdir(tmp_path)
    include, data = ["--include", "mine"], f"data.root={tmp_path / 'data'}"
    assert main([*include, "run", "task=mytask", "encoder=length", data, "predictions=true"]) == 0
    [record] = tmp_path.glob("results/runs/open/mytask/length/*/seed0.json")
    [predictions] = record.with_suffix("").glob("test.predictions*")
    assert predictions.read_text().splitlines()[0].split("\t")[::2] == SENTENCES[-1].split("\t")
    capsys.readouterr()
    assert main([*include, "score", "mytask", str(predictions)]) == 0
    assert re.fullmatch(r"accuracy \d+\.00 %\n", capsys.readouterr().out)
    assert main([*include, "predict", str(record), "new.txt", "out.txt"]) == 0
    assert re.search(r"\t(good|bad)\tA fine film \.\n$", Path("out.txt").read_text())
    assert main([*include, "report"]) == 0
    assert "My task" in Path("results/README.md").read_text()
