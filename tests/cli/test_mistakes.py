"""Mistakes of users on the command line: each is one line, and torch is not imported for it."""

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from elmo_bench import __main__ as program
from elmo_bench.__main__ import main
from elmo_bench.base.refusals import refusal
from elmo_bench.cli import entry as command_line
from elmo_bench.cli import neighbours
from elmo_bench.spec.config import compose
from tests.ledger.records import hash_of
from tests.reporting.ledgers import fill
from tests.runs import GOLDEN, ROOT

COMMAND = [sys.executable, "-m", "elmo_bench"]
README = ROOT / "README.md"
RECORD = next((ROOT / "results/runs/open/ner/none").rglob("seed0.json"))
PREDICT = ["predict", RECORD, README]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--task", "ner"], "elmo-bench: --task: a command comes first, and its options are key=value."),
        (["helpp"], "elmo-bench: unknown command 'helpp'."),
        (["predict", ROOT, README, "out"], "a folder, not the record of a run. Give LEDGER/suite/task/"),
        (["predict", README, README, "out"], "README.md: not the record of a run. Give LEDGER/suite/task/"),
        (["predict", "nothing.json", README, "out"], "nothing.json: no such file."),
        (["predict", RECORD, README, ROOT], f"{ROOT}: a folder. Give a file."),
        (["embed", "nothing.txt", "out.h5"], "nothing.txt: no such file. Check the path."),
        (["embed", ROOT, "out.h5"], "a folder. Give a file."),
        (["run", "encoder=glove", "launcher=slurm"], "launcher=slurm: `run` makes its run in this process, without"),
        (["run", "launcher.jobs=2"], "Use `sweep` (run.py -m) with the same options."),
        (
            ["sweep", "encoder=glove", "+encoder=elmo"],
            "encoder is given 2 times. Give all of its values at once: encoder=glove,",
        ),
        (["status", "task=ner", "task=pos"], "task is given 2 times. Give all of its values at once: task=ner,pos"),
        (["cost", "encoder=elmo", "encoder=glove"], "Give all of its values at once: encoder=elmo,glove"),
        (["neighbours", "a", "--in", "a", README, "mix=lst"], "mix=lst: unknown mix"),
        (["run", "task=classification", "data.train=a.csv,b.csv"], "A name with a comma is in quotes: \"data.train='"),
        (["run", "encoder=[glove,elmo]"], "`sweep encoder=glove,elmo` makes a run of each."),
        (["run", "task=ner", "task=snli"], "run: task is given 2 times. Give it once."),
        (["pretrain", "corpus=a", "corpus=b"], "corpus is given 2 times. Give it once."),
        (["finetune", "corpus=a", "corpus=b"], "corpus is given 2 times. Give it once."),
        (["evaluate", "corpus=a", "corpus=b"], "corpus is given 2 times. Give it once."),
        (["texts", "out.txt", "task=ner", "task=pos"], "task is given 2 times. Give it once."),
        (["neighbours", "a", "--in", "a", README, "mix=last", "mix=first"], "mix is given 2 times. Give it once."),
        (["neighbours", "a", "--in", "a", README, "encoder=tfidf"], "encoder=tfidf: has no frozen vectors."),
        (["run", "task=ner", "encoder=none", "ledger=/proc/no"], "run: ledger=/proc/no: cannot be made ("),
        (["texts", "/proc/no/out.txt", "task=ner"], "texts: /proc/no/out.txt: cannot be made ("),
        (["texts", README, "task=ner"], "README.md: exists already. Give another path, or --overwrite to"),
        ([*PREDICT, README], "README.md: this file is read too, and would be overwritten."),
        ([*PREDICT, ROOT / "LICENSE"], "LICENSE: exists already. Give another path, or --overwrite to"),
        ([*PREDICT, "/proc/no/out"], "predict: /proc/no/out: cannot be made ("),
        ([*PREDICT, "out", "foo"], "predict: foo: not the option of a column of task=ner. It has: none"),
        ([*PREDICT, "out", "--vectors", "x"], "--vectors x: the run has no static vectors. Leave it out."),
    ],
)
def test_a_mistake_is_one_line(refused, monkeypatch, words, line):
    for module in ("elmo.embed", "runner.trained", "runner.prepare", "runner.data"):
        monkeypatch.setitem(sys.modules, f"elmo_bench.{module}", None)  # an import would fail
    assert line in refused(*words)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["out.conll"], "out.conll: not a name of a table."),
        (["out.csv", "data.alike=merge"], "It has: data.text=COLUMN, data.label=COLUMN"),
    ],
)
def test_a_prediction_on_own_data_that_cannot_be_is_refused_without_torch(refused, tmp_path, monkeypatch, words, line):
    monkeypatch.setitem(sys.modules, "elmo_bench.runner.trained", None)
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    record["spec"]["task"] = "classification"
    record["hash"] = hash_of(record["spec"])
    (tmp_path / "seed0.json").write_text(json.dumps(record), encoding="utf-8")
    said = refused("predict", tmp_path / "seed0.json", README, *words)
    assert line in said and "alike=COLUMN" not in said


