"""The examples of the docs run as they stand: docs/encoder.md, the encoder and the task of docs/extend.md."""

import re
from pathlib import Path

import pytest

from elmo_bench.__main__ import main
from tests.runs import ROOT, printed_folder

BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"-?\d+\.\d+")


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


@pytest.mark.slow
@pytest.mark.usefixtures("forgotten")
def test_the_encoder_and_the_task_of_the_docs_run(tmp_path, monkeypatch, capsys):
    """Their code is put into a folder, which a run includes, as the pages say."""
    printed_folder(tmp_path / "mine")
    (tmp_path / "mine" / "tasks" / "mytask" / "__init__.py").touch()
    (tmp_path / "new.txt").write_text("A fine film .\n")
    monkeypatch.chdir(tmp_path)
    include, data = ["--include", "mine"], f"data.root={tmp_path / 'mine'}"
    assert main([*include, "run", "task=mytask", "encoder=length", data, "predictions=true"]) == 0
    [record] = tmp_path.glob("results/runs/open/mytask/length/*/seed0.json")
    [predictions] = record.with_suffix("").glob("test.predictions*")
    assert predictions.read_text().splitlines()[0].split("\t")[::2] == ["good", "test good ."]
    capsys.readouterr()
    assert main([*include, "score", "mytask", str(predictions)]) == 0
    assert re.fullmatch(r"accuracy \d+\.00\n", capsys.readouterr().out)
    assert main([*include, "predict", str(record), "new.txt", "out.txt"]) == 0
    assert re.search(r"\t(good|bad)\tA fine film \.\n$", Path("out.txt").read_text())
    assert main([*include, "report"]) == 0
    assert "My task" in Path("results/README.md").read_text()
