"""`fetch` by the real code from a server on this machine, which has small files under the public addresses."""

import copy
import hashlib
import io
import lzma
import re
import shlex
import zipfile
from urllib.parse import urlsplit

import pytest

from elmo_bench.__main__ import main
from elmo_bench.cli import fetch
from elmo_bench.spec.task_files import suite_tasks, task_yaml
from elmo_bench.tasks.coref.part import make
from tests.loopback import loopback
from tests.runs import DATA, files
from tests.suites import SUITES
from tests.tasks.test_coref_part import gum
from tests.whole.test_bad_formats import adapter

ACCEPT = "--accept-research-use"
TASKS = suite_tasks()
LICENSED = ("coref", "sst5", "wsd")  # their terms have to be accepted
GUMS = "coref/ontogum/conll"
SST, GUM = (urlsplit(task_yaml(task)["data"]["open"]["fetch"][0]["url"]).path for task in ("sst5", "coref"))


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def encoded(content):
    return content if isinstance(content, bytes) else content.encode()


@pytest.fixture
def site(online, monkeypatch, tmp_path):
    """The server, and small files in the place of those in the package; the checksums in the yaml are theirs."""
    monkeypatch.delenv("ELMO_BENCH_DATA", raising=False)
    monkeypatch.setattr(fetch, "SHIPPED", tmp_path / "package")
    (tmp_path / "gum.tar.gz").write_bytes(gum())
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "NOTICE.md").write_text("licences", encoding="utf-8")
    nodes = {task: copy.deepcopy(task_yaml(task)) for task in TASKS}
    monkeypatch.setattr(fetch, "task_yaml", nodes.__getitem__)
    with loopback() as site:
        monkeypatch.setenv("ELMO_BENCH_MIRROR", site.address)
        for task in TASKS:
            content = {name.partition("/")[2]: encoded(text) for name, text in SUITES[task].items()}
            suite = nodes[task]["data"]["open"]
            for file in suite.get("fetch", []):
                if "make" in file:
                    site.files[GUM] = gum()
                    file["made"] = sha256(make(tmp_path / "gum.tar.gz", **file["make"]))
                else:
                    large = 500 if file["file"] == "train.txt" else 1  # larger than what is written at a time
                    site.files[urlsplit(file["url"]).path] = text = content.pop(file["file"]) * large
                    file["sha256"] = sha256(text)
            for name, text in content.items() if task != "coref" else ():
                path = tmp_path / "package" / suite["folder"] / (name if name.endswith(".xz") else f"{name}.xz")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(text if name.endswith(".xz") else lzma.compress(text, preset=0))
        yield site


@pytest.fixture
def fetched(site, tmp_path, capsys):
    """`fetched(*arguments) -> (exit code, lines of output, lines of errors)`, into `tmp_path / data`."""

    def fetched(*arguments):
        code = main(["fetch", "--root", str(tmp_path / "data"), *arguments])
        said = capsys.readouterr()
        return code, said.out.splitlines(), [line for line in said.err.splitlines() if line.startswith("elmo-bench")]

    return fetched


def test_every_file_comes_once_and_every_task_reads_its_suite(site, fetched, tmp_path):
    code, lines, errors = fetched(ACCEPT)
    assert (code, errors) == (0, [])
    assert len(lines) == len(files(tmp_path / "data")) + 3  # two tasks share three files
    assert sorted(site.paths) == sorted(site.files)
    for task in TASKS:
        splits = adapter(task).read("open", tmp_path / "data")
        assert all(splits[split] for split in ("train", "dev", "test")), task
    assert {line.partition(": ")[2].rpartition(": ")[2].split(",")[0] for line in fetched(ACCEPT)[1]} == {"exists"}
    assert len(site.paths) == len(site.files)