@pytest.mark.parametrize(
    "words",
    [
        ["status", "--experiment", "table1", "--experiment", "table2"],
        ["cost", "--out", "a", "encoder=glove", "--out", "b"],
    ],
)
def test_an_option_with_dashes_is_given_once(capsys, words):
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert capsys.readouterr().err.endswith(f"error: {words[1]} is given twice. Give it once.\n")


def test_a_comparison_of_a_size_that_no_run_has_names_the_sizes(refused, tmp_path):
    fill(tmp_path, "ner", "glove elmo")
    said = refused("compare", "elmo", "glove", "--size", "paper", "--ledger", tmp_path)
    assert said.endswith(f"--size paper: no run to compare in {tmp_path}, which has cpu. Give one of these.")


@pytest.mark.parametrize("command", ["run", "sweep", "status"])
def test_options_with_dashes_are_answered_with_how_they_are_written(capsys, command):
    with pytest.raises(SystemExit) as ended:
        main([command, "--task", "ner"])
    assert ended.value.code == 2
    assert "an option of a run has no dashes: task=VALUE" in capsys.readouterr().err


def test_an_existing_file_with_an_equals_sign_is_a_text_to_search(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "seed=0.txt").touch()
    words = ["seed=0.txt", "mix=last", "++encoder.contextual.pooling=mean", "store=off", "a.txt"]
    assert neighbours._options_and_files(words) == (words[1:4], ["seed=0.txt", "a.txt"])


def test_help_is_a_command_too(capsys):
    assert main(["help"]) == 0
    assert "usage: elmo-bench" in capsys.readouterr().out
    with pytest.raises(SystemExit) as ended:
        main(["help", "score"])
    assert ended.value.code == 0
    assert "usage: elmo-bench score" in capsys.readouterr().out
    assert main(["pretrain", "corpus=text.txt", "--help"]) == 0
    assert "corpus: ???" in capsys.readouterr().out


def test_the_one_argument_that_texts_needs_is_named(capsys):
    with pytest.raises(SystemExit):
        main(["texts"])
    assert "arguments are required: out\n" in capsys.readouterr().err


def test_another_file_is_no_damaged_record(capsys):
    assert main(["check", str(README)]) == 1
    said = capsys.readouterr().out
    assert "not the record of a run" in said
    assert "overwrite" not in said


def test_a_damaged_record_is_still_named_as_one(refused, tmp_path):
    (tmp_path / "seed0.json").write_text('{"schema": ')
    assert "overwrite=true" in refused("predict", tmp_path / "seed0.json", README, tmp_path / "out")


@pytest.mark.parametrize(
    "words",
    [
        ("merge", "runs", "--into", "/proc/nothing"),
        ("export", GOLDEN, "/proc/nothing"),
    ],
)
def test_a_folder_that_cannot_be_made_is_one_line(refused, tmp_path, monkeypatch, store_record, words):
    monkeypatch.chdir(tmp_path)
    store_record()
    said = "cannot be made (No such file or directory). Choose another folder."
    assert said in refused(*words)


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.ENOSPC, "Free some space, or choose another place."),
        (errno.EDQUOT, "Free some space, or choose another place."),
        (errno.EFBIG, "Free some space, or choose another place."),
        (errno.EROFS, "Choose another place."),
        (errno.EACCES, "Choose another place."),
        (errno.EPERM, "Choose another place."),
        (errno.EIO, "Check the disk, or choose another place."),
        (errno.ENOTDIR, "A part of the path is a file. Choose another place."),
        (errno.EEXIST, "Move what is there, or choose another place."),
        (errno.EISDIR, "Move what is there, or choose another place."),
        (errno.ENAMETOOLONG, "Choose a shorter name."),
    ],
)
def test_what_failed_has_its_own_advice(number, advice):
    refused = refusal(OSError(number, os.strerror(number), "a file"), "output")
    assert str(refused) == f"a file: {os.strerror(number)}. {advice}"


def test_a_folder_in_the_place_of_a_table_is_named(tmp_path):
    """Of a file that is moved over it, the line names where it was moved to."""
    (tmp_path / "table.csv").mkdir()
    (tmp_path / "table.csv" / "more").touch()
    (tmp_path / ".table.csv.1").touch()
    with pytest.raises(OSError) as error:
        (tmp_path / ".table.csv.1").replace(tmp_path / "table.csv")
    line = str(refusal(error.value, "output"))
    assert line.startswith(f"{tmp_path / 'table.csv'}: Is a directory. Move what is there")


def test_closed_streams_do_not_end_a_command():
    """What a library prints must not reach a file that got the number of the stream."""
    for closing in (">&-", "2>&-", ">&- 2>&- <&-"):
        done = subprocess.run(
            f"{' '.join(COMMAND)} --version {closing}", shell=True, check=False, capture_output=True, text=True
        )
        assert (done.returncode, done.stderr) == (0, ""), closing


