"""The examples of docs/encoder.md run as they stand and print what is shown."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parent.parent / "docs" / "encoder.md"
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"-?\d+\.\d+")


def test_the_examples_run_as_written_and_print_what_is_shown(capsys):
    namespace: dict = {}
    blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    assert sum(kind == "text" for kind, _ in blocks) >= 5
    for number, (kind, text) in enumerate(blocks):
        if kind == "python":
            exec(compile(text, f"{PAGE.name}, block {number}", "exec"), namespace)
            continue
        printed = capsys.readouterr().out
        assert NUMBER.sub("#", printed) == NUMBER.sub("#", text)
        shown = [float(found) for found in NUMBER.findall(text)]
        assert [float(found) for found in NUMBER.findall(printed)] == pytest.approx(shown, abs=0.02)
