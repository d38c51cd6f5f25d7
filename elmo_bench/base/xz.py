"""Reading xz files."""

import io
import lzma
from collections.abc import Iterator
from functools import partial
from pathlib import Path

_MEMORY = 2**30  # bytes that xz may use; its strongest preset needs 65 MiB
_BLOCK = 2048  # bytes: at most 15 MiB of text, usually 7 KiB


class Xz(io.RawIOBase):
    """An xz file of any number of streams; zero bytes between them are skipped.

    EOFError if the last stream is cut off; an error if anything else follows, where the
    reader of lzma ends without a word.
    """

    def __init__(self, path: Path):
        self.blocks = _unpacked(path)
        self.ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, into) -> int:
        while not self.ready:
            block = next(self.blocks, None)
            if block is None:
                return 0
            self.ready = memoryview(block)
        size = min(len(into), len(self.ready))
        into[:size] = self.ready[:size]
        self.ready = self.ready[size:]
        return size


def _unpacked(path: Path) -> Iterator[bytes]:
    """The content of an xz file, in blocks."""
    stream = lzma.LZMADecompressor(memlimit=_MEMORY)
    with path.open("rb") as file:
        for block in iter(partial(file.read, _BLOCK), b""):
            packed = block
            while packed:
                if stream.eof:
                    packed = packed.lstrip(b"\0")
                    if not packed:
                        break
                    stream = lzma.LZMADecompressor(memlimit=_MEMORY)
                yield stream.decompress(packed)
                packed = stream.unused_data if stream.eof else b""
    if not stream.eof:
        raise EOFError("the last stream has no end")
