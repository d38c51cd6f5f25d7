"""`--include FOLDER`: a task, an encoder and a suite from outside the installation."""

import os
import re
import sys
import textwrap

import pytest

import elmo_bench
from elmo_bench.__main__ import main
from elmo_bench.base.include import code_of
from elmo_bench.ledger import read_all
from elmo_bench.reporting.frame import runs as frame_of
from elmo_bench.reporting.remarks import remarks
from elmo_bench.runner.data import build_data
from elmo_bench.spec import config
from elmo_bench.spec.config import compose
from elmo_bench.spec.describe import command_of, label_of
from elmo_bench.spec.run_setup import Setup
from elmo_bench.spec.run_spec import RunSpec
from tests.runs import ROOT, printed, printed_folder, small

ENCODER = printed("docs/extend.md", "encoders/length.py")
YAML = printed("docs/extend.md", "conf/encoder/length.yaml")


@pytest.fixture
def include(tmp_path):
    """`--include` of a folder with a task and an encoder."""
    printed_folder(tmp_path / "mine")
    return ["--include", str(tmp_path / "mine")]


def test_a_suite_of_a_folder_has_default_runs_of_its_own(tmp_path, forgotten):
    """The yaml is the one in docs/experiments.md. `compare` and reports then treat its runs as default runs."""
    text = (ROOT / "docs" / "experiments.md").read_text()
    [yaml] = re.findall(r"(?m)(?:^    .*\n)+", text.partition("clinic.yaml`:")[2].partition("##")[0])
    (tmp_path / "conf" / "suite").mkdir(parents=True)
    (tmp_path / "conf" / "suite" / "clinic.yaml").write_text(textwrap.dedent(yaml))
    forgotten.append(tmp_path)
    composed = compose("config", ["task=ner", "encoder=elmo", "suite=clinic"])
    spec = RunSpec.of(composed)
    assert build_data(spec, Setup.of(composed)).options("clinic")["folder"] == "clinic"
    assert spec.changes == {}
    assert command_of(spec, 0) == "elmo-bench run task=ner encoder=elmo suite=clinic size=cpu seed=0"
    assert label_of(RunSpec.of(compose("config", ["task=ner", "suite=clinic", "mix=last"]))) == "mix=last"


def test_a_folder_may_follow_the_command_and_others_come_from_the_environment(
    include, tmp_path, forgotten, monkeypatch, refused
):
    others = [tmp_path / name for name in ("one", "two")]
    for other in others:
        (other / "conf").mkdir(parents=True)
    monkeypatch.setenv("ELMO_BENCH_INCLUDE", os.pathsep.join(map(str, others)))
    known = "classification, coref, deprel, mytask, ner,"
    assert f"unknown task. Choose one of: {known}" in refused("score", *include, "no_task")
    assert forgotten == [tmp_path / "mine", *others]
    monkeypatch.setenv("ELMO_BENCH_INCLUDE", str(tmp_path / "none"))
    for folder, where in (([], f"$ELMO_BENCH_INCLUDE: {tmp_path}/none"), ([tmp_path], f"--include {tmp_path}")):
        line = refused("status", *(f"--include={each}" for each in folder))
        assert line.startswith(f"elmo-bench: {where}: no folder with tasks/, encoders/ or conf/.")


@pytest.mark.slow
def test_runs_of_edited_code_keep_their_hash_and_every_table_says_so(include, tmp_path, forgotten, capsys):
    """The code of an encoder is its module and those that it names; a comment would change a hash for nothing."""
    encoders, runs = tmp_path / "mine" / "encoders", tmp_path / "runs"
    fewer = ("data.max_train=20", "task.training.epochs=1")
    options = [*small(f"ledger={runs}", *fewer, encoder="length"), *include]

    def made(seed, code, *others):
        for name, text in (("length.py", code), *others):
            (encoders / name).write_text(text)
        sys.modules.pop("elmo_bench.encoders.length", None)
        assert main(["run", f"seed={seed}", *options]) == 0
        return capsys.readouterr().out

    made(0, ENCODER)
    made(1, ENCODER, ("another.py", "x = 1"))
    assert "with other code" not in made(0, ENCODER)
    first, second = read_all(runs).records
    assert first.environment.code.keys() == {"encoder"}
    assert first.environment.code == second.environment.code
    assert remarks(frame_of(runs, [first, second])) == []
    made(2, ENCODER.replace("float(len(word))", "2 * float(len(word))"))
    assert "already in the ledger, with other code than its folder has now (" in made(0, ENCODER + "# another\n")
    assert len({record.hash for record in read_all(runs).records}) == 1
    said = "the code of the encoder changed between these runs, so their scores do not compare."
    assert main(["sweep", "seed=0,2", *options]) == 0
    assert said in capsys.readouterr().out
    assert main(["report", "--ledger", str(runs), "--out", str(tmp_path / "page"), *include]) == 0
    assert said in capsys.readouterr().err
    assert any(said in page.read_text() for page in (tmp_path / "page").glob("*.*"))


