"""Damage that an outside campaign found to be read in silence, or to end in a traceback: one line each."""

import errno
import gzip
import lzma
import os

import numpy as np
import pyarrow
import pytest
import torch
from pyarrow import parquet

from elmo_bench.base.arrays import read_arrays
from elmo_bench.base.errors import LONGEST, UserError
from elmo_bench.base.files import open_text, read_checkpoint, read_lines, sha256_of
from elmo_bench.base.int8 import read_tensors
from elmo_bench.base.json import read_json
from elmo_bench.base.reading import reading
from elmo_bench.encoders.precomputed import open_layers
from elmo_bench.encoders.static import read_text
from elmo_bench.ledger.store import read_outcomes
from elmo_bench.text import parquet_rows, tables
from tests.ledger.records import store_record

PACK = {".gz": gzip.compress, ".xz": lzma.compress}


def refused(read, *arguments) -> str:
    with pytest.raises(UserError) as raised:
        read(*arguments)
    assert "\n" not in str(raised.value)
    return str(raised.value)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", ["pipe", "link to a pipe", "link to a device"])
def test_no_pipe_and_no_device_is_read(tmp_path, kind):
    """An archive of a stranger may hold one, and reading it would never end."""
    os.mkfifo(pipe := tmp_path / "pipe")
    readers = {read_json: ".json", read_arrays: ".safetensors", read_tensors: ".safetensors", read_checkpoint: ".ckpt",
               open_layers: ".hdf5", open_text: ".xz", read_text: ".txt", sha256_of: ".x",
               (lambda path: list(read_lines(path))): ".gz"}  # fmt: skip
    for read, ending in readers.items():
        path = pipe.rename(tmp_path / f"x{ending}") if kind == "pipe" else tmp_path / f"x{ending}"
        if kind != "pipe":
            path.symlink_to("/dev/zero" if kind == "link to a device" else pipe)
        assert "x" + ending + ": not a regular file" in refused(read, path)
        pipe = path.rename(pipe) if kind == "pipe" else path.unlink() or pipe
    run = store_record(tmp_path / "ledger")
    run.outcomes.unlink()
    pipe.rename(run.outcomes)
    assert "not a regular file" in refused(read_outcomes, run)


@pytest.mark.parametrize("ending", PACK)
def test_a_second_stream_that_is_damaged_is_no_end(tmp_path, ending):
    path, pack = tmp_path / f"v.txt{ending}", PACK[ending]
    path.write_bytes(pack(b"one 1\n" * 50) + pack(b"two 2\n" * 50))
    assert len(list(read_lines(path))) == len(read_text(path)[0]) == 100
    second = bytearray(pack(b"two 2\n" * 50))
    second[1] ^= 255
    for rest in (bytes(second), b"junk", pack(b"two 2\n" * 50)[:20]):
        path.write_bytes(pack(b"one 1\n" * 50) + rest)
        assert "damaged or cut off" in refused(list, read_lines(path))
        assert "not GloVe text" in refused(read_text, path)


def test_a_text_that_has_the_name_of_a_packed_file_is_told_to_lose_it(tmp_path):
    path = tmp_path / "x.csv.gz"
    path.write_text("text,label\n")
    said = refused(list, read_lines(path))
    assert "cut off after line 0" in said
    assert said.endswith("If it is not packed, remove .gz from its name.")


def test_zeros_after_a_stream_are_padding(tmp_path):
    path = tmp_path / "x.xz"
    path.write_bytes(lzma.compress(b"a\n") + bytes(4096) + lzma.compress(b"b\n") + bytes(8))
    assert list(read_lines(path)) == [(1, "a"), (2, "b")]


def test_a_message_is_one_short_line_that_moves_no_cursor(tmp_path):
    with pytest.raises(UserError) as raised, reading(tmp_path, "a file"):
        raise ValueError("\x1b[2J" + "x" * 10_000)
    assert "\\x1b[2J" in str(raised.value)
    assert len(str(raised.value)) < 500
    assert len(str(UserError("a\nb" + "x" * 10**6))) < 2 * LONGEST
    assert str(UserError("a\nb é\xa0c")) == "a\\nb é\xa0c"


@pytest.mark.parametrize("limit", ["MOST_ROWS", "LARGEST"])
def test_a_small_parquet_file_does_not_unpack_to_much(tmp_path, monkeypatch, limit):
    path = tmp_path / "x.parquet"
    parquet.write_table(pyarrow.table({"text": ["a" * 1000] * 20_000, "label": ["b"] * 20_000}), path)
    assert path.stat().st_size < 10**5
    monkeypatch.setattr(parquet_rows, limit, 15_000 if limit == "MOST_ROWS" else 15_000_000)
    assert "more than " in refused(tables.read_table, path)


class Runs:
    """Unpickled, it makes a folder."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def test_nothing_in_a_checkpoint_is_executed(tmp_path):
    torch.save({"x": Runs(tmp_path / "made")}, tmp_path / "x.ckpt")
    with pytest.raises(UserError, match=r"x\.ckpt: not a checkpoint, or damaged"):
        read_checkpoint(tmp_path / "x.ckpt")
    assert not (tmp_path / "made").exists()


def test_nothing_in_outcomes_is_executed(tmp_path):
    run = store_record(tmp_path / "ledger")
    np.savez(run.outcomes, correct=np.array([Runs(tmp_path / "made")], dtype=object))
    with pytest.raises(UserError, match=r"seed0\.npz: not the outcomes of a run, or damaged"):
        read_outcomes(run)
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (MemoryError("Unable to allocate 5 GiB"), "does not fit in memory (Unable to allocate 5 GiB)"),
        (torch.OutOfMemoryError("CUDA out of memory"), "does not fit in memory (CUDA out of memory)"),
        (PermissionError(errno.EACCES, "Permission denied"), "cannot be read ([Errno 13] Permission denied)"),
        (OSError(errno.EIO, "Input/output error"), "cannot be read ([Errno 5] Input/output error)"),
        (OSError(errno.ENOLCK, "No locks available"), "cannot be read ([Errno 37] No locks available)"),
        (OSError(errno.ESTALE, "Stale file handle"), "cannot be read ([Errno 116] Stale file handle)"),
        (OSError(errno.EMFILE, "Too many open files"), "cannot be read ([Errno 24] Too many open files)"),
        (IsADirectoryError(errno.EISDIR, "Is a directory"), "cannot be read ([Errno 21] Is a directory)"),
        (ModuleNotFoundError("No module named 'tiktoken'"), "without a package that is missing (No module named"),
        (OSError("truncated file: eof = 100"), "not a thing, or damaged (truncated file: eof = 100). Do it."),
        (OSError(errno.EINVAL, "Invalid argument"), "not a thing, or damaged ([Errno 22] Invalid argument). Do it."),
        (ValueError("its bytes have changed"), "not a thing, or damaged (its bytes have changed). Do it."),
        (KeyError("words"), "not a thing, or damaged (no 'words'). Do it."),
    ],
)
def test_only_damaged_bytes_are_called_damaged(tmp_path, error, message):
    """Other failures are named as what they are; nobody then makes or downloads a good file again."""

    def read():
        with reading(tmp_path / "x", "a thing", "Do it."):
            raise error

    told = refused(read)
    assert told.startswith(f"{tmp_path / 'x'}: ")
    assert message in told
    told = told.removeprefix(str(tmp_path))
    assert ("damaged" in told) == ("damaged" in message)
