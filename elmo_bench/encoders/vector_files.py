"""Word vectors, vectors of n-grams, and the safetensors files that ship of them.

A compact file holds these tensors:

    words                   uint8: words in UTF-8, one a line, packed with xz
    vectors                 [V, D] float32, float16 or int8
    vectors.scales          [V] float32, with int8 alone: row i is vectors[i] *
                            scales[i]
    ngrams, ngrams.scales   [B, D] and [B], optional, as above: vectors of n-gram
                            buckets (`NGrams`)

Its metadata is one JSON object under `about`: safetensors writes several keys in any
order, and equal tables should be equal files. With n-grams, the object has `shortest`
and `longest`, their lengths in characters.
"""

import lzma
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import safe_open

from elmo_bench.base.json import parse_json
from elmo_bench.base.reading import reader, reading
from elmo_bench.text.vocabulary import LONGEST_WORD

WORD = 256  # bytes that the words of one file may have on average
UNPACKING = 128 * 2**20  # bytes that xz may use; its strongest preset needs 65 MiB


@dataclass(frozen=True, eq=False)
class Rows:
    """`stored` [N, D] in float32, float16 or int8.

    With int8, row i is `stored[i] * scales[i]`.
    """

    stored: np.ndarray
    scales: np.ndarray | None = None  # float32 [N], with int8 alone

    def __len__(self) -> int:
        return len(self.stored)

    @property
    def dim(self) -> int:
        return self.stored.shape[1]

    def take(self, rows: Sequence[int] | np.ndarray | None = None) -> np.ndarray:
        """float32 [n, D]: these rows, or all."""
        chosen = slice(None) if rows is None else np.asarray(rows, dtype=np.int64)
        vectors = self.stored[chosen].astype(np.float32)
        if self.scales is not None:
            vectors *= self.scales[chosen][:, None]
        return vectors


@dataclass(frozen=True, eq=False)
class NGrams:
    """Vectors of unseen words from character n-grams, as fastText computes them.

    (Bojanowski et al. 2017.) A word between `<` and `>` is cut into all n-grams of
    `shortest` to `longest` characters. Each n-gram is hashed to one of the buckets,
    whose vectors are `rows` [B, D]; the vector of the word is the mean over its
    n-grams. Source: `Dictionary::computeSubwords`, `Dictionary::hash` and
    `FastText::getWordVector` of facebookresearch/fastText.
    """

    rows: Rows
    shortest: int
    longest: int

    def vectors(self, words: Collection[str]) -> np.ndarray:
        """float32 [N, D]; zeros for a word that is too short to have n-grams."""
        vectors = np.zeros((len(words), self.rows.dim), np.float32)
        for row, word in enumerate(words):
            buckets = self.buckets(word)
            if buckets:
                vectors[row] = self.rows.take(np.array(buckets)).mean(0)
        return vectors

    def buckets(self, word: str) -> list[int]:
        """The row of each n-gram of `<word>`.

        The word's first LONGEST_WORD characters are read. No boundary is an n-gram.
        """
        text = f"<{word[:LONGEST_WORD]}>"
        rows = []
        for start in range(len(text)):
            is_boundary = start in (0, len(text) - 1)
            longest = min(self.longest, len(text) - start)
            for size in range(self.shortest, longest + 1):
                if size == 1 and is_boundary:
                    continue
                ngram = text[start : start + size].encode(errors="surrogatepass")
                rows.append(hash_of(ngram) % len(self.rows))
        return rows


def in_bytes(words: Collection[str] | None) -> set[bytes] | None:
    """Words in UTF-8, as in files of vectors; None stays None."""
    if words is None:
        return None
    return {word.encode(errors="surrogatepass") for word in words}


def hash_of(ngram: bytes) -> int:
    """32-bit FNV-1a as fastText computes it.

    A byte from 128 on is sign-extended to 32 bits, unlike in standard FNV.
    """
    value = 2166136261
    for byte in ngram:
        extended = byte if byte < 128 else byte | 0xFFFFFF00
        value = (value ^ extended) * 16777619 & 0xFFFFFFFF
    return value


@reader
def read_compact(path: Path) -> tuple[list[str], Rows, NGrams | None]:
    """Words, their vectors [V, D], and the n-gram vectors, None without any.

    In the order of the file. Numbers may be infinite or NaN. Raises UserError if the
    file is cut off, or is not a compact file.
    """
    with (
        reading(path, "a file of word vectors"),
        safe_open(path, framework="numpy") as tensors,
    ):
        stored = _rows(tensors, "vectors")
        words = _words(tensors, len(stored))
        ngrams = None
        if "ngrams" in tensors.keys():  # noqa: SIM118  not a mapping
            ngrams = _ngrams(tensors, stored.dim)
    return words, stored, ngrams


def _rows(tensors: Any, name: str) -> Rows:
    stored = _tensor(tensors, name, 2, "float32", "float16", "int8")
    if not stored.shape[1]:
        raise ValueError(f"{name} has no numbers for its {len(stored):,} rows")
    if stored.dtype != np.int8:
        return Rows(stored)
    scales = _tensor(tensors, f"{name}.scales", 1, "float32")
    if len(scales) != len(stored):
        raise ValueError(f"{len(scales)} scales for {len(stored)} rows of {name}")
    return Rows(stored, scales)


def _tensor(tensors: Any, name: str, dimensions: int, *dtypes: str) -> np.ndarray:
    tensor = tensors.get_tensor(name)
    if tensor.dtype.name not in dtypes or tensor.ndim != dimensions:
        wanted = " or ".join(dtypes)
        raise ValueError(
            f"{name} is {tensor.dtype} {[*tensor.shape]}, expected {wanted}, "
            f"{dimensions}-d"
        )
    return tensor


def _words(tensors: Any, count: int) -> list[str]:
    """`count` words. A table without rows has no words."""
    unpack = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=UNPACKING)
    packed = _tensor(tensors, "words", 1, "uint8").tobytes()
    text = unpack.decompress(packed, max_length=WORD * (count + 1))
    if not unpack.eof:
        raise ValueError("the words are cut off or too long")
    words = text.decode().split("\n") if count or text else []
    if len(words) != count:
        raise ValueError(f"{len(words)} words for {count} vectors")
    return words


def _ngrams(tensors: Any, dim: int) -> NGrams:
    rows = _rows(tensors, "ngrams")
    about = parse_json(tensors.metadata()["about"], "about")
    shortest = about["shortest"]
    longest = about["longest"]
    are_whole = type(shortest) is int and type(longest) is int
    if not are_whole or not 1 <= shortest <= longest:
        raise ValueError("shortest and longest are not lengths of n-grams")
    if not len(rows) or rows.dim != dim:
        raise ValueError(
            f"{len(rows)} n-gram vectors of {rows.dim} numbers for words of {dim}"
        )
    return NGrams(rows, shortest, longest)