def test_without_acceptance_each_task_says_its_terms_and_the_command_that_brings_its_files(
    site, fetched, tmp_path, monkeypatch
):
    (tmp_path / "of mine" / "conf").mkdir(parents=True)
    monkeypatch.setattr("elmo_bench.base.include.folders", [tmp_path / "of mine"])
    code, lines, errors = fetched()
    assert (code, site.paths) == (2, [])
    assert [line.split(": ")[1] for line in errors] == [*LICENSED]
    assert ["CC BY-NC-SA" in line or "research use" in line for line in errors] == [True] * 3
    assert len(lines) == len(files(tmp_path / "data")) + 3
    for task, line in zip(LICENSED, errors, strict=True):
        command = shlex.split(line.rpartition("If you accept that, run: elmo-bench ")[2])
        assert command[:2] == ["--include", str(tmp_path / "of mine")]
        assert main(command) == 0
        assert all(adapter(task).read("open", tmp_path / "data").values())
    assert sorted(site.paths) == sorted(site.files)
    assert fetched()[0] == 0  # nothing is missing, so there is nothing to accept


@pytest.mark.parametrize(
    "case",
    [
        (SST, b"other", "the download does not have the SHA-256 published. Or put it at", "sst/train.txt"),
        (GUM, gum(**{f"{GUMS}/GUM_bio_c.conll": "0\ta\t_\n" * 4}), "of it for", "ontogum/test.v4_gold_conll"),
        (GUM, gum()[:300], "not an archive of GUM, or damaged", "ontogum/train.v4_gold_conll"),
    ],
)
def test_what_is_not_the_published_file_is_not_kept_and_the_others_come(site, fetched, tmp_path, case):
    path, content, said, lacks = case
    site.files[path] = content
    code, _, errors = fetched(ACCEPT)
    assert code == 2
    assert said in errors[0]
    assert lacks not in files(tmp_path / "data")
    assert {"sst/dev.txt", "wsd/uef/ALL.data.xml"} < set(files(tmp_path / "data"))


def test_a_file_of_the_users_is_kept(site, fetched, tmp_path):
    mine = {"sst/train.txt": SST, "ontogum/dev.v4_gold_conll": GUM, "wnut17/wnut17train.conll": None}
    for name in mine:
        (tmp_path / "data" / name).parent.mkdir(parents=True)
        (tmp_path / "data" / name).write_bytes(b"mine")
    code, lines, _ = fetched(ACCEPT)
    assert code == 0
    assert sum(line.endswith("exists, but is not the published file. It is kept.") for line in lines) == 3
    assert all((tmp_path / "data" / name).read_bytes() == b"mine" for name in mine)


def test_a_member_of_an_archive_and_a_suite_without_public_files(site, fetched, tmp_path):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("snli_1.0/snli_1.0_dev.jsonl", "a pair")
    suite = fetch.task_yaml("snli")["data"]["paper"]
    suite["fetch"] = [file | {"sha256": sha256(packed.getvalue())} for file in suite["fetch"]]
    site.files["/projects/snli/snli_1.0.zip"] = packed.getvalue()
    code, _, errors = fetched("--suite", "paper", "--task", "snli")
    assert code == 2  # the archive has one of its three files
    assert all(re.search(r"not a zip archive with snli_1\.0/snli_1\.0_(train|test)\.jsonl", line) for line in errors)
    assert (tmp_path / "data/snli_1.0/snli_1.0_dev.jsonl").read_text() == "a pair"
    assert site.paths == ["/projects/snli/snli_1.0.zip"]
    [kept] = (tmp_path / "cache/data/snli").rglob("snli_1.0.zip")
    kept.write_bytes(b"PK junk")
    assert "snli_1.0.zip: damaged or changed" in fetched("--suite", "paper", "--task", "snli")[2][0]
    code, lines, _ = fetched("--suite", "paper", "--task", "ner")
    [line] = lines
    assert (code, line.partition(" (")[0]) == (0, "ner: licensed")


def test_archives_of_one_name_are_kept_apart(site, fetched, tmp_path):
    suite = fetch.task_yaml("snli")["data"]["paper"]
    suite["fetch"] = []
    for name in ("x", "y"):
        url = f"https://github.com/someone/{name}/archive/main.zip"
        suite["fetch"].append({"file": f"{name}.txt", "url": url, "sha256": None, "member": "a.txt"})
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr("a.txt", name)
        site.files[urlsplit(url).path] = packed.getvalue()
    code, _, errors = fetched("--suite", "paper", "--task", "snli")
    assert (code, errors) == (0, [])
    folder = tmp_path / "data" / suite["folder"]
    assert [(folder / f"{name}.txt").read_text() for name in ("x", "y")] == ["x", "y"]


