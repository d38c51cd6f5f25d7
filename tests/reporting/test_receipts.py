"""A report is not made again where nothing has changed, and is made where anything has."""

import concurrent.futures
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import elmo_bench
from elmo_bench.__main__ import main
from elmo_bench.base import include
from elmo_bench.cli import report
from elmo_bench.ledger import RunPaths, digest_of, read_outcomes, read_record, write_record
from elmo_bench.reporting import receipts
from elmo_bench.reporting.render import END, START
from tests.ledger.records import changed, put
from tests.reporting.ledgers import add, fill
from tests.runs import ROOT, first_ones

AGAIN = "nothing has changed since it was written"

pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.fixture
def runs(tmp_path):
    fill(tmp_path / "runs", "ner", "glove elmo", seeds=1)
    return tmp_path / "runs"


@pytest.fixture
def made_in_full(runs, tmp_path, monkeypatch, capsys, undrawn):
    """`made_in_full(*flags, code=0) -> whether the report was made`, not skipped."""
    monkeypatch.chdir(tmp_path)

    def made(*flags, code=0):
        capsys.readouterr()
        assert report.main(["--ledger", str(runs), "--out", "out", *flags]) == code
        return AGAIN not in capsys.readouterr().out

    return made


@pytest.fixture
def made(made_in_full, monkeypatch):
    """The same, of reports of two files that are made in no time."""

    def make(options, costs):
        files = {options.out / "README.md": b"page", options.out / "tables" / "a.csv": b"table"}
        files |= dict.fromkeys(options.readme, b"readme")
        if options.published:
            files[options.published] = b"{}"
        for path, content in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)
            path.write_bytes(content)
        return {path: hashlib.sha256(content).hexdigest() for path, content in files.items()}, [], []

    monkeypatch.setattr(report, "_make", make)
    return made_in_full


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def sources_of(runs):
    return report._sources(report._parse(["--ledger", str(runs), "--out", "out"]), runs.parent / "costs")


def record_of(runs, encoder="glove"):
    return next(runs.glob(f"open/ner/{encoder}/*/seed0.json"))


def test_an_unchanged_report_is_left_as_it_is(made_in_full, tmp_path):
    (tmp_path / "page.md").write_text(f"{START}\n{END}\n", encoding="utf-8")
    flags = ("--readme", "page.md", "--published", "published.json")
    assert made_in_full(*flags)
    before = contents(tmp_path)
    assert not made_in_full(*flags)
    assert contents(tmp_path) == before
    [receipt] = (tmp_path / "cache" / "reports").iterdir()
    named = {Path(name) for name in json.loads(receipt.read_text(encoding="utf-8"))["files"]}
    assert named == {*contents(tmp_path / "out"), tmp_path / "page.md", tmp_path / "published.json"}
    (tmp_path / "page.md").write_text(f"mine\n{START}\n{END}\n", encoding="utf-8")
    assert made_in_full(*flags)


def record_changes(runs, _out):
    path = record_of(runs)
    put(path, changed(read_record(path), {"cost/cpu_seconds": 7.0}))


def record_comes(runs, _out):
    add(runs, "ner", "elmo_word", 0)


def record_goes(runs, _out):
    shutil.rmtree(record_of(runs, "elmo").parent)


def outcomes_change(runs, _out):
    paths = RunPaths.at(record_of(runs))
    outcomes = read_outcomes(paths)
    first = outcomes["gold"].argmax()
    outcomes["marked"] = (outcomes["gold"] * 0).astype("u1")
    outcomes["marked"][first] = 1
    write_record(paths, changed(read_record(paths.record), {"outcomes": digest_of(outcomes)}), outcomes)


def file_changes(_runs, out):
    (out / "README.md").write_text("mine", encoding="utf-8")


def file_goes(_runs, out):
    next(out.glob("tables/*.csv")).unlink()


def file_becomes_a_link(_runs, out):
    (out / "README.md").rename(out / "other.md")
    (out / "README.md").symlink_to("other.md")


@pytest.mark.parametrize(
    "change",
    first_ones(
        [record_changes, record_comes, record_goes, outcomes_change, file_changes, file_goes, file_becomes_a_link], 4
    ),
)
def test_any_change_makes_it_again(made, runs, tmp_path, change):
    assert made()
    change(runs, tmp_path / "out")
    assert made()
    assert not made()


