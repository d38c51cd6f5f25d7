"""A score that was changed by hand comes into no table: every command that shows or takes records refuses it."""

import json
import re
import shutil

import numpy as np
import pytest

import elmo_bench
from elmo_bench.__main__ import main
from elmo_bench.ledger import (
    Record,
    RunPaths,
    digest_of,
    read_all,
    read_outcomes,
    read_record,
    record_of,
    write_record,
)
from elmo_bench.reporting.names import UNCHECKED
from elmo_bench.spec.names import metric_of
from tests.ledger.records import hash_of
from tests.reporting.ledgers import fill
from tests.runs import ROOT, first_ones, forget_configs, small

RAISED = 30.0


def of_test(record):
    return record["scores"]["test"]["overall"]


def raised(record, outcomes, **changes):
    """30 points more on test, in the record alone."""
    of_test(record)["f1"] += RAISED
    record |= changes


def raised_on_dev(record, outcomes):
    """The curve is raised too, so that it agrees with the best epoch."""
    record["scores"]["dev"]["overall"]["f1"] += RAISED
    record["curves"]["dev"] = [score + RAISED for score in record["curves"]["dev"]]


def renamed(record, outcomes):
    record["metric"] = "hits"
    for scores in record["scores"].values():
        scores["overall"]["hits"] = scores["overall"]["f1"]


def kept(outcomes, *names):
    """Only these outcomes."""
    for name in outcomes.keys() - {*names}:
        del outcomes[name]


VARIANTS = {
    "in the record alone": (raised, "outcomes on test: they add up to f1"),
    "with a formula of no task": (lambda r, o: raised(r, o, formula="f1-v2"), "'f1-v2' is not the formula of ner"),
    "with another task's formula": (lambda r, o: raised(r, o, formula="accuracy"), "'accuracy' is not the formula"),
    "on dev and in the curve": (raised_on_dev, "outcomes on dev: they add up to f1"),
    "by a hundredth, of precision": (lambda r, o: of_test(r).update(precision=of_test(r)["precision"] + 0.01),
                                     "they add up to precision"),
    "a count": (lambda r, o: of_test(r).update(gold=of_test(r)["gold"] - 1), "they add up to gold"),
    "a main score of another name": (renamed, "'hits' is not the main score of ner, which is f1"),
    "a figure that the task does not have": (lambda r, o: of_test(r).update(robustness=99.0),
                                             "outcomes on test: robustness does not follow from them"),
    "a figure of a type that no item has": (lambda r, o: r["scores"]["test"].update(by_type={"PER": {"f1": 99.0}}),
                                            "outcomes on test: f1 of PER does not follow from them"),
    "the number of items": (lambda r, o: r["data"]["counts"].update(test=9),
                            "outcomes on test: of 1,287 items; record.data.counts has 9"),
    "without outcomes on dev": (lambda r, o: kept(o, *(name for name in o if "." not in name)), "no outcomes on dev"),
    "without an array": (lambda r, o: kept(o, *(o.keys() - {"guessed"})), "outcomes without 'guessed'"),
    "outcomes that were raised too": (lambda r, o: o.update(correct=np.maximum(o["correct"], 1)), "they add up to"),
}  # fmt: skip


def write_bytes(path, content):
    path.unlink()
    path.write_bytes(content)


def exchange(path):
    """The outcomes of the other seed."""
    path.write_bytes(path.with_name("seed1.npz").read_bytes())


def link(path):
    path.rename(path.with_name("elsewhere"))
    path.symlink_to(path.with_name("elsewhere"))


FILES = {  # what is done to the outcomes' file beside a raised score with an unknown formula, which hid it once
    "outcomes that are gone": (lambda path: path.unlink(), "no such file"),
    "outcomes that are damaged": (lambda path: write_bytes(path, b"PK"), "not the outcomes of a run, or damaged"),
    "outcomes of another run": (exchange, "seed0.npz is not of this record"),
    "outcomes that are a link": (link, "link"),
}


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """Two encoders with two seeds."""
    folder = tmp_path_factory.mktemp("original")
    fill(folder, "ner", "glove elmo", seeds=2)
    return folder


@pytest.fixture
def ledger(original, tmp_path):
    """A copy for the test."""
    shutil.copytree(original, tmp_path / "runs")
    return tmp_path / "runs"


