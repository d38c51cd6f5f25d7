"""A finished run is found by the files in its record, without reading data and weights."""

import os
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from elmo_bench.base.downloads import SETTLED
from elmo_bench.cli.entry import entry
from elmo_bench.ledger import Record, RunPaths, read_record
from elmo_bench.runner import finished, sweep
from elmo_bench.runner.finished import MANY, Finished, files_read, files_today
from elmo_bench.runner.plan import plan
from elmo_bench.runner.prepare import prepare
from elmo_bench.runner.run import run
from elmo_bench.spec.config import compose
from tests.ledger.records import changed, hash_of, make_record, put, write_true
from tests.runs import GOLDEN, ROOT, described, first_rows

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
    """(the contents, the files) of the run, which reads them."""
    spec, setup = described(*options)
    prepared = prepare(spec, setup)
    started = time.time() + 2 * SETTLED if started is None else started  # the files are new
    files = files_read(spec, setup, prepared.frozen.encoders, started=started)
    return prepared.spec.contents, files


def today(options):
    return files_today(*described(*options))


def record(options):
    """A record of the run, without the run."""
    spec, setup = described(*options)
    contents, files = read(options)
    content = spec.with_contents(contents).to_json()
    made = changed(make_record(spec=content, hash=hash_of(content), seed=setup.seed), {"files": files})
    write_true(paths := RunPaths.of(setup.ledger, made), made)
    return paths


def found(options):
    spec, setup = described(*options)
    return Finished(setup.ledger).find(spec, setup, setup.seed)


@pytest.mark.parametrize(
    ("encoder", "names"),
    first_rows(
        [
            (["encoder=glove"], ["vectors/vectors.txt"]),
            (["encoder=none"], ["vectors/vectors.txt"]),
            (["encoder=random"], ["weights/elmo-mini-options.json", "vectors/vectors.txt"]),
            (["encoder=elmo", f"encoder.weights={GOLDEN}"], ["weights/options.json", "weights/weights.hdf5"]),
        ],
        2,
    ),
)
def test_a_run_says_which_files_it_has_read_and_finds_its_record_by_them(options, encoder, names):
    options = [*encoder, *options[2:], "task=ner"]
    assert found(options) is None
    _, files = read(options)
    assert files == today(options)
    assert {f"data/{name}" for name in FILES.values()} <= files.keys()
    assert [name for name in names if name not in files] == []
    assert record(options) == found(options)


@pytest.mark.parametrize("name", [f"data/wnut17/{FILES['dev']}", "vectors.txt", "own.conll"])
def test_a_change_is_seen_although_size_and_time_are_the_same(options, tmp_path, name):
    if name == "own.conll":  # data of the user's own
        (tmp_path / name).write_text("".join(TEXT.format(split=f"text{n}") for n in range(9)), encoding="utf-8")
        options = ["task=tagging", f"data.file={tmp_path / name}", "encoder=none", *options[4:]]
    paths = record(options)
    path = tmp_path / name
    times, content = path.stat(), path.read_bytes()
    path.write_bytes(content.replace(b"B-location", b"B-corporat").replace(b"0.3", b"0.5"))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert path.stat().st_size == times.st_size
    assert found(options) is None
    path.write_bytes(content)
    assert found(options) == paths


def test_it_is_found_from_any_folder_and_wherever_the_files_are(options, tmp_path, monkeypatch):
    paths = record(options)
    (tmp_path / "data").rename(tmp_path / "moved")
    monkeypatch.chdir(tmp_path)
    assert found([*options[:3], "data.root=moved", "encoder.vectors=vectors.txt", *options[5:]]) == paths


def test_after_a_change_of_a_file_while_it_ran_nothing_is_stated(options):
    assert read(options, started=0)[1] is None


def test_a_record_without_files_gets_them_when_the_run_has_read_them(options, tmp_path, monkeypatch):
    """As records of earlier versions: the run does the full work once."""
    paths = record(options)
    right = read_record(paths.record)
    outcomes = paths.outcomes.read_bytes()
    without = right.to_json()
    del without["files"]
    for older in (Record.read(without, ""), changed(right, {"files": {"data/other": "0" * 64}})):
        put(paths.record, older)
        assert found(options) is None
        monkeypatch.setattr(finished, "SETTLED", -2 * SETTLED)  # the files are new
        assert run(compose("config", options)) == (right, True)
        assert read_record(paths.record) == right and paths.outcomes.read_bytes() == outcomes
        assert found(options) == paths


