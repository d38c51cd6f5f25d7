"""Atomic writing: the mode that the user's umask gives, and what a disk may refuse."""

import errno
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from elmo_bench.base.arrays import write_arrays
from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write, keep_inputs, read_lines, refusal
from elmo_bench.base.tensor_files import TYPES, write_tensors


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o002, 0o664), (0o077, 0o600)])
def test_the_umask_sets_the_mode(tmp_path, umask, mode):
    before = os.umask(umask)
    try:
        for _ in range(2):  # a new file, and one that replaces it
            with atomic_write(tmp_path / "folder" / "file", "w") as handle:
                handle.write("text")
            assert (tmp_path / "folder" / "file").stat().st_mode & 0o777 == mode
    finally:
        os.umask(before)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EIO])
def test_what_a_disk_refuses_is_one_line_and_changes_nothing(tmp_path, number):
    path = tmp_path / "file"
    path.write_text("before")
    with pytest.raises(UserError) as raised, atomic_write(path) as handle:
        handle.write(b"half")
        raise OSError(number, os.strerror(number))
    assert str(raised.value).startswith(f"{path}: ")
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("x.conll.bz2", r"Unpack it: bzip2 -dc x\.conll\.bz2 \| xz > x\.conll\.xz"),
        ("x.zip", "Unpack it: unzip -p"),
        ("x.txt.zst", "Unpack it: zstd -dc"),
        ("x.XLSX", "Save it as CSV UTF-8"),
    ],
)
def test_packed_files_and_spreadsheets_that_are_not_read_are_named(tmp_path, name, how):
    (tmp_path / name).write_bytes(b"BZh91AY&SY\xff\xfe")
    with pytest.raises(UserError, match=f"is not read. {how}"):
        [*read_lines(tmp_path / name)]


def test_a_name_that_no_file_can_have(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    for name in (".", "folder", "x" * 300, "file/x", "/proc/x/file", "/proc/file"):
        with pytest.raises(UserError, match=r"[Cc]hoose a(nother| shorter)"), atomic_write(Path(name)):
            pass
    assert sorted(tmp_path.iterdir()) == [tmp_path / "file", tmp_path / "folder"]


def test_an_error_that_was_told_otherwise_is_no_refusal_of_the_disk():
    try:
        try:
            raise PermissionError(errno.EPERM, "Operation not permitted")
        except OSError:
            raise ValueError("no network") from None
    except ValueError as error:
        assert refusal(error, "a file") is None


def test_a_device_or_a_pipe_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/null"), Path("/dev/stdout")):
        if path.exists() and not path.is_file():
            with pytest.raises(UserError, match="not a regular file"), atomic_write(path):
                pass
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"] and (tmp_path / "pipe").is_fifo()


@pytest.mark.parametrize("link", [Path.symlink_to, Path.hardlink_to])
def test_a_file_that_is_read_is_not_written_under_another_name(tmp_path, link):
    (tmp_path / "data").write_text("mine")
    link(tmp_path / "out", tmp_path / "data")
    with pytest.raises(UserError, match="out: this file is read too, and would be overwritten"):
        keep_inputs(tmp_path / "out", [tmp_path / "missing", tmp_path / "data"])


def age(path, seconds):
    path.write_text("x")
    then = time.time() - seconds
    os.utime(path, (then, then))


DAY = 24 * 3600


def test_what_killed_processes_left_is_removed_by_the_next_write(tmp_path):
    """A day later, unless a process holds it; other files of the folder stay."""
    stale = [".o.h5.1a2b3c4d.unfinished", ".train.txt.0000aaaa.unfinished"]
    others = ["x.unfinished", ".o.h5.1a2b3c4d", ".config.deadbeef", "old.txt", ".hidden"]
    others += [".file.part.unfinished", ".thesis.unfinished", ".thesis.draft123.unfinished"]  # resumes; other programs'
    for name in (*stale, *others):
        age(tmp_path / name, DAY + 60)
    age(tmp_path / ".young.txt.1a2b3c4d.unfinished", DAY - 60)
    age(tmp_path / ".used.txt.1a2b3c4d.unfinished", DAY + 60)
    (tmp_path / ".link.unfinished").symlink_to(tmp_path / "old.txt")
    os.mkfifo(tmp_path / ".pipe.unfinished")
    script = (
        "import sys; from elmo_bench.base.unfinished import hold; file = open(sys.argv[1], 'rb'); hold(file)\n"
        "print(1, flush=True); input()"
    )
    command = [sys.executable, "-c", script, str(tmp_path / ".used.txt.1a2b3c4d.unfinished")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.read(1) == b"1"
        with atomic_write(tmp_path / "new.txt", "w") as file:
            file.write("new")
        holder.communicate(b"\n")
    names = {path.name for path in tmp_path.iterdir()}
    assert names.isdisjoint(stale)
    assert names == {
        "new.txt", *others, ".young.txt.1a2b3c4d.unfinished", ".used.txt.1a2b3c4d.unfinished", ".link.unfinished",
        ".pipe.unfinished",
    }  # fmt: skip


def test_a_killed_write_leaves_a_file_that_the_next_process_removes(tmp_path):
    script = (
        "import os, sys; from pathlib import Path; from elmo_bench.base.files import atomic_write\n"
        "with atomic_write(Path(sys.argv[1]), 'w') as file: file.write('half'); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "o.h5")], check=False)
    [left] = tmp_path.iterdir()
    assert left.name.startswith(".o.h5.")
    os.utime(left, (0, 0))
    with atomic_write(tmp_path / "other.txt", "w") as file:
        file.write("done")
    assert [path.name for path in tmp_path.iterdir()] == ["other.txt"]


def test_an_unfinished_file_that_another_process_removes_is_no_folder_without_files(tmp_path):
    with pytest.raises(FileNotFoundError) as raised, atomic_write(tmp_path / "file") as handle:
        Path(handle.name).unlink()
    assert raised.value.filename == str(tmp_path / "file")


def test_tensors_have_the_bytes_of_safetensors(tmp_path):
    arrays = {f"{name} é\n": np.arange(3).astype(name) for name in [*TYPES][::-1]}
    arrays |= {"second": np.ones((2, 3), np.int32).T, "first": np.zeros((0, 4), np.int32), "one": np.array(2.5)}
    arrays["big"] = np.arange(3, dtype=">f4")
    for metadata in ({"about": 'a "text"\t\x1f\x7f €'}, {"about": ""}):
        with (tmp_path / "file").open("wb") as file:
            write_tensors(file, arrays, metadata)
        contiguous = {name: np.array(array, order="C") for name, array in arrays.items()}
        assert (tmp_path / "file").read_bytes() == save(contiguous, metadata)


def test_a_killed_write_of_arrays_leaves_one_file_that_is_held(tmp_path, monkeypatch):
    """safetensors' own `save_file` renames another file, with mode 0600, over the one that is held."""
    seen = []
    replace = Path.replace

    def look(path, target):
        seen.append(([*tmp_path.iterdir()], path.read_bytes()))
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", look)
    before = os.umask(0o022)
    try:
        write_arrays(tmp_path / "a.safetensors", {"a": np.arange(5)}, "text")
    finally:
        os.umask(before)
    path = tmp_path / "a.safetensors"
    [([left], content)] = seen
    assert left.name.startswith(".a.safetensors.")
    assert content == path.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o644
