"""Counting which words stand near which, for GloVe (Pennington et al. 2014, section 3).

Every pair of words of one sentence, at most `window` apart, adds 1/distance to both of its cells. Words outside the
vocabulary are taken out before distances are measured, as the authors' program does.

The text is counted in blocks that depend on the files alone, and the blocks' counts are added in one order: any number
of processes gives the same result, bit for bit.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import read_lines
from elmo_bench.base.reading import reader
from elmo_bench.pretraining.processes import in_order

SHARD = 32 * 2**20  # bytes: a file up to this size is read by the process that counts it
BLOCK = 4 * 2**20  # characters that are handed out at once of a larger file, which is read in one place
PIECE = 2_500_000  # pairs brought into order at once: few enough for the processor's cache, about 100 MB at most

Block = Path | list[str]  # a file, or lines


def block_count(files: Iterable[Path]) -> int | None:
    """How many blocks the files make; None where that shows only when they are read."""
    sizes = [file.stat().st_size if file.exists() else 0 for file in files]
    return len(sizes) if max(sizes) <= SHARD else None


def vocabulary(
    files: Sequence[Path],
    *,
    size: int,
    min_count: int,
    processes: int = 1,
    after_block: Callable[[int], None] = lambda tokens: None,
) -> tuple[list[str], int]:
    """The `size` most frequent words that occur `min_count` times or more, ties by alphabet, and the number of tokens.

    A file has one tokenised sentence a line. `after_block` is called with the tokens of each block. Raises UserError
    where no word is frequent enough.
    """
    counts: Counter[str] = Counter()
    for some in in_order(_count_words, _blocks(files), processes):
        counts.update(some)
        after_block(some.total())
    frequent = sorted((-count, word) for word, count in counts.items() if count >= min_count)
    if not frequent:
        raise UserError(
            f"{files[0]}: no word occurs {min_count} times in the corpus; give more text or a lower min_count"
        )
    return [word for _, word in frequent[:size]], counts.total()


@reader
def cooccurrence(
    files: Iterable[Path],
    words: Sequence[str],
    *,
    window: int,
    processes: int = 1,
    after_block: Callable[[int], None] = lambda tokens: None,
) -> csr_matrix:
    """Symmetric float32 [V, V] of co-occurrence weights, within sentences; the corpus is read as a stream.

    Memory: 8 bytes a cell of the upper triangle, up to four times over while blocks are added, 16 bytes when the lower
    one is made. Each process holds the counts of its block, and the parent two blocks for each process.
    """
    index = {word: number for number, word in enumerate(words)}
    results = in_order(partial(_count_pairs, index=index, window=window), _blocks(files), processes)

    def counted() -> Iterator[csr_matrix]:
        for matrix, tokens in results:
            after_block(tokens)
            yield matrix

    upper = _sum(counted(), len(words))
    return (upper + upper.T).tocsr()


def _blocks(files: Iterable[Path]) -> Iterator[Block]:
    for file in files:
        if not file.exists() or file.stat().st_size <= SHARD:
            yield file
            continue
        lines: list[str] = []
        characters = 0
        for _, line in read_lines(file):
            lines.append(line)
            characters += len(line)
            if characters >= BLOCK:
                yield lines
                lines, characters = [], 0
        yield lines


def _lines(block: Block) -> Iterator[str]:
    return (line for _, line in read_lines(block)) if isinstance(block, Path) else iter(block)


def _count_words(block: Block) -> Counter[str]:
    counts: Counter[str] = Counter()
    for line in _lines(block):
        counts.update(line.split())
    return counts


def _count_pairs(block: Block, *, index: Mapping[str, int], window: int) -> tuple[csr_matrix, int]:
    """The upper triangle of a block's counts, and its tokens, unknown ones too."""
    tokens = 0

    def pieces() -> Iterator[csr_matrix]:
        nonlocal tokens
        ids: list[int] = []
        lengths: list[int] = []
        for line in _lines(block):
            words = line.split()
            tokens += len(words)
            before = len(ids)
            ids.extend(index[word] for word in words if word in index)
            lengths.append(len(ids) - before)
            if len(ids) * window >= PIECE:
                yield _count(ids, lengths, len(index), window)
                ids, lengths = [], []
        yield _count(ids, lengths, len(index), window)

    return _sum(pieces(), len(index)), tokens


def _count(words: Sequence[int], lengths: Sequence[int], size: int, window: int) -> csr_matrix:
    """Each unordered pair once, in the upper triangle: float32 [V, V] of sentences of these lengths."""
    ids = np.array(words, dtype=np.int32)
    sentences = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
    lower, higher, weights = [], [], []
    for distance in range(1, window + 1):
        together = np.flatnonzero(sentences[:-distance] == sentences[distance:])
        left, right = ids[together], ids[together + distance]
        lower.append(np.minimum(left, right))
        higher.append(np.maximum(left, right))
        weights.append(np.full(len(together), 1 / distance))
    cells = (np.concatenate(lower), np.concatenate(higher))
    return csr_matrix((np.concatenate(weights), cells), shape=(size, size)).astype(np.float32)


def _sum(matrices: Iterable[csr_matrix], size: int) -> csr_matrix:
    """Their sum. Sums of equally many are added first: adding each to one growing sum copies more, and rounds more."""
    sums: list[tuple[int, csr_matrix]] = []
    for matrix in matrices:
        count = 1
        while sums and sums[-1][0] == count:
            matrix = sums.pop()[1] + matrix  # noqa: PLW2901
            count *= 2
        sums.append((count, matrix))
    total = csr_matrix((size, size), dtype=np.float32)
    while sums:
        total = sums.pop()[1] + total
    return total
