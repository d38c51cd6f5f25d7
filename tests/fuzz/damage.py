"""Damaged files: `damaged(random, name, content)` changes bytes of a sound file, or values that its format holds."""

import gzip
import io
import json
import lzma
import struct
import zipfile
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

VALUES = (
    None, True, [], {}, [None], float("nan"), float("inf"), 0, -1, 0.5, 1e-320, 1e308, 2**16, 2**31, 2**63, 10**30,
    10**9, "", " ", "\0", "\n", "é", "\u2028", "-1", "NaN", "a" * 5000, "../../etc/passwd", "[red]", "%s{0}",
)  # fmt: skip
PIECES = (
    b"NaN", b"-inf", b"1e999", b"9" * 5000, b"[" * 20_000, b"{\"a\":" * 20_000, b"(" * 20_000, b"\xff\xfe",
    b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\\ud800", b"\0", b"\r\n", b"\n\n", b"\t", b" ", b"\xc2\xa0", b"\xe2\x80\xa8",
    b"-", b"*", b")", b"|", b"#", b"\"", b",", b"null", b"a" * 100_000, "٣".encode(), b"0", b"-1", b"1_000",
    b"18446744073709551616", b"&a [*a]", b"${oc.env:HOME}",
)  # fmt: skip
NUMBERS = tuple(
    struct.pack(f"<{kind}", value)
    for kind, value in (("Q", 2**64 - 1), ("Q", 2**40), ("I", 2**31 - 1), ("Q", 0), ("f", float("nan")), ("d", 1e300))
)


def damaged(random: Random, name: str, content: bytes) -> bytes:
    """The content with one to three changes; its format follows from the ending of `name`."""
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        inner = FORMATS.get(name.rpartition(".")[2])
        try:
            content = inner(random, content) if inner and random.randrange(4) else _bytes(random, content)
        except Exception:  # an earlier change has made it unreadable
            content = _bytes(random, content)
    return content


def _bytes(random: Random, content: bytes) -> bytes:
    start = random.randrange(len(content) + 1)
    end = min(len(content), start + random.choice((1, 1, 1, 2, 4, 8, 50, 1000)))
    before, part, after = content[:start], content[start:end], content[end:]
    piece, lines = random.choice(PIECES + NUMBERS), content.split(b"\n")
    random.shuffle(lines)
    return random.choice((
        before + bytes(byte ^ 1 << random.randrange(8) for byte in part) + after, before + after,
        before + part * 2 + after, before + piece + part + after, before + piece + after,
        before + piece + content[start + len(piece) :], before, after, content + content, b"", b"\n".join(lines),
    ))  # fmt: skip


def _changed(random: Random, value: Any) -> Any:
    """Plain data with one item changed, anywhere."""
    if not isinstance(value, dict | list) or not value or not random.randrange(4):
        deep: Any = value
        for _ in range(random.choice((1, 70, 900))):
            deep = random.choice(([deep], {"a": deep}))
        return random.choice((*VALUES, deep, str(value)[:1000]))
    key = random.choice(list(value) if isinstance(value, dict) else range(len(value)))
    action, copy = random.randrange(6), value.copy()
    if action == 0:
        del copy[key]
    elif action == 1 and isinstance(copy, dict):
        copy[str(random.choice(VALUES))] = copy.pop(key)
    else:
        copy[key] = _changed(random, value[key])
    return copy


def _json(random: Random, content: bytes) -> bytes:
    return json.dumps(_changed(random, json.loads(content))).encode()


def _safetensors(random: Random, content: bytes) -> bytes:
    """Another header, or another number, type or shape of a tensor."""
    size = struct.unpack("<Q", content[:8])[0]
    header, body = json.loads(content[8 : 8 + size]), content[8 + size :]
    tensor = header[random.choice([key for key in header if key != "__metadata__"])]
    start, piece, action = tensor["data_offsets"][0], random.choice(NUMBERS), random.randrange(4)
    if action == 0:
        header = _changed(random, header)
    elif action == 1:
        body = body[:start] + piece + body[start + len(piece) :]
    elif action == 2:
        tensor["dtype"] = random.choice(("F64", "F32", "F16", "BF16", "F8_E4M3", "I64", "I8", "BOOL", "X"))
    else:
        tensor["shape"] = random.choice((tensor["shape"][::-1], [], [0], [1, *tensor["shape"]], [2**40, 2**40]))
    packed = json.dumps(header).encode()
    return struct.pack("<Q", len(packed)) + packed + body


def _packed(pack: Callable[[bytes], bytes], unpack: Callable[[bytes], bytes], random: Random, content: bytes) -> bytes:
    """Text that is damaged before it is compressed, or compressed as two streams of which the second is damaged."""
    text = unpack(content)
    first, second = pack(text[: len(text) // 2]), pack(text[len(text) // 2 :])
    return random.choice((pack(_bytes(random, text)), first + _bytes(random, second), first + second[:20]))


def _zip(random: Random, content: bytes) -> bytes:
    """An archive in which one member is damaged, and its name sometimes."""
    memory = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as before,
        zipfile.ZipFile(memory, "w", random.choice((0, 8, 12, 14))) as after,
    ):
        chosen = random.choice(before.namelist())
        for name in before.namelist():
            data = before.read(name)
            new = random.choice((name, name, name, "", "../x", "x" * 300))
            after.writestr(new if name == chosen else name, _bytes(random, data) if name == chosen else data)
    return memory.getvalue()


FORMATS: dict[str, Callable[[Random, bytes], bytes]] = {
    **dict.fromkeys(("zip", "npz", "ckpt"), _zip),
    "json": _json,
    "safetensors": _safetensors,
    "gz": partial(_packed, partial(gzip.compress, mtime=0), gzip.decompress),
    "xz": partial(_packed, partial(lzma.compress, preset=0), lzma.decompress),
}
