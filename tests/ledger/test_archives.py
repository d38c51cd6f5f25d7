"""Outcomes are unpacked as numpy unpacks them; what is damaged, or more than it states, is refused."""

import io
import struct
import zipfile
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from elmo_bench.base.errors import UserError
from elmo_bench.ledger import RunPaths, archives, read_outcomes
from elmo_bench.ledger.archives import read_arrays

KINDS = st.sampled_from([np.uint8, np.uint16, np.uint32, np.uint64, np.int64, np.bool_])
ARRAYS = st.dictionaries(st.text("ab.:é", min_size=1, max_size=5), arrays(KINDS, st.integers(0, 40)), max_size=6)


@settings(max_examples=30, deadline=None)
@given(ARRAYS, st.booleans())
def test_arrays_are_numpys(tmp_path_factory, content, compressed):
    path = tmp_path_factory.mktemp("npz") / "x.npz"
    save = np.savez_compressed if compressed else np.savez
    save(path, **content)
    read = read_arrays(path)
    with np.load(path) as expected:
        assert list(read) == list(expected)
        for name, values in expected.items():
            assert read[name].dtype == values.dtype and np.array_equal(read[name], values)


def packed(array=None, method=zipfile.ZIP_DEFLATED, name="correct.npy"):
    """An .npz file of one array, or of these bytes."""
    file = io.BytesIO()
    content = io.BytesIO()
    if not isinstance(array, bytes):
        np.save(content, np.arange(9, dtype=np.uint8) if array is None else array)
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr(name, array if isinstance(array, bytes) else content.getvalue())
    return bytearray(file.getvalue())


def changed(place, content, file=None):
    """A sound file with other bytes at an offset."""
    file = packed() if file is None else file
    place = place if place >= 0 else len(file) + place
    file[place : place + len(content)] = content
    return bytes(file)


DIRECTORY = packed().index(b"PK\1\2")
STORED = packed(method=zipfile.ZIP_STORED)
HEADER = b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }"
OBJECTS = b"\x93NUMPY\1\0\x46\0" + HEADER.ljust(70)
DAMAGED = {
    "nothing": b"",
    "no zip": b"numbers",
    "cut off": bytes(packed()[:60]),
    "a number changed": changed(STORED.index(bytes(range(9))), b"\7", STORED),
    "another checksum": changed(DIRECTORY + 16, b"\0\0\0\0"),
    "a shorter length": changed(DIRECTORY + 24, struct.pack("<I", 100)),
    "of 1 GiB": changed(DIRECTORY + 24, struct.pack("<I", 2**30)),
    "an entry beyond the file": changed(DIRECTORY + 42, struct.pack("<I", 2**20)),
    "encrypted": changed(DIRECTORY + 8, b"\1\0"),
    "another method": changed(DIRECTORY + 10, struct.pack("<H", zipfile.ZIP_LZMA)),
    "bad deflate": changed(30 + len("correct.npy"), b"\xff\xff\xff"),
    "no array": bytes(packed(b"text")),
    "fractions": bytes(packed(np.array([0.5]))),
    "a table": bytes(packed(np.zeros((2, 2), np.uint8))),
    "objects": bytes(packed(OBJECTS)),
    "zeros without end": bytes(packed(zlib.compress(bytes(10**6)))),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_file_is_one_line(tmp_path, name):
    run = RunPaths(tmp_path, "open", "ner", "glove", "0" * 12, 0)
    run.folder.mkdir(parents=True)
    run.outcomes.write_bytes(DAMAGED[name])
    with pytest.raises(UserError, match="the outcomes of a run, or damaged") as error:
        read_outcomes(run)
    assert "\n" not in str(error.value)


def test_arrays_that_unpack_to_more_than_the_limit_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "x.npz"
    path.write_bytes(packed())
    size = len(read_arrays(path)["correct"]) + 128  # of the header
    monkeypatch.setattr(archives, "MAX_UNPACKED_BYTES", size)
    read_arrays(path)
    monkeypatch.setattr(archives, "MAX_UNPACKED_BYTES", size - 1)
    with pytest.raises(UserError, match=f"unpacked, it is larger than {size - 1} bytes"):
        read_arrays(path)