def changed_in_the_record(ledger, variant):
    """(path, reason, score) of a record of `VARIANTS`, which is written."""
    change, why = VARIANTS[variant]
    path = next(ledger.rglob("elmo/*/seed0.json"))
    paths = RunPaths.of(ledger, read_record(path))
    record = json.loads(path.read_bytes())
    outcomes = read_outcomes(paths)
    change(record, outcomes)
    write_record(paths, record_of(record | {"outcomes": digest_of(outcomes)}), outcomes)
    return path, why, f"{of_test(record)['f1']:.2f}"


def changed_beside_the_record(ledger, file):
    """The same of a record and an outcomes' file of `FILES`."""
    change, why = FILES[file]
    path = next(ledger.rglob("elmo/*/seed0.json"))
    record = json.loads(path.read_bytes())
    raised(record, {})
    path.write_text(json.dumps(record), encoding="utf-8")
    change(path.with_suffix(".npz"))
    return path, why, f"{of_test(record)['f1']:.2f}"


def refused_by_the_reader(ledger, path, why):
    """What every command reads records with gives the three others, and one line with the file and the reason."""
    records, problems = read_all(ledger, metrics=metric_of)
    [line] = [problem for problem in problems if str(path) in problem]
    assert why in line
    assert len(records) == 3


def refused_by_all(ledger, capsys, path, why, score):
    """Each command names the file and the reason, and none shows the score."""
    out, into = ledger.parent / "page", ledger.parent / "merged"
    commands = {
        "report": ["--ledger", ledger, "--out", out, "--every-eval-ever", out.parent / "logs.jsonl", "--published",
                   out.parent / "published"],
        "compare": ["elmo", "glove", "--ledger", ledger],
        "check": [ledger],
        "merge": [ledger, "--into", into],
    }  # fmt: skip
    for command, options in commands.items():
        capsys.readouterr()
        assert main([command, *map(str, options)]) == 1, command
        said = capsys.readouterr()
        lines = (said.out + said.err).splitlines()
        [line] = [line for line in lines if str(path) in line]
        assert why in line
        assert score not in "".join(each for each in lines if each != line)
    pages = [
        out / "README.md",
        out / "index.html",
        *out.rglob("*.csv"),
        out.parent / "logs.jsonl",
        out.parent / "published",
    ]
    assert len(pages) > 5
    assert not [page.name for page in pages if score in page.read_text(encoding="utf-8")]
    assert not RunPaths.of(into, Record.read(json.loads(path.read_bytes()), "")).record.exists()
    with pytest.warns(UserWarning, match=re.escape(why)):
        frame = elmo_bench.results(ledger)
    assert len(frame) == 3 and frame.checked.all()


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_changed_figure_is_refused(ledger, variant):
    path, why, _ = changed_in_the_record(ledger, variant)
    refused_by_the_reader(ledger, path, why)


@pytest.mark.parametrize("file", FILES)
def test_outcomes_that_cannot_be_read_are_no_way_around_it(ledger, file):
    path, why, _ = changed_beside_the_record(ledger, file)
    refused_by_the_reader(ledger, path, why)


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("variant", first_ones(VARIANTS, 1))
def test_every_command_refuses_a_changed_figure(ledger, capsys, variant):
    refused_by_all(ledger, capsys, *changed_in_the_record(ledger, variant))


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("file", first_ones(FILES, 1))
def test_every_command_refuses_outcomes_that_cannot_be_read(ledger, capsys, file):
    refused_by_all(ledger, capsys, *changed_beside_the_record(ledger, file))


@pytest.mark.slow
def test_neither_a_run_nor_a_sweep_shows_it(main_job, tmp_path, capsys, elmo_run):
    shutil.copytree(elmo_run[0], tmp_path / "runs")
    [path] = (tmp_path / "runs").rglob("seed0.json")
    record = json.loads(path.read_bytes())
    of_test(record)["f1"] = 87.65
    path.write_text(json.dumps(record), encoding="utf-8")
    for flags in ([], ["-m"]):
        capsys.readouterr()
        assert main_job(*flags, *small()) == 2
        said = capsys.readouterr()
        why = f"{path}: outcomes on test: they add up to f1"
        assert why in said.err
        assert "87.65" not in "".join(line for line in said.out.splitlines() if why not in line)


