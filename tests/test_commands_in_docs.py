"""Every command in README, the docs and the cards names a command that exists, with options that are accepted."""

import re
import shlex
from pathlib import Path

import pytest

from elmo_bench.__main__ import COMMANDS
from elmo_bench.base import include
from elmo_bench.runner.sweep import plan
from elmo_bench.spec.experiments import experiments

ROOT = Path(__file__).parents[1]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "conf/experiment/README.md")),
    *sorted(page for page in (ROOT / "docs").glob("*.md") if page.name != "own-data.md"),
    *sorted((ROOT / "tasks").glob("*/README.md")),
]
COMMAND = re.compile(
    r"^(?: {4}|\$ )(?:\.venv/bin/)?(?:elmo-bench|python run\.py|python -m elmo_bench) .*$", re.MULTILINE
)
STANDS_FOR = {"mytask": "ner", "length": "elmo"}  # names in examples of your own tasks and encoders


def commands():
    for page in PAGES:
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        for found in COMMAND.finditer(text):
            line = found[0].strip().removeprefix("$ ").removeprefix(".venv/bin/")
            for name, other in STANDS_FOR.items():
                line = re.sub(rf"(?<=[=,]){name}\b", other, line)
            yield pytest.param(line, id=f"{page.relative_to(ROOT)}: {line}"[:100])


def test_pages_have_commands():
    assert len(list(commands())) > 30


@pytest.mark.parametrize("line", [*commands()])
def test_a_command_in_the_docs_is_accepted(line, monkeypatch):
    monkeypatch.setattr(include, "folders", [])
    words = shlex.split(line, comments=True)
    if words[:2] == ["python", "run.py"]:
        words = ["run", *words[2:]]
    else:
        words = words[3:] if words[0] == "python" else words[1:]
    while words and words[0] == "--include":
        words = words[2:]
    if words[0] in ("COMMAND", "--help"):
        return
    assert words[0] in COMMANDS
    if "--help" in words:
        return
    if "--experiment" in words:
        assert words[words.index("--experiment") + 1] in experiments()
    if words[0] in ("run", "sweep", "status"):
        options = [word for word in words[1:] if re.match(r"[+~]?[\w.]+=", word)]
        assert plan(options).runs
