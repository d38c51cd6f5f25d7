"""Damage that an outside campaign found to be read in silence, or to end in a traceback: one line each."""

import gzip
import lzma
import zipfile

import h5py
import numpy as np
import pytest
import zstandard

from elmo_bench.base.errors import LONGEST, UserError
from elmo_bench.base.files import read_lines, unpack
from elmo_bench.base.reading import reading
from elmo_bench.elmo.options import BiLMOptions
from elmo_bench.elmo.weights import load
from elmo_bench.encoders.glove_text import read_text
from tests.runs import GOLDEN

PACK = {".gz": gzip.compress, ".xz": lzma.compress, ".zst": zstandard.compress}


def refused(read, *arguments) -> str:
    with pytest.raises(UserError) as raised:
        read(*arguments)
    assert "\n" not in str(raised.value)
    return str(raised.value)


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
        assert "damaged or cut off" in refused(read_text, path)


@pytest.mark.parametrize("ending", [".xz", ".zst"])
def test_zeros_after_a_stream_are_padding(tmp_path, ending):
    path = tmp_path / f"x{ending}"
    path.write_bytes(PACK[ending](b"a\n") + bytes(4096) + PACK[ending](b"b\n") + bytes(8))
    assert list(read_lines(path)) == [(1, "a"), (2, "b")]


def test_a_zip_with_an_unknown_compression(tmp_path):
    path = tmp_path / "v.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("v.txt", "one 1\n")
    path.write_bytes(path.read_bytes().replace(b"PK\x03\x04\x14\0\0\0\0\0", b"PK\x03\x04\x14\0\0\0\x63\0")
                     .replace(b"PK\x01\x02\x14\x03\x14\0\0\0\0\0", b"PK\x01\x02\x14\x03\x14\0\0\0\x63\0"))  # fmt: skip
    assert "That compression method is not supported" in refused(read_text, path)
    assert "That compression method is not supported" in refused(unpack, path, "v.txt", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def _replace(file, data=None, **more):
    key = "CNN_proj/b_proj"
    shape = file[key].shape
    del file[key]
    file.create_dataset(key, **({"shape": shape} if data is None and "shape" not in more else {}), data=data, **more)


HDF5 = {
    "texts": (lambda file: _replace(file, dtype=h5py.string_dtype()), "does not hold floating-point numbers"),
    "compound": (lambda file: _replace(file, dtype=[("a", "f4")]), "does not hold floating-point numbers"),
    "four terabytes of nothing": (
        lambda file: _replace(file, shape=(2**20, 2**20), chunks=(64, 64), dtype="f4"), "has shape (1048576, 1048576)"
    ),
    "nothing of the right shape": (
        lambda file: _replace(file, chunks=True, dtype="f4"), "the file does not hold the numbers"
    ),
    "another file's numbers": (
        lambda file: _replace(file, dtype="f4", external=[("secret", 0, 10**6)]), "the file does not hold the numbers"
    ),
    "NaN": (lambda file: _replace(file, data=np.full(16, np.nan, "f4")), "numbers that are not finite"),
    "beyond float32": (lambda file: _replace(file, data=np.full(16, 1e300)), "numbers that are not finite"),
    "a group": (lambda file: (file.pop("CNN_proj/b_proj"), file.create_group("CNN_proj/b_proj")), "has shape None"),
    "a link to a file": (
        lambda file: (file.pop("char_embed"), file.update({"char_embed": h5py.ExternalLink("x", "/y")})), "is missing"
    ),
}  # fmt: skip


@pytest.mark.parametrize("damage", HDF5)
def test_hdf5_of_another_kind(tmp_path, damage):
    change, said = HDF5[damage]
    path = tmp_path / "weights.hdf5"
    path.write_bytes((GOLDEN / "weights.hdf5").read_bytes())
    with h5py.File(path, "r+") as file:
        change(file)
    assert said in refused(load, BiLMOptions.from_file(GOLDEN / "options.json"), path)


def test_a_message_is_one_short_line_that_moves_no_cursor(tmp_path):
    with pytest.raises(UserError) as raised, reading(tmp_path, "a file"):
        raise ValueError("\x1b[2J" + "x" * 10_000)
    assert "\\x1b[2J" in str(raised.value)
    assert len(str(raised.value)) < 500
    assert len(str(UserError("a\nb" + "x" * 10**6))) < 2 * LONGEST
    assert str(UserError("a\nb é\xa0c")) == "a\\nb é\xa0c"
