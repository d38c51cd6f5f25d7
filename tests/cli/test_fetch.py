"""Data files by the real code from a server on this machine; what the tasks' yaml ask for, without a network."""

import hashlib
import io
import json
import re
import zipfile

import pytest
import yaml

import elmo_bench.tasks
from elmo_bench.__main__ import main
from elmo_bench.spec import config
from elmo_bench.spec.config import choices, task_yaml
from tests.loopback import loopback
from tests.runs import DATA

PLAIN = b"EU\tB-ORG\n\n" * 500
WHOLE = {"version": "1.1", "data": [{"title": title, "paragraphs": []} for title in "abcde"]}


def archive():
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as handle:
        handle.writestr("trees/dev.txt", "(3 fine)\n")
        handle.writestr("trees/train.txt", "(1 bad)\n")
    return held.getvalue()


ARCHIVE, JSON = archive(), json.dumps(WHOLE).encode()


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def suite(**changes):
    """A suite of every kind of file; `changes` replace keys of the plain one."""
    plain = {"file": "x.conll", "url": "https://example.org/1/x.conll", "sha256": sha256(PLAIN)} | changes
    part = {"articles": 2}
    zipped = {"url": "https://example.org/trees.zip", "sha256": sha256(ARCHIVE)}
    return {
        "source": "files",
        "folder": "set",
        "fetch": [
            plain,
            {"file": "dev.txt", "member": "trees/dev.txt", **zipped},
            {"file": "train.txt", "member": "trees/train.txt", **zipped},
            {"file": "part.json", "url": "https://example.org/all.json", "sha256": sha256(JSON), "make": part},
        ],
    }


@pytest.fixture
def site(monkeypatch, tmp_path):
    """A server that has the files; the clone has two tasks, the second without public files."""
    monkeypatch.delenv("ELMO_BENCH_OFFLINE")
    monkeypatch.delenv("ELMO_BENCH_DATA", raising=False)
    monkeypatch.setenv("ELMO_BENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(config, "searched", lambda folder=None: [tmp_path / "conf"])
    task_yaml.cache_clear()
    write(tmp_path, "one", open=suite(), paper={"folder": "set"}, width=3)
    write(tmp_path, "two", open={"folder": "other", "fetch": "not fetched, as its words are missing"})
    (tmp_path / "tasks" / "one").mkdir(parents=True)
    (tmp_path / "tasks" / "one" / "part.py").write_text("from elmo_bench.tasks.squad.part import make\n")
    monkeypatch.setattr(elmo_bench.tasks, "__path__", [*elmo_bench.tasks.__path__, str(tmp_path / "tasks")])
    with loopback() as site:
        monkeypatch.setenv("ELMO_BENCH_MIRROR", site.address)
        site.files |= {"/1/x.conll": PLAIN, "/trees.zip": ARCHIVE, "/all.json": JSON}
        yield site
    task_yaml.cache_clear()


def write(folder, task, **data):
    task_yaml.cache_clear()
    path = folder / "conf" / "task" / f"{task}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump({"name": task, "data": data}), encoding="utf-8")


def test_files_members_and_parts_come_once_and_what_cannot_come_is_explained(site, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("ELMO_BENCH_DATA", str(tmp_path / "data"))
    for _ in range(2):
        assert main(["fetch", "--suite", "open"]) == 0
    folder = tmp_path / "data" / "set"
    assert (folder / "x.conll").read_bytes() == PLAIN
    assert (folder / "dev.txt").read_text() == "(3 fine)\n"
    assert (folder / "train.txt").read_text() == "(1 bad)\n"
    assert json.loads((folder / "part.json").read_text()) == {"version": "1.1", "data": WHOLE["data"][:2]}
    assert sorted(path.name for path in folder.iterdir()) == ["dev.txt", "part.json", "train.txt", "x.conll"]
    assert site.paths == ["/1/x.conll", "/trees.zip", "/all.json"]
    said = capsys.readouterr().out.splitlines()
    assert said[0] == f"one: {folder / 'x.conll'}: SHA-256 {sha256(PLAIN)[:12]}…, as published"
    assert said[1].endswith(f"from trees.zip, SHA-256 {sha256(ARCHIVE)[:12]}…")
    assert said[4] == "two: not fetched, as its words are missing. See tasks/two/README.md."
    assert said[5] == f"one: {folder / 'x.conll'}: exists"


def test_one_task_another_suite_another_folder(site, tmp_path, capsys):
    assert main(["fetch", "--task", "two", "--root", str(tmp_path / "mine")]) == 0
    assert main(["fetch", "--task", "one", "--suite", "paper", "--root", str(tmp_path / "mine")]) == 0
    assert "one: nothing to download for this suite" in capsys.readouterr().out
    assert main(["fetch", "--suite", "paper", "--root", str(tmp_path / "mine")]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == ["two: has no suite paper"]
    assert site.paths == []
    assert not (tmp_path / "mine").exists()


@pytest.mark.parametrize("name", ["x.conll", "dev.txt"])
def test_what_has_another_checksum_is_not_kept_and_the_others_come(site, tmp_path, capsys, name):
    site.files |= {"/1/x.conll": b"other"} if name == "x.conll" else {"/trees.zip": ARCHIVE + b"\n"}
    assert main(["fetch", "--root", str(tmp_path)]) == 2
    said = capsys.readouterr()
    assert "the download does not have the SHA-256 published. Or put" in said.err
    assert not (tmp_path / "set" / name).exists()
    assert (tmp_path / "set" / "part.json").exists()
    assert said.out.splitlines()[-1].startswith("two: not fetched")


def test_a_users_own_file_is_kept_and_a_file_without_a_published_checksum_is_told(site, tmp_path, capsys):
    path = tmp_path / "set" / "x.conll"
    path.parent.mkdir()
    path.write_bytes(b"mine")
    assert main(["fetch", "--task", "one", "--root", str(tmp_path)]) == 0
    assert f"{path}: exists, but is not the published file. It is kept." in capsys.readouterr().out
    assert path.read_bytes() == b"mine"
    path.unlink()
    write(tmp_path, "one", open=suite(sha256=None))
    assert main(["fetch", "--task", "one", "--root", str(tmp_path)]) == 0
    assert f"SHA-256 {sha256(PLAIN)[:12]}…, which cannot be verified: none is published" in capsys.readouterr().out


def test_a_damaged_archive_in_the_cache_is_noticed(site, tmp_path, capsys):
    cached = tmp_path / "cache" / "data" / "one" / "trees.zip"
    cached.parent.mkdir(parents=True)
    cached.write_bytes(b"PK junk")
    assert main(["fetch", "--task", "one", "--root", str(tmp_path)]) == 2
    assert "trees.zip: damaged or changed" in capsys.readouterr().err


def test_an_archive_without_the_member(site, tmp_path, capsys):
    asked = suite()
    asked["fetch"][1]["member"] = "trees/none.txt"
    write(tmp_path, "one", open=asked)
    assert main(["fetch", "--task", "one", "--root", str(tmp_path)]) == 2
    assert "not a zip archive with trees/none.txt" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "no data folder. Give --root FOLDER, or set $ELMO_BENCH_DATA."),
        (["--root", "x", "--suite", "opne"], "--suite opne: unknown suite. Choose one of: open, paper."),
        (["--root", "x", "--task", "nre"], "unknown task 'nre'. Choose one of: one, two."),
    ],
)
def test_mistakes_are_one_line(site, capsys, arguments, said):
    assert main(["fetch", *arguments]) == 2
    assert capsys.readouterr().err == f"elmo-bench fetch: {said}\n"


