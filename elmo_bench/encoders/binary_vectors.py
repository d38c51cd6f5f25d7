"""Reading binary files of word vectors.

They are word2vec's (`-binary 1`), plain or `.gz`, and fastText's models (`.bin`).

word2vec, such as GoogleNews-vectors-negative300.bin: a header line "words dimension";
then for each word its bytes, a space, the numbers as float32, and a new line, which
some programs leave out. Source: `TrainModel` in word2vec.c (Mikolov et al. 2013).

fastText: words, their vectors, and the n-gram vectors of unseen words. The vector of a
word is the mean of the word's row and of its n-grams' rows. Source:
`FastText::loadModel`, `Args::load`, `Dictionary::load`, `DenseMatrix::load` and
`FastText::getWordVector` of facebookresearch/fastText.
"""

import struct
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import open_text
from elmo_bench.base.reading import reader, reading
from elmo_bench.encoders.vector_files import NGrams, Rows, in_bytes

LONGEST_WORD = 2**14  # bytes; word2vec itself cuts words at 100
LARGEST_DIM = 2**16
BUFFER = 2**20
MAGIC = struct.pack("<i", 793712314)
VERSION = 12  # since 2017
END = "</s>"  # has no n-grams
ENTRY = 9  # bytes behind a word: its count and its type


@reader
def read_word2vec(
    path: Path, keep: Collection[str] | None = None
) -> tuple[list[str], np.ndarray]:
    """Words and vectors float32 [V, D], in the order of the file.

    With `keep`, only those words; memory holds nothing else. Bytes of a word that are
    not UTF-8 become U+FFFD. Numbers may be infinite or NaN. Raises UserError for a file
    that is damaged or of another format.
    """
    wanted = in_bytes(keep)
    words: list[str] = []
    rows: list[np.ndarray] = []
    with reading(path, "a binary file of word2vec"), open_text(path) as file:
        fields = file.readline(100).split()
        if len(fields) != 2 or not all(field.isdigit() for field in fields):
            raise ValueError("no line with the numbers of words and dimensions")
        count, dim = map(int, fields)
        if not 0 < dim <= LARGEST_DIM:
            raise ValueError(f"{dim} dimensions")
        for written, numbers in records(file, count, b" ", 4 * dim):
            word = written.lstrip(b"\n")
            if wanted is None or word in wanted:
                words.append(word.decode(errors="replace"))
                rows.append(np.frombuffer(numbers, "<f4"))
    return words, np.array(rows, dtype=np.float32).reshape(len(rows), dim)


def records(
    file: IO[bytes], count: int, end: bytes, size: int
) -> Iterator[tuple[bytes, bytes]]:
    """Yield `count` records: a word and the `size` bytes that follow.

    The byte `end` after the word is left out. Raises EOFError if the file is cut off,
    and ValueError for a word that is too long to be one.
    """
    buffer = b""
    start = 0
    for number in range(count):
        stop = buffer.find(end, start)
        while stop < 0 or len(buffer) < stop + 1 + size:
            more = file.read(BUFFER)
            if not more:
                raise EOFError(f"cut off at word {number + 1:,} of {count:,}")
            if stop < 0 and len(buffer) - start > LONGEST_WORD:
                break
            buffer = buffer[start:] + more
            start = 0
            stop = buffer.find(end)
        if not 0 <= stop - start <= LONGEST_WORD:
            raise ValueError(
                f"word {number + 1:,} has more than {LONGEST_WORD:,} bytes"
            )
        following = stop + 1 + size
        yield buffer[start:stop], buffer[stop + 1 : following]
        start = following


def is_fasttext(path: Path) -> bool:
    """Whether a file begins as fastText's models do."""
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


@reader
def read_fasttext(
    path: Path, keep: Collection[str] | None = None
) -> tuple[list[str], np.ndarray, NGrams | None]:
    """Words, their vectors float32 [V, D], and the n-gram vectors, None without any.

    In the order of the file; with `keep`, only those words. The matrix is mapped, not
    read: memory holds the rows that are used. Numbers may be infinite or NaN. Raises
    UserError for a file that is damaged, quantised, or of another version.
    """
    with reading(path, "a fastText model"), path.open("rb") as file:
        _, version, dim, *_, bucket, shortest, longest, _, _ = _unpacked(file, "<14id")
        if version != VERSION:
            raise UserError(
                f"{path}: version {version} of fastText's format. "
                f"Give version {VERSION}, or its .vec file."
            )
        rows, count = _words(file, None if keep is None else set(keep))
        quantised, height, width = _unpacked(file, "<?qq")
        if quantised:
            raise UserError(
                f"{path}: quantised, which is not supported. "
                "Give the .bin file that it was made from."
            )
        is_wide = 0 < dim == width <= LARGEST_DIM
        if not is_wide or bucket < 0 or height != count + bucket:
            raise ValueError(
                f"{height} rows of {width}, expected {count + bucket} of {dim}"
            )
        if path.stat().st_size < file.tell() + 4 * height * width:
            raise EOFError("the vectors are cut off")
        matrix = np.zeros((0, dim), "<f4")
        if height:
            matrix = np.memmap(path, "<f4", "r", file.tell(), (height, width))
        ngrams = None
        if bucket and longest > 0:
            ngrams = NGrams(Rows(matrix[count:]), max(1, shortest), longest)
        vectors = np.zeros((len(rows), dim), np.float32)
        for number, (word, row) in enumerate(rows.items()):
            parts = [] if ngrams is None or word == END else ngrams.buckets(word)
            of_parts = matrix[[count + part for part in parts]]
            vectors[number] = np.concatenate([matrix[row][None], of_parts]).mean(0)
    return list(rows), vectors, ngrams


def _words(file: IO[bytes], wanted: set[str] | None) -> tuple[dict[str, int], int]:
    """({word: row}, number of words).

    Labels of a classifier come after the words and are left out.
    """
    size, words, labels, _, pruned = _unpacked(file, "<3i2q")
    if min(words, labels) < 0 or size != words + labels:
        raise ValueError(f"{size} entries for {words} words and {labels} labels")
    if pruned >= 0:
        raise ValueError("its n-grams are pruned, as in quantised models")
    rows: dict[str, int] = {}
    place = file.tell()
    for number, (written, _) in enumerate(records(file, size, b"\0", ENTRY)):
        place += len(written) + 1 + ENTRY
        word = written.decode(errors="replace")
        if number < words and (wanted is None or word in wanted):
            rows.setdefault(word, number)
    file.seek(place)
    return rows, words


def _unpacked(file: IO[bytes], form: str) -> tuple[Any, ...]:
    return struct.unpack(form, file.read(struct.calcsize(form)))
