"""Which files of an earlier page `report` removes."""

import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.cli import report
from elmo_bench.reporting.render import OURS
from tests.reporting.ledgers import add

pytestmark = pytest.mark.usefixtures("undrawn")


def written(tmp_path, *names):
    """Report after an earlier page that names these files."""
    out = tmp_path / "out"
    out.mkdir(exist_ok=True)
    links = [b'<a href="%s">CSV</a>' % name for name in names]
    (out / "index.html").write_bytes(b"".join([OURS[0], *links]))
    add(tmp_path / "runs", "ner", "glove", 0)
    return report.main(["--ledger", str(tmp_path / "runs"), "--out", str(out)])


@pytest.mark.parametrize("name", ["tables", "figures"])
def test_no_file_behind_a_linked_folder_is_removed(tmp_path, name):
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "mine.csv").write_text("a person's")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / name).symlink_to(victim)
    with pytest.raises(UserError, match=f"out/{name} is a symbolic link, which is not followed"):
        written(tmp_path, b"%s/mine.csv" % name.encode())
    assert [path.name for path in victim.iterdir()] == ["mine.csv"]


@pytest.mark.parametrize("name", ["index.html", pytest.param("README.md", marks=pytest.mark.slow)])
def test_a_page_that_no_report_wrote_stays(tmp_path, name):
    ledger, out = tmp_path / "runs", tmp_path / "out"
    add(ledger, "ner", "glove", 0)
    command = ["--ledger", str(ledger), "--out", str(out)]
    assert report.main(command) == 0
    add(ledger, "ner", "elmo", 0)
    assert report.main(command) == 0  # over its own pages
    add(ledger, "ner", "elmo", 1)
    (out / name).write_text("My project")
    with pytest.raises(UserError, match=rf"--out .*: .*{name} was not written by a report, which would overwrite it"):
        report.main(command)
    assert (out / name).read_text() == "My project"


def test_pages_of_an_empty_ledger_and_of_earlier_versions_are_overwritten(tmp_path):
    ledger, out = tmp_path / "runs", tmp_path / "out"
    ledger.mkdir()
    command = ["--ledger", str(ledger), "--out", str(out)]
    assert report.main(command) == 0
    assert all(OURS[0] in (out / name).read_bytes() for name in ("README.md", "index.html"))
    (out / "index.html").write_bytes(OURS[1])
    (out / "README.md").write_bytes(OURS[2])
    assert report.main(command) == 0


def test_only_regular_files_with_the_name_of_a_table_or_a_figure_are_removed(tmp_path):
    tables = tmp_path / "out" / "tables"
    tables.mkdir(parents=True)
    (tmp_path / "else.csv").write_text("a person's")
    for name in ("old.csv", "old-列.svg", "notes.txt", ".csv.gz"):
        (tables / name).write_text("old")
    (tables / "folder.csv").mkdir()
    (tables / "link.csv").symlink_to(tmp_path / "else.csv")
    names = ["old.csv", "old-列.svg", "notes.txt", ".csv.gz", "folder.csv", "link.csv", "..", ".", "x" * 300 + ".csv"]
    links = [f"tables/{name}".encode() for name in names]
    assert written(tmp_path, *links, b"tables/\xff.csv", b"tables/\x00.csv") == 0
    left = {path.name for path in tables.iterdir() if not path.name.startswith("open-")}
    assert left == {"notes.txt", ".csv.gz", "folder.csv", "link.csv"}
