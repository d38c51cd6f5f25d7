"""Where a suite's data comes from, for every task: its options, its files, and what is missing."""

import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import noted
from elmo_bench.base.sources import SHIPPED, SuiteData, data_file, data_files, own_suite

DEV = "emerging.dev.conll"
FILES = {"source": "files", "folder": "ours", "train": ["a.txt", "b.txt"], "dev": "dev.txt", "test": "test.txt"}


class FromFiles(SuiteData):
    sources = ("files",)


class FromHub(SuiteData):
    sources = ("hub",)


def test_options_of_a_suite():
    data = FromFiles(open=FILES, other={"source": "hub"})
    assert data.options("open") == FILES
    with pytest.raises(UserError, match=r"^suite=larger: unknown suite\. Choose one of: open, other\.$"):
        data.options("larger")
    with pytest.raises(UserError, match=r"^task\.data\.other\.source=hub: unknown source\. Choose one of: files\.$"):
        data.options("other")


def test_an_option_that_is_not_set_is_one_sentence():
    mine = {"source": "hub", "hub": {"repo": "us/ours", "train": "a"}}
    data = FromHub(mine=mine, bare={}, three=mine | {"hub": 3})
    with pytest.raises(UserError, match=r"^task\.data\.mine\.folder: not set\. Set it as the other suites"):
        data.options("mine")["folder"]
    with pytest.raises(UserError, match=r"^task\.data\.mine\.hub\.revision: not set\."):
        data.files("mine", None)
    with pytest.raises(UserError, match=r"^task\.data\.bare\.source: not set\."):
        data.options("bare")
    with pytest.raises(UserError, match=r"^task\.data\.three\.hub=3: give a mapping with repo, revision and files$"):
        data.options("three")


def test_a_file_of_the_package_is_read_where_the_folder_has_none(tmp_path):
    shipped = SHIPPED / "wnut17" / "emerging.dev.conll.xz"
    with noted() as notes:
        assert data_file(None, "wnut17", DEV) == data_file(tmp_path, "wnut17", DEV) == shipped
    assert notes == []
    (tmp_path / "wnut17").mkdir()
    with noted() as notes:
        assert data_file(tmp_path, "wnut17", ["none", DEV]) == shipped
    assert notes == ["emerging.dev.conll: not in wnut17 of data.root, so the file of the package is read"]
    (tmp_path / "wnut17" / DEV).touch()
    assert data_file(tmp_path, "wnut17", DEV) == tmp_path / "wnut17" / DEV
    with pytest.raises(UserError, match="leads out of"):
        data_file(None, "wnut17/..", "snli/snli_1.0_dev.jsonl")


@pytest.mark.parametrize(
    ("root", "folder", "message"),
    [
        (None, "ours", r"^data\.root is not set\. Set it \(or \$ELMO_BENCH_DATA\) to a folder that has ours/a or b\.$"),
        ("nowhere", "ours", r"nowhere: not a folder\. Set it .* ours/a or b\.$"),
        (".", "ours", r"ours: a or b not found\. Put it there, or change data\.root\.$"),
        (".", "../elsewhere", r"leads out of data\.root\. Use a path inside it\.$"),
        (".", "/", r"leads out of data\.root"),
    ],
)
def test_what_cannot_be_found_is_one_sentence(tmp_path, root, folder, message):
    with pytest.raises(UserError, match=message):
        data_files(tmp_path / root if root else None, folder, ["a", "b"], pattern="*.conll")


def test_data_behind_a_link_are_named_after_the_link(tmp_path, monkeypatch):
    """git-annex and DVC keep a file under its checksum; `.` and `..` are named after the folder itself."""
    (tmp_path / "store").mkdir()
    (tmp_path / "reviews").mkdir()
    (tmp_path / "store" / "MD5E-s9--0f").touch()
    for link in ("reviews.csv", "reviews/train.csv"):
        (tmp_path / link).symlink_to(tmp_path / "store" / "MD5E-s9--0f")
    assert own_suite(f"{tmp_path}/reviews.csv", None) == "reviews"
    assert own_suite(None, f"{tmp_path}/reviews/train.csv") == "reviews"
    assert own_suite("cafe\u0301.csv", None) == "caf\u00e9"  # as macOS writes it
    monkeypatch.chdir(tmp_path / "reviews")
    assert own_suite(".", None) == own_suite(None, "train.csv") == own_suite("../reviews/.", None) == "reviews"
    assert own_suite("..", None) == own_suite(None, "../train.csv") == tmp_path.name
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    assert own_suite("~", None) == "me"