def test_other_options_make_it_again(made, tmp_path):
    for folder in ("claims", "costs2/here"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("FINDINGS-open.md", "findings_open.py"):
        (tmp_path / "claims" / name).touch()
    for flags in (
        [],
        ["--suite", "open"],
        ["--findings", "claims"],
        ["--costs", "costs2"],
        ["--readme", "page.md"],
        ["--published", "published.json"],
        ["--suite", "open", "--costs", "costs2"],
    ):
        assert made(*flags)
        assert not made(*flags)
    assert made("--every-eval-ever", "runs.jsonl")
    assert made("--every-eval-ever", "runs.jsonl")  # its files have no receipt
    (tmp_path / "claims" / "findings_open.py").write_text("1", encoding="utf-8")
    assert made("--findings", "claims")
    (tmp_path / "costs2" / "here" / "x.json").write_text("{}", encoding="utf-8")
    assert made("--costs", "costs2")


def test_other_code_makes_it_again(made, tmp_path, monkeypatch):
    package = tmp_path / "package"
    package.mkdir()
    (package / "code.py").write_text("1", encoding="utf-8")
    monkeypatch.setattr(receipts, "_PACKAGE", package)
    assert made()
    assert not made()
    (package / "code.py").write_text("2", encoding="utf-8")
    assert made()
    monkeypatch.setattr(sys, "version", "3.99")
    assert made()
    (tmp_path / "pandas-99.dist-info").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    assert made()
    assert not made()


@pytest.mark.slow
def test_what_is_printed_is_printed_again(made_in_full, runs, capsys):
    record_of(runs, "elmo").write_text("{", encoding="utf-8")
    for _ in range(2):
        assert report.main(["--ledger", str(runs), "--out", "out"]) == 1
        assert "not valid JSON" in capsys.readouterr().err


def test_a_link_a_pipe_or_a_large_file_has_no_digest(made, runs):
    """The report names them: so it is made."""
    path = record_of(runs, "elmo")
    assert made()
    path.unlink()
    os.mkfifo(path)
    assert made() and made()
    path.unlink()
    path.symlink_to(record_of(runs))
    assert made() and made()
    path.unlink()
    with path.open("wb") as file:
        file.truncate(2**40)
    assert made() and made()
    path.unlink()
    assert made() and not made()


@pytest.mark.usefixtures("forgotten")
def test_included_code_may_read_anything(made, tmp_path):
    (tmp_path / "mine" / "conf").mkdir(parents=True)
    include.include(tmp_path / "mine")
    assert made() and made()


@pytest.mark.parametrize("content", ["", "{", "[]", '{"inputs": "0", "files": {}}', '{"inputs": 1, "files": {"a": 2}}'])
def test_a_damaged_receipt_is_none(made, tmp_path, content):
    assert made()
    [receipt] = (tmp_path / "cache" / "reports").iterdir()
    receipt.write_text(content, encoding="utf-8")
    assert made()
    assert not made()


def test_it_works_without_a_folder_for_receipts(made, tmp_path):
    (tmp_path / "cache").write_text("a file", encoding="utf-8")
    assert made()
    assert made()


def test_a_ledger_that_cannot_be_written_has_a_receipt(made, runs):
    before = contents(runs)
    for folder in (*runs.rglob("*"), runs):
        folder.chmod(0o555 if folder.is_dir() else 0o444)
    try:
        assert made()
        assert not made()
    finally:
        for folder in (runs, *sorted(runs.rglob("*"))):
            folder.chmod(0o755)
    assert contents(runs) == before


def test_check_and_merge_trust_no_receipt(made_in_full, runs, tmp_path, capsys):
    """Not even one that says that the report of a changed score is current."""
    assert made_in_full()
    path = record_of(runs)
    content = json.loads(path.read_text(encoding="utf-8"))
    content["scores"]["test"]["overall"]["f1"] += 1
    path.write_text(json.dumps(content), encoding="utf-8")
    [receipt] = (tmp_path / "cache" / "reports").iterdir()
    forged = json.loads(receipt.read_text(encoding="utf-8")) | {"inputs": sources_of(runs).digest()}
    receipt.write_text(json.dumps(forged), encoding="utf-8")
    assert not made_in_full()
    assert main(["check", str(path)]) == 1
    assert "WRONG outcomes on test: they add up to f1" in capsys.readouterr().out
    assert main(["merge", str(runs), "--into", str(tmp_path / "others")]) != 0
    assert "they add up to f1" in capsys.readouterr().err
    package = Path(elmo_bench.__file__).parent
    importers = [file.stem for file in package.rglob("*.py") if "import receipts" in file.read_text(encoding="utf-8")]
    assert importers == ["report"]


def test_a_report_that_another_overwrote_is_made_again(made, runs, tmp_path):
    """A receipt names what its report wrote, and not what is there when it ends."""
    assert made()
    (tmp_path / "out" / "README.md").write_bytes(b"by the slower of two, which began before")
    sources = sources_of(runs)
    assert receipts.files_if_unchanged(sources, sources.digest()) is None
    assert made()


@pytest.mark.slow
def test_two_at_once_do_no_harm(runs, tmp_path):
    command = [sys.executable, "-m", "elmo_bench", "report", "--ledger", str(runs), "--out", str(tmp_path / "out")]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}

    def start(_number):
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        ended = list(pool.map(start, range(2)))
    assert [process.returncode for process in ended] == [0, 0]
    assert AGAIN in start(3).stdout