@pytest.mark.slow
def test_after_an_upgrade_of_a_package_that_cuts_words_it_is_not_found(options, tiny_bert, monkeypatch):
    """A stack, too; encoders that do not need the package are not concerned."""
    pytest.importorskip("transformers")
    stack = ("elmo.weights", GOLDEN), ("bert_mini.weights", tiny_bert)
    encoders = {
        "alone": ["encoder=hf", f"encoder.name={tiny_bert}"],
        "stack": ["encoder=elmo_bert_mini", *(f"encoder.contextual.parts.{key}={path}" for key, path in stack)],
        "other": ["encoder=elmo", f"encoder.weights={GOLDEN}"],
    }
    runs = {name: [*encoder, *options[2:], "task=ner"] for name, encoder in encoders.items()}
    before = {name: read(run)[1] for name, run in runs.items()}
    assert {name: today(run) for name, run in runs.items()} == before
    version = finished.metadata.version
    monkeypatch.setattr(finished.metadata, "version", lambda name: f"{version(name)}{'.1' * (name == 'tokenizers')}")
    assert [name for name, run in runs.items() if today(run) != before[name]] == ["alone", "stack"]


def test_a_file_that_was_added_is_seen(options, tmp_path):
    text = "text,label\n" + "".join(f"text {n},{'xy'[n % 2]}\n" for n in range(40))
    (folder := tmp_path / "own").mkdir()
    (folder / "train.csv").write_text(text, encoding="utf-8")
    options = ["task=classification", f"data.file={folder}", "encoder=none", *options[4:]]
    before = today(options)
    (folder / "test.csv").write_text(text.replace("text ", "other "), encoding="utf-8")
    assert before and today(options) != before


def test_an_encoder_of_the_users_states_its_files_only_if_its_options_name_them(options, tmp_path):
    """`known` is a file that its option names, `hidden` one that it reads besides."""
    spec, setup = described(*options)
    known, hidden = tmp_path / "vectors.txt", tmp_path / "data" / "wnut17" / FILES["dev"]
    named, nothing = {"kind": "mine", "weights": str(known)}, {"kind": "mine"}
    cases = [
        (named, SimpleNamespace(parameters=0, files=[known]), True),
        (named, SimpleNamespace(parameters=0, files=[known, hidden]), False),
        (named, SimpleNamespace(parameters=0), False),
        (named, SimpleNamespace(parameters=0, files=[known], packages=["torch"]), False),
        (nothing, SimpleNamespace(parameters=0), True),
        (nothing, SimpleNamespace(parameters=9), False),
        (nothing, SimpleNamespace(parameters=9, files=[hidden]), False),
        ({"kind": "mine", "weights": "gone.txt"}, SimpleNamespace(parameters=0, files=[]), False),
    ]
    for encoder, loaded, stated in cases:
        setup.encoders[""] = encoder
        files = files_read(spec, setup, {"": loaded}, started=time.time() + 2 * SETTLED)
        assert (files is not None) is stated, (encoder, loaded)


def test_the_digest_of_a_file_has_its_name_as_text_also_if_it_is_not_utf_8(tmp_path):
    path = tmp_path / os.fsdecode(b"caf\xe9.csv")
    path.write_text("text,label\n", encoding="utf-8")
    assert [*finished._digests("data", [path])] == ["data/caf\\udce9.csv"]


def test_many_files_have_one_digest_and_two_of_one_name_are_two(tmp_path):
    for number in range(MANY + 1):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "a.conll").write_text(f"{number}")
    paths = sorted(tmp_path.rglob("a.conll"))
    two = finished._digests("data", paths[:2])
    assert [*two] == ["data/1/a.conll", "data/2/a.conll"] and len({*two.values()}) == 2
    [(name, digest)] = finished._digests("data", paths).items()
    assert name == f"data/{MANY + 1} files"
    paths[-1].write_text("other")
    assert finished._digests("data", paths) != {name: digest}
    not_utf_8 = tmp_path / os.fsdecode(b"caf\xe9.csv")
    not_utf_8.touch()
    assert [*finished._digests("data", [not_utf_8])] == ["data/caf\\udce9.csv"]
    assert [*finished._digests("data", [*paths, not_utf_8])] == [f"data/{MANY + 2} files"]


@pytest.mark.slow
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


@pytest.mark.slow
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
