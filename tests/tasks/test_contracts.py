"""The contract of every task's data: the digests of the runs that were made, from the package and from plain files."""

import hashlib
import itertools
import json
import lzma
from pathlib import Path

import pytest

from benchmarks.golden import GOLDEN
from elmo_bench.base.errors import UserError
from elmo_bench.base.sources import SHIPPED
from elmo_bench.runner.data import build_data, data_digest, read_splits
from elmo_bench.spec.names import task_class
from elmo_bench.spec.task_files import suite_tasks
from tests.fuzz.readers import PACK
from tests.runs import CUTS, described, first_ones
from tests.suites import SCORED, SUITES
from tests.whole.test_bad_formats import adapter

FETCHED = ("coref", "sst5", "wsd")  # data that may not be shipped
SHIPPED_TASKS = [task for task in suite_tasks() if task not in FETCHED]
OF_CUTS = {  # digests of the small data: examples in the readers' order, in canonical form
    "coref": "9094e8e9628fd4650f77821b73a7f345d170a3beaebd6896a7d0aa26a59b2fdf",
    "deprel": "43e23a1ddd11d321c7924d7b59721a28ef15ed64ca65b9274d60f87a97ae4cc2",
    "ner": "7f882e0ac4433a20d455183cce142641015f970b7fc4c09bcc4698f8f5e295b6",
    "pos": "172b73b45b85ba404b5b25a2d56dc2bc3a05f9e2c616168f17d7f5f129222ef5",
    "snli": "a5ab5e45131db7979bd81be33793b60ad29728487fa953015f5574a7a00397ee",
    "squad": "067291ea6d56e294d549600a572e970ca30801d0cd011fed45564fb2e3a9d78d",
    "srl": "e73a91ce8e67b7d2a452dbab7091b32db260f1320c73ae0a9364b6e215119417",
    "sst5": "0b8906193ed922854f827eea344832ed6d3338d0be45217fc8d18fb0855b1846",
    "wsd": "110c777baa018f5bfcab6fd74e94b99e4e552b4cd3dda8cc506762942dca7542",
}
KNOWN = json.loads((GOLDEN / "hashes.json").read_text())["contents"]


def digest(task: str, *options: str) -> str:
    run = described(f"task={task}", *options)
    data = build_data(*run)
    splits = read_splits(data, *run)
    assert data.schema.startswith(f"{task}-")
    assert all(json.loads(json.dumps(data.canonical(example))) for example in splits["train"][:3])
    return data_digest(data, splits)


def test_the_small_data_of_every_task_have_their_digests():
    assert {task: digest(task, f"data.root={CUTS}") for task in suite_tasks()} == OF_CUTS


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    """The small data in the form of the package's."""
    folder = tmp_path_factory.mktemp("packed")
    for path in CUTS.rglob("*"):
        if path.is_file():
            copy = folder / path.relative_to(CUTS).parent / f"{path.name}.xz"
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(lzma.compress(path.read_bytes(), preset=0))
    return folder


@pytest.mark.parametrize("task", first_ones(SHIPPED_TASKS, 2))
def test_the_same_files_have_one_digest_from_the_folder_or_from_the_package(task, packed, tmp_path, monkeypatch):
    """The package has the files of the small data here; the whole ones are in the next test."""
    plain = digest(task, f"data.root={CUTS}")
    monkeypatch.setattr("elmo_bench.base.sources.SHIPPED", packed)
    assert digest(task, "data.root=null") == plain
    assert digest(task, f"data.root={tmp_path}") == plain


@pytest.mark.parametrize(
    "task", [pytest.param(task, marks=pytest.mark.slow) for task in SHIPPED_TASKS if task != "ner"] + ["ner"]
)
def test_the_packages_data_are_those_of_the_runs(task):
    [known] = {
        contents["data"] for name, contents in KNOWN.items() if name.split()[0] == task and "control" not in name
    }
    assert digest(task, "data.root=null") == known


def test_the_notice_has_the_checksum_of_every_file_that_ships():
    notice = (SHIPPED / "NOTICE.md").read_text(encoding="utf-8")
    files = sorted(SHIPPED.rglob("*.xz"))
    assert len(files) == 16
    for path in files:
        content = lzma.decompress(path.read_bytes())
        name = path.relative_to(SHIPPED).with_suffix("")
        assert f"| `{name}` | {len(content):,} | `{hashlib.sha256(content).hexdigest()}` |" in notice


NAMES = {"pos": "x.conllu", "deprel": "x.conllu", "squad": "x.json", "wsd": "x.data.xml"}


@pytest.mark.parametrize(("task", "ending"), [*zip(suite_tasks(), itertools.cycle([*PACK][1:]))])
def test_packed_files_are_read_as_they_are_unpacked(task, ending, tmp_path):
    """The files of `predict` and of `score`."""
    text, scored = [*SUITES[task].values()][-1].encode(), [each.encode() for each in SCORED[task]]
    results = []
    for pack, more in ((bytes, ""), (PACK[ending], ending)):
        path = tmp_path / f"{NAMES.get(task, 'x')}{more}"
        path.write_bytes(pack(text))
        if task == "wsd":
            path.with_name(f"x.gold.key.txt{more}").write_bytes(pack(scored[0]))
        files = [tmp_path / f"{number}{more}" for number in range(len(scored))]
        for file, content in zip(files, scored, strict=True):
            file.write_bytes(pack(content))
        results.append([adapter(task).read_file(path), task_class(task, "metric")().score_files(*files)])
    assert results[0] == results[1] and results[0][0]


@pytest.mark.parametrize("task", ["sst5", "coref", "wsd"])
@pytest.mark.parametrize("included", ["", " --include /of/mine"])
def test_missing_data_name_the_command_that_downloads_them(task, included, monkeypatch):
    monkeypatch.setattr("elmo_bench.base.include.folders", [Path("/of/mine")] if included else [])
    command = f"elmo-bench{included} fetch --task {task} --root FOLDER"
    with pytest.raises(UserError, match=rf"^data\.root is not set\. .*{command}$"):
        digest(task, "data.root=null")