def test_offline_is_said_of_each_file(site, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("ELMO_BENCH_OFFLINE", "1")
    assert main(["fetch", "--task", "one", "--root", str(tmp_path)]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 4
    assert all("not downloaded yet, and $ELMO_BENCH_OFFLINE" in line for line in lines)
    assert site.paths == []


@pytest.mark.parametrize("task", choices("task"))
def test_the_open_suite_of_every_task_is_pinned_or_explained(task):
    """The files are those that the suite reads, under one of the names of each."""
    node = task_yaml(task)["data"]["open"]
    if isinstance(node["fetch"], str):
        assert node["fetch"].startswith("not downloaded. ")
        return
    named = {file["file"] for file in node["fetch"]}
    if task == "wsd":  # dev and test are data sets of one file, which has its keys next to it
        assert all(named & set(node[name]) for name in ("train", "evaluation", "first"))
        assert named == {"semcor3.0.tar.gz", "uef/ALL.data.xml", "uef/ALL.gold.key.txt", "index.sense"}
    else:
        read = [node[split] for split in ("train", "dev", "test") if isinstance(node[split], str | list)]
        assert named == {name for item in read for name in ([item] if isinstance(item, str) else item)}
    for file in node["fetch"]:
        assert re.fullmatch(r"[0-9a-f]{64}", file["sha256"] or "") or re.search(r"/[0-9a-f]{10,40}[/.]", file["url"])
        assert file["url"].startswith("https://")


@pytest.mark.skipif(not (DATA / "wnut17").is_dir(), reason="needs the open suite's files in $ELMO_BENCH_DATA")
@pytest.mark.parametrize("task", ["ner", "pos", "deprel", "wsd"])
def test_the_checksums_of_raw_files_are_those_of_the_files_that_were_measured(task):
    node = task_yaml(task)["data"]["open"]
    raw = [file for file in node["fetch"] if not {"make", "member"} & file.keys()]
    for file in raw:
        assert sha256((DATA / node["folder"] / file["file"]).read_bytes()) == file["sha256"]
    assert len(raw) >= 2
