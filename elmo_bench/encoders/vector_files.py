"""The two kinds of files of word vectors that this project writes: GloVe text, and compact safetensors.

A compact file holds these tensors:

    words                   uint8: the words in UTF-8, one a line, compressed with xz
    vectors                 [V, D] float32, float16 or int8
    vectors.scales          [V] float32, with int8 alone: row i is vectors[i] * scales[i]
    ngrams, ngrams.scales   [B, D] and [B], optional, as above: vectors of n-gram buckets (`ngrams.py`)

Its metadata is one JSON object under `about`: safetensors writes several keys in any order, and equal tables should be
equal files. With n-grams, the object has `shortest` and `longest`, their lengths in characters.
"""

import gzip
import json
import lzma
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save

from elmo_bench.base.files import atomic_write
from elmo_bench.base.json import parse_json
from elmo_bench.base.reading import reader, reading
from elmo_bench.encoders.ngrams import NGrams
from elmo_bench.encoders.rows import DTYPES, Rows

STORED = {"F32": np.float32, "F16": np.float16, "I8": np.int8}  # safetensors' names of DTYPES
WORD = 256  # bytes that the words of one file may have on average
LARGEST_SCALE = 1e30  # times 127 and summed over many n-grams it is still finite in float32
UNPACKING = 128 * 2**20  # bytes that xz may use; its strongest preset needs 65 MiB


class Compact(NamedTuple):
    """A compact file: `vectors` is float32 [V, D], row i for `words[i]`."""

    words: list[str]
    vectors: np.ndarray
    metadata: dict[str, Any]
    ngrams: NGrams | None


def write_compact(
    path: Path,
    words: Sequence[str],
    vectors: np.ndarray,
    metadata: Mapping[str, object] | None = None,
    *,
    dtype: str = "float32",
    ngrams: NGrams | None = None,
) -> None:
    """Write words, their vectors [V, D] in one of DTYPES, and n-gram vectors as they are stored. Atomic."""
    assert dtype in DTYPES
    about = dict(metadata or {})
    tensors = _tensors("vectors", Rows.of(vectors, dtype))
    tensors["words"] = np.frombuffer(lzma.compress("\n".join(words).encode()), dtype=np.uint8)
    if ngrams is not None:
        tensors |= _tensors("ngrams", ngrams.rows)
        about |= {"shortest": ngrams.shortest, "longest": ngrams.longest}
    with atomic_write(path) as handle:
        handle.write(save(tensors, metadata={"about": json.dumps(about, sort_keys=True)}))


@reader
def read_compact(path: Path, keep: Collection[str] | None = None) -> Compact:
    """The words of a file that are in `keep`, or all of them, in the order of the file.

    Raises UserError if the file is cut off, or is not a compact file with finite vectors.
    """
    with reading(path, "a file of word vectors"), safe_open(path, framework="numpy") as tensors:
        metadata = _metadata(path, tensors)
        stored = _rows(tensors, "vectors")
        words = _words(tensors, len(stored))
        ngrams = _ngrams(tensors, metadata, stored.dim) if "ngrams" in tensors.keys() else None  # noqa: SIM118
        rows = None if keep is None else [row for row, word in enumerate(words) if word in keep]
        vectors = _finite(stored.take(rows))
    return Compact(words if rows is None else [words[row] for row in rows], vectors, metadata, ngrams)


def write_text(path: Path, words: Sequence[str], vectors: np.ndarray) -> None:
    """Write GloVe text, a word and its numbers a line; compressed if the name ends in .gz."""
    with atomic_write(path) as handle:
        lines = gzip.GzipFile(fileobj=handle, mode="wb", filename="", mtime=0) if path.suffix == ".gz" else handle
        for word, vector in zip(words, vectors, strict=True):
            lines.write(f"{word} {' '.join(f'{number:.5g}' for number in vector)}\n".encode())
        if lines is not handle:
            lines.close()


def _tensors(name: str, rows: Rows) -> dict[str, np.ndarray]:
    return {name: rows.stored} | ({} if rows.scales is None else {f"{name}.scales": rows.scales})


def _metadata(path: Path, tensors: Any) -> dict[str, Any]:
    about = parse_json((tensors.metadata() or {}).get("about", "{}"), f"{path}: metadata")
    if not isinstance(about, dict):
        raise ValueError("the metadata is not a JSON object")
    return about


def _rows(tensors: Any, name: str) -> Rows:
    stored = _tensor(tensors, name, tuple(STORED), dimensions=2)
    if stored.dtype != np.int8:
        return Rows(stored)
    scales = _tensor(tensors, f"{name}.scales", ("F32",), dimensions=1)
    if len(scales) != len(stored):
        raise ValueError(f"{len(scales)} scales for {len(stored)} rows of {name}")
    if not (np.abs(scales) <= LARGEST_SCALE).all():  # false for NaN, too
        raise ValueError("a scale is not finite")
    return Rows(stored, scales)


def _tensor(tensors: Any, name: str, dtypes: Collection[str], *, dimensions: int) -> np.ndarray:
    """A tensor of a file from strangers; type and shape are checked before it is read."""
    about = tensors.get_slice(name)
    if about.get_dtype() not in dtypes or len(about.get_shape()) != dimensions:
        raise ValueError(
            f"{name} is {about.get_dtype()} of shape {about.get_shape()}, expected {' or '.join(dtypes)} in "
            f"{dimensions} dimension(s)"
        )
    return tensors.get_tensor(name)


def _words(tensors: Any, count: int) -> list[str]:
    """`count` words. A table without rows has no words."""
    unpack = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=UNPACKING)
    packed = _tensor(tensors, "words", ("U8",), dimensions=1).tobytes()
    text = unpack.decompress(packed, max_length=WORD * (count + 1))
    if not unpack.eof:
        raise ValueError("the words are cut off or too long")
    words = text.decode().split("\n") if count or text else []
    if len(words) != count:
        raise ValueError(f"{len(words)} words for {count} vectors")
    return words


def _ngrams(tensors: Any, metadata: dict[str, Any], dim: int) -> NGrams:
    rows = _rows(tensors, "ngrams")
    shortest, longest = (metadata.get(name) for name in ("shortest", "longest"))
    if type(shortest) is not int or type(longest) is not int or not 1 <= shortest <= longest:
        raise ValueError("shortest and longest are not lengths of n-grams")
    if not len(rows) or rows.dim != dim:
        raise ValueError(f"{len(rows)} n-gram vectors of {rows.dim} numbers for words of {dim}")
    _finite(rows.stored)
    return NGrams(rows, shortest, longest)


def _finite(vectors: np.ndarray) -> np.ndarray:
    if not np.isfinite(vectors).all():
        raise ValueError("a number is not finite")
    return vectors
