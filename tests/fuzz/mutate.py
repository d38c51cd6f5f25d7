"""Damaging files: `damaged(random, name, content)` is a mutant of a sound file, made by what its format allows.

`random` may be Python's or hypothesis's, so that the short tests shrink what they find and the campaign is seeded.
"""

import gzip
import io
import json
import lzma
import struct
import zipfile
from collections.abc import Callable
from functools import partial
from typing import Any

import h5py
import numpy as np
import zstandard

NUMBERS = (
    0, -1, 1, 2, 127, 255, 2**16, 2**31 - 1, 2**31, 2**32, 2**53, 2**63 - 1, 2**63, 2**64, 10**30, -(2**63) - 1,
    0.5, -0.0, 1e-320, 1e308, 10**6, 10**9, 65_537,
)  # fmt: skip
TEXTS = (
    "",
    " ",
    "\0",
    "\n",
    "é",
    "\u2028",
    "-1",
    "NaN",
    "a" * 5000,
    "../../etc/passwd",
    "/etc/passwd",
    "[red]",
    "%s{0}",
)
PIECES = (
    b"NaN", b"Infinity", b"-inf", b"1e999", b"1e-999", b"9" * 5000, b"[" * 20_000, b"{\"a\":" * 20_000, b"(" * 20_000,
    b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\\ud800", b"\0", b"\r", b"\r\n", b"\n", b"\n\n", b"\t", b" ",
    b"\xc2\xa0", b"\xe2\x80\xa8", b"-", b"*", b")", b"|", b"#", b"\"", b"'", b",", b"null", b"true", b"a" * 100_000,
    b"x ", "٣".encode(), b"0", b"-1", b"18446744073709551616", b"1_000", b"0x10", b"${oc.env:HOME}", b"&a [*a]",
)  # fmt: skip
WORDS = tuple(struct.pack(f"<{kind}", value) for kind, value in (
    ("B", 0), ("B", 255), ("H", 0xFFFF),
    ("I", 0xFFFFFFFF), ("I", 0x7FFFFFFF), ("I", 2**30), ("Q", 2**64 - 1), ("Q", 2**40),
    ("Q", 2**63 - 1), ("I", 0), ("Q", 0), ("f", float("nan")), ("f", float("inf")), ("d", float("nan")),
))  # fmt: skip


def damaged(random: Any, name: str, content: bytes) -> bytes:
    """A mutant of a file: its bytes, or what they hold, with one to three changes."""
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        content = _once(random, name, content)
    return content


def _once(random: Any, name: str, content: bytes) -> bytes:
    ending = name.rpartition(".")[2]
    inner = FORMATS.get(ending)
    if inner is not None and random.randrange(4):
        try:
            return inner(random, name, content)
        except Exception:  # an earlier change has made it unreadable
            return _bytes(random, content)
    return _bytes(random, content)


def _bytes(random: Any, content: bytes) -> bytes:
    start = random.randrange(len(content) + 1)
    end = min(len(content), start + random.choice((1, 1, 1, 2, 4, 8, 50, 1000)))
    before, part, after = content[:start], content[start:end], content[end:]
    return random.choice((
        lambda: before + bytes(byte ^ 1 << random.randrange(8) for byte in part) + after,
        lambda: before + after,
        lambda: before + part * 2 + after,
        lambda: before + random.choice(PIECES) + part + after,
        lambda: before + random.choice(PIECES) + after,
        lambda: before + random.choice(WORDS) + after,
        lambda: content[:start] + (piece := random.choice(WORDS)) + content[start + len(piece):],
        lambda: before,
        lambda: after,
        lambda: content + content,
        lambda: content + before,
        lambda: b"",
        lambda: _lines(random, content),
    ))()  # fmt: skip


