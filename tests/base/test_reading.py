"""Damage that an outside campaign found to be read in silence, or to end in a traceback: one line each."""

import gzip
import json
import lzma
import struct
import zipfile

import h5py
import numpy as np
import pytest
import torch
import zstandard
from safetensors.numpy import save_file

from elmo_bench.base.errors import LONGEST, UserError
from elmo_bench.base.files import read_checkpoint, read_lines, unpack
from elmo_bench.base.reading import reading
from elmo_bench.elmo.options import BiLMOptions
from elmo_bench.elmo.weights import load
from elmo_bench.encoders.static import read_text
from tests.elmo.bilms import RELU
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


@pytest.mark.parametrize("ending", ["", *PACK])
def test_glove_text_that_is_cut_in_its_last_number(tmp_path, ending):
    path = tmp_path / f"v.txt{ending}"
    path.write_bytes(PACK.get(ending, bytes)(b"one 1.25 2.5\ntwo 1.25 2"))
    assert "after line 2 (the last line has no end)" in refused(read_text, path)


@pytest.mark.parametrize("number", ["nan", "-Infinity", "1e39"])
def test_vectors_that_are_not_finite(tmp_path, number):
    (tmp_path / "v.txt").write_text(f"one 1 2\ntwo 1 {number}\n")
    assert f"v.txt:2: '{number}' is not a finite number" in refused(read_text, tmp_path / "v.txt")


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


@pytest.mark.parametrize("dtype", ["F32", "BF16", "I64"])
def test_safetensors_of_another_kind(tmp_path, dtype):
    header = json.dumps({"char_embed": {"dtype": dtype, "shape": [1], "data_offsets": [0, 8 if dtype == "I64" else 4]}})
    path = tmp_path / "weights.safetensors"
    path.write_bytes(struct.pack("<Q", len(header)) + header.encode() + bytes(8))
    refused(load, RELU, path)
    save_file({"char_embed": np.full((261, 4), np.nan, np.float32)}, path)
    assert "'char_embed' has numbers that are not finite" in refused(load, RELU, path)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("lstm.dim", -1), ("lstm.dim", 10**9), ("lstm.n_layers", 10**9), ("lstm.projection_dim", 1.5),
        ("lstm.dim", True),
        ("lstm.cell_clip", "3"), ("char_cnn.n_highway", 10**6), ("char_cnn.filters", [[1, 2**40]]), ("lstm.dim", [4]),
        ("char_cnn.filters", [[1, 4]] * 1000), ("char_cnn.filters", [[51, 4]]), ("char_cnn.filters", []), ("lstm", 3),
        ("char_cnn.embedding.dim", None), ("char_cnn.n_characters", [0] * 100),
    ],
)  # fmt: skip
def test_options_that_no_network_has(tmp_path, key, value):
    options = RELU.to_json()
    *parents, last = key.split(".")
    node = options
    for parent in parents:
        node = node[parent]
    node[last] = value
    (tmp_path / "options.json").write_text(json.dumps(options))
    assert refused(BiLMOptions.from_file, tmp_path / "options.json").startswith(f"{tmp_path}/options.json: ")


def test_every_damaged_byte_of_a_checkpoints_contents_is_found(tmp_path):
    path = tmp_path / "last.ckpt"
    torch.save({"state_dict": {"a": torch.randn(40)}, "epoch": 1}, path)
    sound = path.read_bytes()
    numbers = sound.index(torch.load(path, weights_only=True)["state_dict"]["a"].numpy().tobytes())
    for place in (numbers, numbers + 100, sound.index(b"state_dict"), len(sound) // 2):
        path.write_bytes(sound[:place] + bytes([sound[place] ^ 16]) + sound[place + 1 :])
        refused(read_checkpoint, path)


def test_a_message_is_one_short_line_that_moves_no_cursor(tmp_path):
    with pytest.raises(UserError) as raised, reading(tmp_path, "a file"):
        raise ValueError("\x1b[2J" + "x" * 10_000)
    assert "\\x1b[2J" in str(raised.value)
    assert len(str(raised.value)) < 500
    assert len(str(UserError("a\nb" + "x" * 10**6))) < 2 * LONGEST
    assert str(UserError("a\nb é\xa0c")) == "a\\nb é\xa0c"