@pytest.mark.parametrize("node", [{}, {"data": None}])
def test_a_task_without_suites_has_nothing_to_fetch(site, fetched, monkeypatch, node):
    known = fetch.task_yaml
    monkeypatch.setattr(fetch, "task_yaml", lambda task: node if task == "mine" else known(task))
    monkeypatch.setattr(fetch, "suite_tasks", lambda: ["mine", "ner"])
    for chosen in ([], ["--task", "mine"]):
        code, lines, errors = fetched(*chosen)
        assert (code, lines[0], errors) == (0, "mine: has no suite open", [])


def test_a_suite_of_the_hub_has_nothing_to_fetch(site, fetched):
    node = fetch.task_yaml("ner")["data"]["open"]
    node["source"] = "hub"
    del node["folder"]
    code, lines, errors = fetched("--task", "ner")
    assert (code, lines, errors) == (0, ["ner: its runs download suite open from the Hub"], [])


@pytest.mark.parametrize("given", [["--root=~/data"], []])
def test_the_data_folder_may_be_in_the_home_folder(site, tmp_path, monkeypatch, given):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ELMO_BENCH_DATA", "~/data")
    monkeypatch.chdir(tmp_path)
    assert main(["fetch", *given, "--task", "ner"]) == 0
    assert (tmp_path / "data" / "wnut17").is_dir()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "no data folder. Give --root FOLDER, or set $ELMO_BENCH_DATA."),
        (["--root", ""], "no data folder. Give --root FOLDER, or set $ELMO_BENCH_DATA."),
        (["--root", "x", "--suite", "opne"], "--suite opne: unknown suite. Choose one of: "),
        (["--root", "x", "--task", "nre"], f"unknown task 'nre'. Choose one of: {', '.join(TASKS)}."),
    ],
)
def test_mistakes_are_one_line(site, refused, arguments, said):
    assert refused("fetch", *arguments).startswith(f"elmo-bench fetch: {said}")


def test_offline_the_shipped_files_come(site, fetched, tmp_path, monkeypatch):
    monkeypatch.setenv("ELMO_BENCH_OFFLINE", "1")
    code, _, errors = fetched(ACCEPT)
    assert code == 2
    assert len(errors) == len(set(errors)) == 6  # three trees, the archive of documents once, two of the word senses
    assert all("not downloaded yet, and $ELMO_BENCH_OFFLINE" in line for line in errors)
    assert all(adapter("ner").read("open", tmp_path / "data").values())
    assert site.paths == []


@pytest.mark.parametrize("task", TASKS)
def test_every_file_of_the_open_suite_ships_or_is_pinned(task):
    node = task_yaml(task)["data"]["open"]
    downloads = {file["file"]: file for file in node.get("fetch", [])}
    shipped = {name for name, _ in fetch.shipped(node)}
    for split in ("train", "dev", "test") if task != "wsd" else ("train", "evaluation", "first"):
        if (task, split) in (("snli", "dev"), ("squad", "dev")):  # cut from another split
            assert not isinstance(node[split], str | list)
            continue
        names = node[split] if isinstance(node[split], list) else [node[split]]
        found = [name in shipped or name in downloads for name in names]
        assert any(found) if task == "wsd" else all(found)  # WSD's are choices
    for file in downloads.values():
        assert re.fullmatch(r"[0-9a-f]{64}", file["made"] if "make" in file else file["sha256"])
        assert re.match(r"https://.*/[0-9a-f]{10,40}[/.]", file["url"])
        assert file["terms"]


@pytest.mark.skipif(not (DATA / "sst").is_dir(), reason="needs the open suite's files in $ELMO_BENCH_DATA")
@pytest.mark.parametrize("task", TASKS)
def test_the_checksums_and_the_shipped_files_are_those_of_the_files_that_were_measured(task, tmp_path):
    node = task_yaml(task)["data"]["open"]
    for file in node.get("fetch", []):
        expected = file["made"] if "make" in file else file["sha256"]
        assert sha256((DATA / node["folder"] / file["file"]).read_bytes()) == expected
    for name, source in fetch.shipped(node):
        fetch.copy(source, tmp_path / name)
        assert (tmp_path / name).read_bytes() == (DATA / node["folder"] / name).read_bytes()
