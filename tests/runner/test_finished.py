"""A finished run is found without reading data and weights, and only as long as the files are the same."""

import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from elmo_bench.base.downloads import SETTLED
from elmo_bench.cli.entry import entry
from elmo_bench.ledger import RunPaths, run_hash
from elmo_bench.runner import finished, sweep
from elmo_bench.runner.finished import contents_of, remember, sources_of
from elmo_bench.runner.plan import plan
from elmo_bench.runner.prepare import prepare
from elmo_bench.spec.config import compose
from elmo_bench.spec.run_spec import RunSpec
from tests.ledger.records import make_record, write_true
from tests.runs import GOLDEN, ROOT, described

FILES = {"train": "wnut17train.conll", "dev": "emerging.dev.conll", "test": "emerging.test.annotated"}
TEXT = "{split}\tO\nLondon\tB-location\nis\tO\n\n"


@pytest.fixture
def options(tmp_path, own_cache):
    """Of a run on files in `tmp_path`; with its own cache folder."""
    folder = tmp_path / "data" / "wnut17"
    folder.mkdir(parents=True)
    for split, name in FILES.items():
        (folder / name).write_text(TEXT.format(split=split), encoding="utf-8")
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("is 0.1 0.2\nLondon 0.3 0.4\n", encoding="utf-8")
    return [
        "task=ner", "encoder=glove", "suite=open", f"data.root={tmp_path / 'data'}",
        f"encoder.vectors={vectors}", f"suite.vectors={vectors}", f"ledger={tmp_path / 'runs'}",
    ]  # fmt: skip


def read(options, *, started=None):
    """The contents of the run, from the files; leaves a memo."""
    run = described(*options)
    prepared = prepare(*run)
    started = time.time() + 2 * SETTLED if started is None else started  # the files are new
    frozen = prepared.frozen
    has_table = bool(frozen.width)
    remember(sources_of(*run), prepared.spec.contents, frozen.encoders.values(), has_table=has_table, started=started)
    return prepared.spec.contents


def known(options):
    return contents_of(sources_of(*described(*options)))


def record(options):
    """A record of the run, without the run."""
    config = compose("config", options)
    spec = RunSpec.of(config).with_contents(read(options)).to_json()
    made = make_record(spec=spec, hash=run_hash(spec), seed=config.seed)
    write_true(paths := RunPaths.of(Path(config.ledger), made), made)
    return paths


@pytest.mark.parametrize(
    "encoder",
    [["encoder=glove"], ["encoder=none"], ["encoder=random"], ["encoder=elmo", f"encoder.weights={GOLDEN}"]],
)
def test_the_memo_gives_what_reading_gives(options, encoder):
    options = [*encoder, *options[2:], "task=ner"]
    assert known(options) is None
    assert read(options) == known(options)


@pytest.mark.parametrize("name", [f"data/wnut17/{FILES['dev']}", "vectors.txt", "own.conll"])
def test_a_change_is_seen_although_size_and_time_are_the_same(options, tmp_path, name):
    if name == "own.conll":  # data of the user's own
        (tmp_path / name).write_text("".join(TEXT.format(split=f"text{n}") for n in range(9)), encoding="utf-8")
        options = ["task=tagging", f"data.file={tmp_path / name}", "encoder=none", *options[4:]]
    before = read(options)
    path = tmp_path / name
    times, content = path.stat(), path.read_bytes()
    path.write_bytes(content.replace(b"B-location", b"B-corporat").replace(b"0.3", b"0.5"))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert path.stat().st_size == times.st_size
    assert known(options) is None
    assert read(options) != before
    path.write_bytes(content)
    assert read(options) == before


@pytest.mark.parametrize("damage", [b"", b"{}", b'{"contents": 1, "files": {}, "packages": {}}', b"\x00"])
def test_without_a_sound_memo_nothing_is_known(options, tmp_path, damage):
    read(options)
    for memo in (tmp_path / "cache" / "contents").iterdir():
        memo.write_bytes(damage)
    assert known(options) is None


