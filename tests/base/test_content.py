"""A checksum belongs to the bytes that were read, whatever happened to the file before, meanwhile and afterwards."""

import hashlib
import os
import time
from pathlib import Path

import pytest

from elmo_bench.base.downloads import Content, cache_folder
from elmo_bench.base.errors import UserError
from tests.runs import first_ones

pytestmark = pytest.mark.usefixtures("own_cache")
OLD, NEW = b"the 1 2\n" * 1000, b"the 3 4\n" * 1000  # of one size
ALWAYS = 0.0  # seconds after which a file counts as settled: at once
NEVER = 1e12


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "v.txt"
    path.write_bytes(OLD)
    return path


def tick():
    """Wait until a write must have another time: clocks of file systems are as coarse as 10 ms."""
    time.sleep(0.05)


def overwrite(path):
    path.write_bytes(NEW)


def overwrite_with_the_old_time(path):
    status = path.stat()
    path.write_bytes(NEW)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (status.st_size, status.st_mtime_ns)


def rename_over(path):
    other = path.with_name("other")
    other.write_bytes(NEW)
    os.utime(other, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
    other.replace(path)


CHANGES = [overwrite, overwrite_with_the_old_time, rename_over]


def memory():
    folder = cache_folder() / "checksums"
    return [*folder.iterdir()] if folder.is_dir() else []


def sha256(content):
    return hashlib.sha256(content).hexdigest()


KINDS = pytest.mark.parametrize(("large", "settled"), [(0, ALWAYS), (2**30, ALWAYS), (0, NEVER)])


@KINDS
def test_an_unchanged_file_has_the_checksum_of_its_bytes(path, large, settled):
    tick()
    for _ in range(2):
        content = Content(path, large=large, settled=settled)
        content.check()
        content.check()
        assert content.sha256 == sha256(OLD)
    assert len(memory()) == (large == 0 and settled == ALWAYS)  # small and young files are never remembered


@KINDS
@pytest.mark.parametrize("change", first_ones([overwrite_with_the_old_time, overwrite, rename_over, Path.unlink], 1))
def test_a_file_that_changes_is_refused_and_the_next_start_sees_the_new_bytes(path, change, large, settled):
    tick()
    content = Content(path, large=large, settled=settled)
    tick()
    change(path)
    with pytest.raises(UserError, match=r"^.*v\.txt: changed while it was read\. Start again\.$"):
        content.check()
    if path.exists():
        tick()
        assert Content(path, large=large, settled=settled).sha256 == sha256(NEW)


def test_a_large_settled_file_is_trusted_until_its_state_changes(path):
    tick()
    Content(path, large=0, settled=ALWAYS)
    [remembered] = memory()
    remembered.write_text("0" * 64)  # shows that the file is not read
    assert Content(path, large=0, settled=ALWAYS).sha256 == "0" * 64
    assert Content(path, large=len(OLD) + 1, settled=ALWAYS).sha256 == sha256(OLD)  # a small one is
    assert Content(path, large=0, settled=NEVER).sha256 == sha256(OLD)
    remembered.write_text("damaged")
    assert Content(path, large=0, settled=ALWAYS).sha256 == sha256(OLD)
    for change in CHANGES:
        path.write_bytes(OLD)
        tick()
        [each.unlink() for each in memory()]
        assert Content(path, large=0, settled=ALWAYS).sha256 == sha256(OLD)
        change(path)
        tick()
        assert Content(path, large=0, settled=ALWAYS).sha256 == sha256(NEW)
