"""Counting which words stand near which, for GloVe (Pennington et al. 2014, section 3).

Every pair of words of one sentence, at most `window` apart, adds 1/distance to both of its cells. Words outside the
vocabulary are taken out before distances are measured, as the authors' program does.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix

from elmo_bench.errors import UserError
from elmo_bench.files import read_lines

CHUNK = 2_000_000  # tokens counted at once; 10 distances make 20 M pairs, about 1 GB while they are sorted


def vocabulary(files: Sequence[Path], *, size: int, min_count: int) -> tuple[list[str], int]:
    """The `size` most frequent words that occur `min_count` times or more, ties by alphabet, and the number of tokens.

    A file has one tokenised sentence a line. Raises UserError where no word is frequent enough.
    """
    counts: Counter[str] = Counter()
    for file in files:
        for _, line in read_lines(file):
            counts.update(line.split())
    frequent = sorted((-count, word) for word, count in counts.items() if count >= min_count)
    if not frequent:
        raise UserError(
            f"{files[0]}: no word occurs {min_count} times in the corpus; give more text or a lower min_count"
        )
    return [word for _, word in frequent[:size]], counts.total()


def cooccurrence(files: Iterable[Path], words: Sequence[str], *, window: int, chunk: int = CHUNK) -> csr_matrix:
    """Symmetric float32 [V, V] of co-occurrence weights, within sentences; the corpus is read as a stream."""
    upper = csr_matrix((len(words), len(words)), dtype=np.float32)
    for ids, sentences in _chunks(files, words, chunk):
        upper = upper + _count(ids, sentences, len(words), window)
    return (upper + upper.T).tocsr()


def _chunks(files: Iterable[Path], words: Sequence[str], size: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Whole sentences, together at least `size` known words: word ids int64 [N] and the sentence of each int64 [N]."""
    index = {word: number for number, word in enumerate(words)}
    ids: list[int] = []
    lengths: list[int] = []
    for file in files:
        for _, line in read_lines(file):
            before = len(ids)
            ids.extend(index[word] for word in line.split() if word in index)
            lengths.append(len(ids) - before)
            if len(ids) >= size:
                yield np.array(ids), np.repeat(np.arange(len(lengths)), lengths)
                ids, lengths = [], []
    yield np.array(ids, dtype=np.int64), np.repeat(np.arange(len(lengths)), lengths)


def _count(ids: np.ndarray, sentences: np.ndarray, size: int, window: int) -> csr_matrix:
    """Each unordered pair once, in the upper triangle.

    A pair is one integer, (lower id, higher id, distance), so that one sort of plain integers groups equal pairs.
    """
    keys = []
    for distance in range(1, window + 1):
        left, right = ids[:-distance], ids[distance:]
        together = sentences[:-distance] == sentences[distance:]
        left, right = left[together], right[together]
        keys.append((np.minimum(left, right) * size + np.maximum(left, right)) * (window + 1) + distance)
    pairs, distances = np.divmod(np.sort(np.concatenate(keys)), window + 1)
    first = np.flatnonzero(np.diff(pairs, prepend=-1))
    sums = np.add.reduceat(1.0 / distances, first) if len(first) else np.empty(0)
    rows = np.searchsorted(pairs[first], np.arange(size + 1) * size)
    return csr_matrix((sums.astype(np.float32), pairs[first] % size, rows), shape=(size, size))
