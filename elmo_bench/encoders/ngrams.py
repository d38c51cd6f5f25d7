"""Vectors of unseen words from character n-grams, as fastText computes them (Bojanowski et al. 2017).

A word between `<` and `>` is cut into all n-grams of `shortest` to `longest` characters. Each n-gram is hashed to one
of B buckets, each bucket has a vector, and the vector of the word is the mean over its n-grams.
Source: `Dictionary::computeSubwords`, `Dictionary::hash` and `FastText::getWordVector` of facebookresearch/fastText.
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from elmo_bench.encoders.rows import Rows
from elmo_bench.text.limits import LONGEST_WORD


@dataclass(frozen=True, eq=False)
class NGrams:
    """The n-gram vectors of a table: `rows` [B, D], and the lengths of the n-grams in characters."""

    rows: Rows
    shortest: int
    longest: int

    def vectors(self, words: Collection[str]) -> np.ndarray:
        """float32 [N, D]; zeros for a word that is too short to have n-grams."""
        vectors = np.zeros((len(words), self.rows.dim), np.float32)
        for row, word in enumerate(words):
            if buckets := self.buckets(word):
                vectors[row] = self.rows.take(np.array(buckets)).mean(0)
        return vectors

    def buckets(self, word: str) -> list[int]:
        """The row of each n-gram of a word."""
        return [hash_of(ngram) % len(self.rows) for ngram in ngrams_of(word, self.shortest, self.longest)]


def ngrams_of(word: str, shortest: int, longest: int) -> list[bytes]:
    """The n-grams of `<word>` in UTF-8; of a longer word, of its first LONGEST_WORD characters. A boundary is none."""
    text = f"<{word[:LONGEST_WORD]}>"
    spans = (
        (start, start + size)
        for start in range(len(text))
        for size in range(shortest, min(longest, len(text) - start) + 1)
    )
    return [
        text[start:end].encode(errors="surrogatepass")
        for start, end in spans
        if end - start > 1 or 0 < start < len(text) - 1
    ]


def hash_of(ngram: bytes) -> int:
    """32-bit FNV-1a as fastText computes it: a byte from 128 on is sign-extended to 32 bits, unlike in standard FNV."""
    value = 2166136261
    for byte in ngram:
        value = (value ^ (byte if byte < 128 else byte | 0xFFFFFF00)) * 16777619 & 0xFFFFFFFF
    return value
