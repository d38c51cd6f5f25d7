"""Every command in README, the docs and the cards names a command that exists, with options that are accepted."""

import io
import re
import shlex
from contextlib import redirect_stdout, suppress
from functools import cache

import pytest

from elmo_bench.cli import COMMANDS, cost
from elmo_bench.cli.entry import main
from elmo_bench.pretraining import CONF as PRETRAINING
from elmo_bench.runner.plan import plan
from elmo_bench.spec.config import compose
from elmo_bench.spec.experiments import experiments
from elmo_bench.spec.settings import check_run
from elmo_bench.spec.sweeps import sweep
from tests.runs import ROOT

PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "conf/experiment/README.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "tasks").glob("*/README.md")),
]
COMMAND = re.compile(
    r"^(?: {4}|\$ )(?:.*&& )?(?:\.venv/bin/)?(?:elmo-bench|python run\.py|python -m elmo_bench) .*$", re.MULTILINE
)
IN_A_SENTENCE = re.compile(r"`(?:elmo-bench|python run\.py) [^`…]*(?:--|=)[^`…]*`")  # with options; … is any words
STANDS_FOR = {"mytask": "ner", "length": "elmo", "suffix": "elmo"}  # names in examples of your own tasks and encoders


planned = cache(lambda *options: len(plan([*options]).runs))
accepted = cache(lambda *options: check_run(compose("config", options)))


@cache
def help_of(command):
    with redirect_stdout(io.StringIO()) as said, suppress(SystemExit):
        main([command, "--help"])
    return said.getvalue()


def first_and_last(options):
    """The options of the first and the last run of each sweep."""
    for product in sweep(options):
        yield from {tuple(values[end] for values in product) for end in (0, -1)}


def check_options(words, line):
    """Compose the options as the command does."""
    options = [word for word in words[1:] if re.match(r"[+~]?[\w.]+=", word)]
    counted = re.search(r"# (\d+|six) runs\b", line)
    if words[0] in ("pretrain", "finetune", "evaluate"):
        compose(words[0], options, folder=PRETRAINING)
    elif words[0] == "cost":
        for run in cost._runs(options):
            compose("config", run)
    elif words[0] == "texts":
        accepted(*options)
    elif words[0] in ("run", "sweep", "status"):
        if counted:
            assert planned(*options) == int(counted[1].replace("six", "6"))
        else:
            for run in first_and_last(options):
                accepted(*run)


def commands():
    for page in PAGES:
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        for found in [*COMMAND.finditer(text), *IN_A_SENTENCE.finditer(text)]:
            line = found[0].strip(" `").rpartition("&& ")[2].removeprefix("$ ").removeprefix(".venv/bin/")
            for name, other in STANDS_FOR.items():
                line = re.sub(rf"(?<=[=,]){name}\b", other, line)
            yield pytest.param(line, id=f"{page.relative_to(ROOT)}: {line}"[:100])


def test_pages_have_commands():
    assert len(list(commands())) > 150  # of which about 30 in sentences


@pytest.mark.usefixtures("forgotten")
@pytest.mark.parametrize("line", [*commands()])
def test_a_command_in_the_docs_is_accepted(line):
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
    for flag in (word.partition("=")[0] for word in words[1:] if word.startswith("--")):
        assert re.search(rf"(?<![\w-]){flag}(?![\w-])", help_of(words[0])), flag
    if "--experiment" in words:
        assert words[words.index("--experiment") + 1] in experiments()
    check_options(words, line)


@pytest.mark.slow
def test_runs_that_pages_count_in_words_are_planned():
    quickstart, page = (
        (ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("quickstart.md", "experiments.md")
    )
    assert f"makes table 1 of all six tasks, {planned('experiment=table1')} runs." in " ".join(quickstart.split())
    assert f"table1: {planned('experiment=table1', 'suite=open', 'seed=0,1')} runs" in page


@pytest.mark.slow
def test_the_first_commands_of_readme_run_in_order(tmp_path, monkeypatch, capfd):
    """In an empty folder, on few examples. Such runs change the defaults, so `compare` refuses them, in one line."""
    section = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Install and run")[2].partition("## ")[0]
    lines = [shlex.split(line, comments=True)[1:] for line in re.findall(r"(?m)^ {4}(elmo-bench .*)$", section)]
    assert [words[0] for words in lines] == ["run", "sweep", "report", "compare"]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))  # of the runs that the sweep starts
    for words in lines[:3]:
        few = ["data.max_train=100", "task.training.epochs=1"] if words[0] in ("run", "sweep") else []
        assert main([*words, *few]) == 0, capfd.readouterr()
    assert len(list(tmp_path.glob("results/runs/open/ner/*/*/seed?.json"))) == 6
    assert "| glove" in (tmp_path / "results" / "README.md").read_text()
    capfd.readouterr()
    assert main(lines[3]) != 0
    assert re.fullmatch(r"elmo-bench compare: .*: no run to compare\. .*\n", capfd.readouterr().err)
