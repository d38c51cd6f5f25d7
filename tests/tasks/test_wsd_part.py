"""SemCor, packed from the archive of a repository."""

import tarfile

import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.tasks.wsd import part, semcor
from tests.tasks.test_wsd import READ, TAGFILE, archive


def test_the_tag_files_of_a_repositorys_archive(tmp_path, monkeypatch):
    """Of the wanted folders alone, in the order of their names; the same bytes each time."""
    link = tarfile.TarInfo("semcor-1/data/semcor3.0/brown1/tagfiles/br-a09")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    home = "semcor-1/data/semcor3.0"
    members = {
        f"{home}/brown2/tagfiles/br-e02": TAGFILE.replace("sorry", "glad"),
        f"{home}/brown1/tagfiles/br-a01": TAGFILE,
        f"{home}/brownv/tagfiles/br-a03": TAGFILE,
        f"{home}/README": "x",
        "link": link,
    }
    source = archive(tmp_path / "all.tar.xz", **members)
    paths = [tmp_path / name for name in ("one.tar.gz", "two.tar.gz")]
    for path in paths:
        part.make(source, path, folders=["brown1", "brown2"])
    first, second = semcor.read_semcor(paths[0])
    assert first == READ
    assert "glad" in second.tokens
    assert paths[0].read_bytes() == paths[1].read_bytes()
    with pytest.raises(UserError, match=r"all\.tar\.xz: no folder brown3/tagfiles"):
        part.make(source, tmp_path / "x", folders=["brown3"])
    monkeypatch.setattr(part, "LARGEST", 100)
    with pytest.raises(UserError, match=r"more than 100 bytes of tag files"):
        part.make(source, tmp_path / "x", folders=["brown1", "brown2"])
    source.write_bytes(b"junk")
    with pytest.raises(UserError, match=r"not an archive of SemCor, or damaged"):
        part.make(source, tmp_path / "x", folders=["brown1"])
    assert not (tmp_path / "x").exists()