@pytest.mark.usefixtures("forgotten")
@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("tasks/ner/data.py", "tasks/ner/data.py"),
        ("encoders/hf.py", "encoders/hf.py"),
        ("encoders/elmo/__init__.py", "encoders/elmo"),
        ("encoders/elmo/helper.py", "encoders/elmo"),
        ("conf/encoder/elmo.yaml", "conf/encoder/elmo.yaml"),
    ],
)
def test_a_name_of_the_installation_is_refused(tmp_path, refused, name, shown):
    """Its own task, encoder or config would be read instead."""
    (path := tmp_path / name).parent.mkdir(parents=True)
    path.write_text("")
    (tmp_path / "encoders").mkdir(exist_ok=True)
    (tmp_path / "encoders" / "__init__.py").write_text("")
    said = f"elmo-bench: --include {tmp_path}: {shown} has the name of "
    assert refused("--include", tmp_path, "status", "task=ner").startswith(said)
    path.unlink()
    assert main(["--include", str(tmp_path), "status", "task=ner"]) == 0


@pytest.mark.usefixtures("forgotten")
@pytest.mark.parametrize("file", ["mine/__init__.py", "mine.py"])
def test_an_encoder_of_another_folder_is_refused_as_a_package(tmp_path, refused, file):
    options = []
    for name, path in (("one", "mine/__init__.py"), ("two", file)):
        (tmp_path / name / "encoders" / path).parent.mkdir(parents=True)
        (tmp_path / name / "encoders" / path).touch()
        options += ["--include", tmp_path / name]
    line = refused(*options, "status", "task=ner")
    shown = file.removesuffix("/__init__.py")
    assert f"two: encoders/{shown} has the name of {tmp_path}/one/encoders/mine. Give yours another name." in line


@pytest.mark.usefixtures("forgotten")
@pytest.mark.parametrize(
    "broken",
    [
        ("float(len(word))", "float(word)", "ValueError: could not convert string to float: 'a'"),
        ("return [torch", "return [[torch", "SyntaxError: '[' was never closed"),
        ("import torch", "import torhc", "ModuleNotFoundError: No module named 'torhc'"),
    ],
)  # fmt: skip
def test_an_encoder_that_raises_shows_its_own_lines_and_no_others(include, tmp_path, capsys, broken):
    old, new, said = broken
    path = tmp_path / "mine" / "encoders" / "raises.py"
    path.write_text(ENCODER.replace(old, new, 1))
    (tmp_path / "mine" / "conf" / "encoder" / "raises.yaml").write_text(YAML.replace("length", "raises"))
    sys.modules.pop("elmo_bench.encoders.raises", None)
    config._choice.cache_clear()
    assert main(["run", "task=ner", "encoder=raises", "data.max_train=20", f"ledger={tmp_path}", *include]) == 1
    told = capsys.readouterr().err
    assert f'  File "{path}", line ' in told
    assert new in told
    assert told.splitlines()[-1].startswith(said)
    assert re.findall(r'File "(.*?)"', told) == [str(path)] * told.count('File "')


def test_the_version_is_told(capsys, refused):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"elmo-bench {elmo_bench.__version__}\n"
    assert "unknown command 'rpeort' (did you mean 'report'?)" in refused("rpeort")


def test_an_encoder_may_have_a_folder_of_its_name_beside_it(tmp_path, forgotten):
    (tmp_path / "encoders" / "mine").mkdir(parents=True)
    (tmp_path / "encoders" / "mine" / "weights.bin").touch()
    (tmp_path / "encoders" / "mine.py").write_text("a = 1")
    forgotten.append(tmp_path)
    assert code_of("encoders", "mine")


def test_the_code_of_a_task_is_all_of_its_folder(tmp_path, forgotten):
    printed_folder(tmp_path / "mine")
    parts = tmp_path / "mine" / "tasks" / "mytask" / "parts"
    parts.mkdir()
    forgotten.append(tmp_path / "mine")
    digests = []
    for text in ("", "a = 1", "a = 2"):
        (parts / "net.py").write_text(text)
        digests.append(code_of("tasks", "mytask"))
    (parts / ".ipynb_checkpoints").mkdir()
    (parts / ".ipynb_checkpoints" / "net-checkpoint.py").write_text("a = 3")
    assert len(set(digests)) == 3 and code_of("tasks", "mytask") == digests[-1]