@pytest.fixture
def not_installed(ledger, tmp_path, monkeypatch, forgotten):
    """The records of a task of which only the yaml is included, with a score of 99."""
    conf = tmp_path / "mine" / "conf" / "task"
    conf.mkdir(parents=True)
    text = (ROOT / "conf/task/ner.yaml").read_text().replace("name: ner", "name: elsewhere", 1)
    text = text.replace("title: Named entities", "title: Elsewhere")
    (conf / "elsewhere.yaml").write_text(text)
    monkeypatch.setenv("ELMO_BENCH_INCLUDE", str(tmp_path / "mine"))
    forget_configs()
    for path in sorted(ledger.rglob("seed?.json")):
        record = read_record(path)
        outcomes = read_outcomes(RunPaths.of(ledger, record))
        content = record.to_json()
        content["spec"]["task"] = "elsewhere"
        content["hash"] = hash_of(content["spec"])
        content["attempt"] = content["attempt"][::-1]
        if record.spec.encoder == "elmo":
            of_test(content)["f1"] = 99.0 + record.seed / 100
        record = record_of(content)
        write_record(RunPaths.of(ledger, record), record, outcomes)
    yield ledger
    forget_configs()


FINDING = """## {name}
claim: {task}
figure: open-gains
runs: elmo-bench sweep

**It gains {{gain}}.**
"""
CLAIM = """
def {task}(tables):
    gains = tables["gains"].set_index("task")
    row = gains.loc["{task}"]
    assert row.gain > 0
    return {{"gain": f"{{row.gain:.2f}}"}}
"""


def test_what_nobody_here_can_check_says_so_wherever_it_is_shown(not_installed, tmp_path, capsys):
    ledger, out = not_installed, tmp_path / "page"
    out.mkdir()
    findings = {"Here": "ner", "There": "elsewhere"}
    text = "\n".join(FINDING.format(name=name, task=task) for name, task in findings.items())
    (out / "FINDINGS-open.md").write_text(text)
    claims = "\n".join(CLAIM.format(task=task) for task in findings.values())
    (out / "findings_open.py").write_text(claims)
    options = {
        "--ledger": ledger,
        "--out": out,
        "--findings": out,
        "--every-eval-ever": tmp_path / "logs.jsonl",
        "--published": tmp_path / "published",
    }
    command = ["report"]
    for option, path in options.items():
        command += [option, str(path)]
    assert main(command) == 0
    page = (out / "README.md").read_text(encoding="utf-8")
    assert "ELMo gains" in page and "on elsewhere" not in page  # headline, and text of the picture
    headline, _, rest = page.partition("Findings are written by people and shown only")
    assert rest.partition("\n")[0].endswith("There (`elmo-bench sweep`).")
    assert "#### Here" in headline and "#### There" not in headline
    scores = ("99.00", "99.01")
    for line in page.splitlines():
        assert "not checked" in line or not any(score in line for score in scores), line
    assert UNCHECKED.split(":")[1].split(".")[0] in page
    for path in out.rglob("*.csv"):
        for line in path.read_text().splitlines():
            assert "not checked" in line or "elsewhere" not in line.split(",")[0], (path.name, line)
    for path in out.rglob("*.svg"):
        assert "elsewhere" not in (path.name + path.read_text(encoding="utf-8")).lower()
    assert "elsewhere" not in (tmp_path / "published").read_text()
    logs = [json.loads(line) for line in (tmp_path / "logs.jsonl").read_text().splitlines()]
    marked = [log for log in logs if "scores" in log["eval_library"]["additional_details"]]
    assert {log["evaluation_id"].split("/")[0] for log in marked} == {"elmo-bench-open-elsewhere"}
    assert len(marked) == len(logs) / 2 == 4
    capsys.readouterr()
    assert main(["compare", "elmo", "glove", "--ledger", str(ledger)]) == 0
    said = capsys.readouterr().out
    assert re.search(r"^\| elsewhere .* not checked ", said, re.MULTILINE) and UNCHECKED in said
    [record] = ledger.rglob("elsewhere/elmo/*/seed0.json")
    main(["check", str(record)])
    assert "not checked: scores: task elsewhere is not installed here" in capsys.readouterr().out
    main(["check", str(ledger)])
    assert "not checked: scores of 4 records: task elsewhere is not installed here" in capsys.readouterr().out
    frame = elmo_bench.results(ledger)
    assert frame.groupby("task").checked.all().to_dict() == {"elsewhere": False, "ner": True}