def _lines(random: Any, content: bytes) -> bytes:
    lines = content.split(b"\n")
    one, other = random.randrange(len(lines)), random.randrange(len(lines))
    lines[one], lines[other] = random.choice(((lines[other], lines[one]), (lines[one], lines[one]), (b"", b"\t")))
    return b"\n".join(lines)


def changed(random: Any, value: Any) -> Any:
    """Plain data with one item changed, anywhere."""
    if not isinstance(value, dict | list) or not value or not random.randrange(4):
        return _replaced(random, value)
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    key = random.choice(keys)
    copy = dict(value) if isinstance(value, dict) else list(value)
    action = random.randrange(8)
    if action == 0:
        del copy[key]
    elif action == 1:
        copy[random.choice(keys)] = value[key]
    elif action == 2 and isinstance(copy, dict):
        copy[random.choice(TEXTS)] = copy.pop(key)
    elif action == 2:
        copy = copy * 2
    else:
        copy[key] = changed(random, value[key])
    return copy


def _replaced(random: Any, value: Any) -> Any:
    deep: Any = 1
    for _ in range(random.choice((2, 70, 900))):
        deep = random.choice(([deep], {"a": deep}))
    return random.choice((
        None, True, False, [], {}, [None], [value], {"a": value}, [[1, 2], [3, 4]], deep, float("nan"), float("inf"),
        random.choice(NUMBERS), random.choice(NUMBERS), random.choice(NUMBERS), random.choice(TEXTS), str(value)[:1000],
    ))  # fmt: skip


def _json(random: Any, name: str, content: bytes) -> bytes:
    return json.dumps(changed(random, json.loads(content)), indent=random.choice((None, 1))).encode()


def _jsonl(random: Any, name: str, content: bytes) -> bytes:
    lines = content.splitlines()
    row = random.randrange(len(lines))
    lines[row] = _json(random, name, lines[row]).replace(b"\n", b"")
    return b"\n".join(lines) + b"\n"


def _safetensors(random: Any, name: str, content: bytes) -> bytes:
    """Its header as JSON, the JSON in its metadata, or a number in its tensors."""
    size = struct.unpack("<Q", content[:8])[0]
    header, body = json.loads(content[8 : 8 + size]), content[8 + size :]
    metadata = header.get("__metadata__", {})
    tensors = [key for key in header if key != "__metadata__"]
    action = random.randrange(5)
    if action == 0 and "about" in metadata:
        metadata["about"] = json.dumps(changed(random, json.loads(metadata["about"])))
    elif action == 1:
        header = changed(random, header)
    elif action == 2:
        body = _bytes(random, body)
    elif action == 3:  # NaN, infinity and large numbers in place
        start = header[random.choice(tensors)]["data_offsets"][0]
        piece = random.choice(WORDS)
        body = body[:start] + piece + body[start + len(piece) :]
    else:
        about = header[random.choice(tensors)]
        about["dtype"] = random.choice(
            ("F64", "F32", "F16", "BF16", "F8_E4M3", "I64", "I32", "I16", "I8", "U8", "BOOL", "X")
        )
        about["shape"] = random.choice(
            (about["shape"], about["shape"][::-1], [], [0], [1, *about["shape"]], [2**40, 2**40])
        )
        if random.randrange(2):  # of the right length again
            count = int(np.prod(about["shape"], dtype=object)) * 2
            about["data_offsets"] = [about["data_offsets"][0], about["data_offsets"][0] + count]
    packed = json.dumps(header).encode()
    return struct.pack("<Q", len(packed)) + packed + body