def test_after_a_change_of_a_reader_or_of_a_file_while_it_ran_nothing_is_known(options, monkeypatch):
    read(options, started=0)
    assert known(options) is None
    read(options)
    assert known(options)
    monkeypatch.setattr(finished, "_code", lambda *folders: "other")
    assert known(options) is None


def test_after_an_upgrade_of_a_package_that_cuts_words_nothing_is_known(options, tiny_bert, monkeypatch):
    """A stack, too; encoders that do not need the package keep their memos."""
    pytest.importorskip("transformers")
    stack = ("elmo.weights", GOLDEN), ("bert_mini.weights", tiny_bert)
    encoders = {
        "alone": ["encoder=hf", f"encoder.name={tiny_bert}"],
        "stack": ["encoder=elmo_bert_mini", *(f"encoder.contextual.parts.{key}={path}" for key, path in stack)],
        "other": ["encoder=elmo", f"encoder.weights={GOLDEN}"],
    }
    runs = {name: [*encoder, *options[2:], "task=ner"] for name, encoder in encoders.items()}
    before = {name: read(run) for name, run in runs.items()}
    assert {name: known(run) for name, run in runs.items()} == before
    version = finished.metadata.version
    monkeypatch.setattr(finished.metadata, "version", lambda name: f"{version(name)}{'.1' * (name == 'tokenizers')}")
    assert {name: known(run) for name, run in runs.items()} == before | {"alone": None, "stack": None}
    assert read(runs["alone"]) == before["alone"]  # the pieces are the same
    assert known(runs["alone"]) == before["alone"]


def test_a_file_that_was_added_is_seen(options, tmp_path):
    text = "text,label\n" + "".join(f"text {n},{'xy'[n % 2]}\n" for n in range(40))
    (folder := tmp_path / "own").mkdir()
    (folder / "train.csv").write_text(text, encoding="utf-8")
    options = ["task=classification", f"data.file={folder}", "encoder=none", *options[4:]]
    read(options)
    assert known(options)
    (folder / "test.csv").write_text(text.replace("text ", "other "), encoding="utf-8")
    assert known(options) is None


def test_an_encoder_that_takes_a_file_and_names_none_is_read_again(options):
    sources = sources_of(*described(*options))
    encoders = [SimpleNamespace(parameters=0)]
    for own, found in (({"kind": "names", "weights": "names.txt"}, None), ({"kind": "length"}, {"data": "1"})):
        sources["encoder"]["contextual"] = {"": own}
        remember(sources, {"data": "1"}, encoders, has_table=False, started=time.time() + 2 * SETTLED)
        assert contents_of(sources) == found


def test_a_sweep_starts_the_runs_that_are_not_finished(options, tmp_path, monkeypatch):
    """One changed label runs again; a damaged record too, so that its process says what is wrong with it."""
    started = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sweep, "launch", lambda jobs, *_: started.extend(job.run.seed for job in jobs) or [])
    paths = record(options)

    def start(*more):
        started.clear()
        results = list(sweep.run_sweep(plan([*options, "seed=0,1", *more]), entry))
        return [(result.run.seed, result.state) for result in results], started

    assert start() == ([(0, "skipped")], [1])
    assert start("overwrite=true") == ([], [0, 1])
    paths.record.write_text("{", encoding="utf-8")
    assert start() == ([], [0, 1])
    record(options)
    train = tmp_path / "data" / "wnut17" / FILES["train"]
    train.write_text(train.read_text(encoding="utf-8").replace("B-location", "B-person"), encoding="utf-8")
    assert start() == ([], [0, 1])


def test_a_finished_run_imports_no_torch(options):
    paths = record(options)
    code = f"""
import sys
from elmo_bench.__main__ import main
assert [main([command, *{options!r}]) for command in ("run", "sweep")] == [0, 0]
print("torch" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    said = f"already in the ledger (overwrite=true runs it again): dev f1 60.00, test f1 50.00  {paths.record}"
    assert done.stdout.count(said) == 2
    assert done.stdout.splitlines()[-1] == "False"
