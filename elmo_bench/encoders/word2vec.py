"""Reading the binary files of word2vec (`-binary 1`), such as GoogleNews-vectors-negative300.bin, plain or `.gz`.

A header line "words dimension"; then for each word its bytes, a space, the numbers as float32, and a new line, which
some programs leave out. Source: `TrainModel` in word2vec.c (Mikolov et al. 2013).
"""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import IO

import numpy as np

from elmo_bench.base.files import open_text
from elmo_bench.base.reading import reader, reading

LONGEST_WORD = 2**14  # bytes; the tool itself cuts words at 100
LARGEST_DIM = 2**16
BUFFER = 2**20


@reader
def read_word2vec(path: Path, keep: Collection[str] | None = None) -> tuple[list[str], np.ndarray]:
    """Words and vectors float32 [V, D], in the order of the file; with `keep`, only those words.

    Memory holds nothing else. Bytes of a word that are not UTF-8 become U+FFFD. Raises UserError for a file that is
    damaged or of another format.
    """
    wanted = None if keep is None else {word.encode(errors="surrogatepass") for word in keep}
    words: list[str] = []
    rows: list[np.ndarray] = []
    with reading(path, "a binary file of word2vec"), open_text(path) as file:
        count, dim = _header(file)
        for written, numbers in records(file, count, b" ", 4 * dim, buffer=BUFFER):
            word = written.lstrip(b"\n")
            if wanted is None or word in wanted:
                words.append(word.decode(errors="replace"))
                rows.append(np.frombuffer(numbers, "<f4"))
        vectors = np.array(rows, dtype=np.float32).reshape(len(rows), dim)
        if not np.isfinite(vectors).all():
            raise ValueError("a number is not finite")
    return words, vectors


def _header(file: IO[bytes]) -> tuple[int, int]:
    fields = file.readline(100).split()
    if len(fields) != 2 or not all(field.isdigit() for field in fields):
        raise ValueError("no line with the numbers of words and dimensions")
    count, dim = map(int, fields)
    if not 0 < dim <= LARGEST_DIM:
        raise ValueError(f"{dim} dimensions")
    return count, dim


def records(file: IO[bytes], count: int, end: bytes, size: int, *, buffer: int) -> Iterator[tuple[bytes, bytes]]:
    """`count` records: a word, without the byte `end` after it, and the `size` bytes that follow.

    `buffer` bytes are read at a time. Raises EOFError if the file is cut off, and ValueError for a word that is too
    long to be one.
    """
    held, start = b"", 0
    for number in range(count):
        while (stop := held.find(end, start)) < 0 or len(held) < stop + 1 + size:
            if not (more := file.read(buffer)):
                raise EOFError(f"cut off at word {number + 1:,} of {count:,}")
            if stop < 0 and len(held) - start > LONGEST_WORD:
                break
            held, start = held[start:] + more, 0
        if not 0 <= stop - start <= LONGEST_WORD:
            raise ValueError(f"word {number + 1:,} has more than {LONGEST_WORD:,} bytes")
        yield held[start:stop], held[stop + 1 : stop + 1 + size]
        start = stop + 1 + size