def test_a_removed_folder_is_one_line(refused, tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert refused("status", "task=ner") == "elmo-bench status: the current folder was removed. Change to another."


class _Interrupting:
    """Ctrl-C while a module is imported."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "elmo_bench.cli.entry":
            raise KeyboardInterrupt


def test_an_interrupt_while_the_program_is_imported_is_one_line(monkeypatch, capsys):
    monkeypatch.delitem(sys.modules, "elmo_bench.cli.entry")
    monkeypatch.delattr("elmo_bench.cli.entry")
    monkeypatch.setattr(sys, "meta_path", [_Interrupting, *sys.meta_path])
    with pytest.raises(SystemExit) as ended:
        program.entry("status")
    assert ended.value.code == 130
    assert capsys.readouterr().err == "elmo-bench: interrupted before it began.\n"


def test_an_interrupt_of_a_command_is_one_line(monkeypatch, capsys):
    before = signal.getsignal(signal.SIGTERM)

    def interrupt(arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(command_line, "main", interrupt)
    monkeypatch.setattr(sys.stdout, "reconfigure", lambda **_: None, raising=False)
    monkeypatch.setattr(sys.stderr, "reconfigure", lambda **_: None, raising=False)
    assert command_line.main_into_pipe(["status"]) == 130
    signal.signal(signal.SIGTERM, before)
    assert "interrupted" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "folder"),
    [
        ([], "results/sweeps"),
        (["ledger=results/runs"], "results/sweeps"),
        (["ledger=mine"], "mine-sweeps"),
        (["ledger=some/where/runs/"], "some/where/runs-sweeps"),
        (["ledger=mine", "launcher.logs=logs"], "logs"),
        (["ledger=mine", "launcher=slurm"], "mine-sweeps"),
    ],
)
def test_the_logs_of_a_sweep_are_beside_its_ledger(options, folder):
    assert compose("config", options).launcher.logs == folder


def test_code_without_a_yaml_is_named(tmp_path, monkeypatch, capsys):
    (tmp_path / "tasks" / "mine").mkdir(parents=True)
    (tmp_path / "tasks" / "mine" / "data.py").touch()
    (tmp_path / "encoders").mkdir()
    (tmp_path / "encoders" / "long.py").write_text("def load():\n    pass\n")
    (tmp_path / "encoders" / "helper.py").write_text("def helps():\n    pass\n")
    monkeypatch.setattr("elmo_bench.base.include.folders", [Path(tmp_path)])
    assert main(["test"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "WRONG  encoder long: no yaml of this kind. Write conf/encoder/long.yaml with kind: long: see docs/extend.md.",
        "WRONG  task mine: no yaml. Write conf/task/mine.yaml: see docs/extend.md.",
    ]


MISSING = [  # a command; what it says of the file
    ("run task=classification data.file=nope.csv encoder=none", "nope.csv: no such file"),
    ("sweep task=tagging data.file=nope.conll encoder=none", "nope.conll: no such file"),
    ("texts out.txt task=classification data.file=nope.csv", "nope.csv: no such file"),
    ("texts out.txt task=pairs data.train=nope.csv", "nope.csv: no such file"),
    ("neighbours bank --in bank nope.txt", "nope.txt: no file matches."),
    ("neighbours bank --in bank README.md encoder.weights=./nope", "weights './nope': no such folder or file."),
    ("evaluate corpus=nope.txt weights=mini", "nope.txt: no file matches."),
    ("evaluate corpus=README.md weights=mini tokenizer=[a]", "tokenizer=['a']: unknown. Choose spaces or treebank."),
    ("pretrain corpus=README.md out=/", "out=/: give a folder below it."),
    ("evaluate corpus=README.md weights=./nope", "weights './nope': no such folder or file."),
    ("export ./nope out", "weights './nope': no such folder or file."),
    ("export nope/seed0.json out", "seed0.json: no such file"),
    ("embed nope.txt out.h5", "nope.txt: no such file"),
    ("embed README.md out.h5 --weights ./nope", "weights './nope': no such folder or file."),
    ("pretrain corpus=nope.txt out=x", "nope.txt: no file matches."),
    ("pretrain corpus=README.md out=x threads=0", "threads=0: must be a whole number above 0"),
    ("predict nope/seed0.json README.md out", "seed0.json: no such file"),
    ("score ner nope.txt", "nope.txt: no such file"),
    ("check nope/seed0.json", "seed0.json: no such file"),
    ("report --ledger nope", "nope: no such folder"),
]


@pytest.mark.slow
def test_a_missing_file_is_named_before_torch_is_imported():
    """And before NLTK is, which takes as long. One process for all, as each takes seconds."""
    commands = [command.split() for command, _ in MISSING]
    code = (
        "import sys; from elmo_bench.__main__ import main\n"
        f"for command in {commands!r}:\n"
        "    print(main(command), *sorted({'torch', 'nltk'} & {*sys.modules}), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines() + done.stderr.splitlines()
    for command, line in MISSING:
        assert any(line in shown for shown in lines), f"{command}: {done.stderr}"
    codes = [shown for shown in lines if shown in ("1", "2")]
    assert len(codes) == len(MISSING), done.stderr