def _hdf5(random: Any, name: str, content: bytes) -> bytes:
    """A data set of another type, shape or kind in the place of one of its own."""
    memory = io.BytesIO(content)
    with h5py.File(memory, "r+") as file:
        names: list[str] = []
        file.visititems(lambda key, node: names.append(key) if isinstance(node, h5py.Dataset) else None)
        key = random.choice(names)
        shape, values = file[key].shape, file[key][()]
        action = random.randrange(11)
        del file[key]
        if action == 0:
            file.create_dataset(key, data=np.full(shape, b"text", dtype="S4"))
        elif action == 1:
            file.create_dataset(key, shape=shape, dtype=[("a", "f4"), ("b", "i8")])
        elif action == 2:
            file.create_dataset(key, shape=shape, dtype=h5py.string_dtype())
        elif action == 3:
            file.create_dataset(key, shape=(2**20, 2**20), chunks=(64, 64), dtype="f4")  # 4 TB of nothing
        elif action == 4:
            file.create_dataset(key, shape=shape, chunks=True if shape else None, dtype="f4")
        elif action == 5:
            file.create_group(key)
        elif action == 6:
            file[key] = random.choice((h5py.SoftLink("/nowhere"), h5py.SoftLink("/"), h5py.ExternalLink("x.h5", "/a")))
        elif action == 7:
            file[key] = np.full(shape, random.choice((np.nan, np.inf, 1e300, -1e300)))
        elif action == 8:
            file[key] = values.astype(random.choice(("i4", "u1", "c8", "f2", ">f8", "?")))
        elif action == 9:
            file[key] = values[..., :-1] if values.ndim else values
        else:
            file.create_dataset(key, shape=shape, dtype="f4", external=[("outside.raw", 0, 10**9)])
    return memory.getvalue()


def _packed(pack: Callable[[bytes], bytes], unpack: Callable[[bytes], bytes]) -> Callable[[Any, str, bytes], bytes]:
    """Text that is damaged before it is compressed, or compressed as several streams of which one is damaged."""

    def mutant(random: Any, name: str, content: bytes) -> bytes:
        text = unpack(content)
        middle = random.randrange(len(text) + 1)
        return random.choice((
            lambda: pack(_bytes(random, text)),
            lambda: pack(text[:middle]) + _bytes(random, pack(text[middle:])),
            lambda: pack(text[:middle]) + pack(text[middle:])[: random.randrange(40)],
            lambda: content + random.choice(PIECES),
        ))()  # fmt: skip

    return mutant


def _zip(random: Any, name: str, content: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        files = {member: archive.read(member) for member in archive.namelist()}
    key, memory = random.choice(list(files)), io.BytesIO()
    files[key] = _once(random, key, files[key])
    if not random.randrange(4):
        files[random.choice(("", "a/b", "../x", "x" * 300))] = b"more"
    with zipfile.ZipFile(memory, "w", random.choice((0, 8, 12, 14))) as archive:
        for member, data in files.items():
            archive.writestr(member, data)
    packed = memory.getvalue()
    return packed if random.randrange(2) else _bytes(random, packed)


def _npy(random: Any, name: str, content: bytes) -> bytes:
    memory, array = io.BytesIO(), np.load(io.BytesIO(content), allow_pickle=False)
    if random.randrange(2):
        array = random.choice(
            (array.astype(float), array.astype("S3"), array[None], array.T, array[:0], array[()][..., 0])
        )
        np.save(memory, array)
        return memory.getvalue()
    return content.replace(
        random.choice((b"<i", b"False", b"(", b",)", b"shape")),
        random.choice((b"<f", b"|O", b"True", b"(9999999999,", b"", b"}")),
    )


FORMATS: dict[str, Callable[[Any, str, bytes], bytes]] = {
    "json": _json,
    "jsonl": _jsonl,
    "lock": _json,
    "safetensors": _safetensors,
    "hdf5": _hdf5,
    "gz": _packed(lambda text: gzip.compress(text, mtime=0), gzip.decompress),
    "xz": _packed(partial(lzma.compress, preset=0), lzma.decompress),
    "zst": _packed(zstandard.compress, lambda packed: zstandard.ZstdDecompressor().decompressobj().decompress(packed)),
    "zip": _zip,
    "npz": _zip,
    "ckpt": _zip,
    "npy": _npy,
}
