"""Static word vectors: found by name or path, trimmed to a vocabulary, and cached.

Also reading GloVe text.

The cache folder (see `downloads.py`) has these folders:
  vectors/     files under a known name, such as glove.840B.300d.zip: downloaded, or put
               there by hand
  trimmed/     the rows of one vocabulary, named by VERSION and by the checksums of the
               file and of the vocabulary
  checksums/   the SHA-256 of a large file, named by its path and state (see
               base/downloads.py)
Only `vectors/` matters: missing or damaged files of the other two are made again.
"""

import codecs
import contextlib
import hashlib
import itertools
import re
import zipfile
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path, PurePosixPath
from typing import IO

import numpy as np

from elmo_bench.base.arrays import read_arrays, write_arrays
from elmo_bench.base.downloads import Content, cache_folder, fetch, mirrored
from elmo_bench.base.errors import UserError
from elmo_bench.base.files import LONGEST_LINE, note_zeros, open_text, unpack
from elmo_bench.base.reading import AGAIN, reader, reading
from elmo_bench.elmo.pretrained import SHIPPED_FOLDER, TABLE, VECTORS
from elmo_bench.encoders.binary_vectors import is_fasttext, read_fasttext, read_word2vec
from elmo_bench.encoders.vector_files import NGrams, in_bytes, read_compact
from elmo_bench.text.columns import escaped, unescaped

# Names of files in SHIPPED_FOLDER.
SHIPPED = ("glove-6b", "glove-mini", "fasttext-mini")
ENDINGS = (".txt", ".txt.gz", ".txt.xz", ".zip", ".safetensors")
BINARY = (".bin", ".bin.gz", ".bin.xz")  # of word2vec
KNOWN = (*SHIPPED, *VECTORS)
# Raise it when a file is read otherwise: then old files in trimmed/ are not read.
VERSION = 1
NUL = 0  # found in a line nine times as fast as b"\0" is
# A word with numbers that do not belong to it.
NUMBERED = re.compile(rb"[^ ]*( [-+]?[.]?\d[\d.]*(e[-+]?\d+)?)+")


@dataclass(frozen=True, eq=False)
class StaticVectors:
    """A table of words: `vectors` is float32 [V, D], row i for `words[i]`.

    `checksum` is the source file's SHA-256.
    """

    words: list[str]
    vectors: np.ndarray
    checksum: str

    @property
    def dim(self) -> int:
        return self.vectors.shape[1]

    @cached_property
    def _index(self) -> dict[str, int]:
        index: dict[str, int] = {}
        for row, word in enumerate(self.words):
            index.setdefault(word, row)  # the first of two rows for one word wins
        return index

    def lookup(self, word: str) -> int | None:
        """The row of a word, or of its lower-cased form, or None.

        Source: document-qa, the paper's SQuAD code.
        """
        return self._index.get(word, self._index.get(word.lower()))

    def with_rows(self, more: "StaticVectors") -> "StaticVectors":
        """This table with the rows of `more` for words that it lacks below its own.

        Both are of one file. The table itself if it lacks none.
        """
        new = [row for row, word in enumerate(more.words) if word not in self._index]
        if not new:
            return self
        words = [*self.words, *(more.words[row] for row in new)]
        vectors = np.concatenate([self.vectors, more.vectors[new]])
        return StaticVectors(words, vectors, self.checksum)


def load_static(
    name_or_path: str, keep: Collection[str] | None = None, *, cached: bool = True
) -> StaticVectors:
    """Static vectors by known name or path.

    Formats: GloVe text (.txt, .gz, .xz, .zip) and fastText's .vec; word2vec's .bin or
    .bin.gz; fastText's .bin; the .safetensors of `vector_files.py`. With `keep`, the
    table has only the rows that looking those words up can reach; a trimmed copy in the
    cache makes the next load fast, and `cached=False` neither reads nor makes one. If
    the file has n-gram vectors, each word of `keep` that has no row, as written or in
    lower case, gets one from its n-grams. A published name is downloaded at first use.
    Raises UserError for an unknown name, for a malformed file, and for a file that
    changes while it is read.
    """
    if isinstance(keep, str):
        raise UserError(f"keep={keep!r:.60}: a text. Give a list of words.")
    path = path_of(name_or_path)
    content = Content(path)
    if keep is None or path.suffix == ".safetensors" or not cached:
        words, vectors = _read(path, keep)
        content.check()
    else:
        words, vectors = _trimmed(content, keep)
    return StaticVectors(words, vectors, content.sha256)


@np.errstate(all="ignore")  # what overflows is not finite
def _read(path: Path, keep: Collection[str] | None) -> tuple[list[str], np.ndarray]:
    """The rows that looking up the words of `keep` can reach."""
    wanted = None
    if keep is not None:
        wanted = {*keep, *(word.lower() for word in keep)}
    words, vectors, ngrams = _parse(path, wanted)
    if keep is not None and ngrams is not None:
        with_row = set(words)
        unseen = []
        for word in sorted(set(keep)):
            if word not in with_row and word.lower() not in with_row:
                unseen.append(word)
        words = [*words, *unseen]
        vectors = np.concatenate([vectors, ngrams.vectors(unseen)])
    if not np.isfinite(vectors).all():  # of a mapped matrix, only these rows were read
        raise UserError(f"{path}: a number is not finite. {AGAIN}")
    return words, vectors


def _parse(
    path: Path, wanted: Collection[str] | None
) -> tuple[list[str], np.ndarray, NGrams | None]:
    """The words of a file that are wanted, their vectors, and its n-gram vectors.

    In the format that the file has.
    """
    if path.suffix == ".safetensors":
        words, stored, ngrams = read_compact(path)
        if wanted is None:
            return words, stored.take(), ngrams
        rows = [row for row, word in enumerate(words) if word in wanted]
        return [words[row] for row in rows], stored.take(rows), ngrams
    if is_fasttext(path):
        return read_fasttext(path, wanted)
    read = read_word2vec if path.name.endswith(BINARY) else read_text
    return *read(path, wanted), None


def numbers_of(path: Path) -> int:
    """How many numbers a file of vectors has, n-grams included; reads all of it.

    Raises UserError.
    """
    _, vectors, ngrams = _parse(path, None)
    return vectors.size + (ngrams.rows.stored.size if ngrams else 0)


def path_of(name_or_path: str) -> Path:
    """The file of vectors with this name or path.

    A published one is downloaded first. Raises UserError.
    """
    if name_or_path in SHIPPED:
        return SHIPPED_FOLDER / f"{name_or_path}.safetensors"
    if name_or_path in VECTORS:
        return _published(name_or_path)
    path = Path(name_or_path).expanduser()
    if not path.is_file():
        names = ", ".join(KNOWN)
        raise UserError(
            f"{name_or_path}: no such file, and not one of the known vectors: {names}"
        )
    return path


def _published(name: str) -> Path:
    """The file of published vectors in the cache folder. Raises UserError."""
    folder = cache_folder() / "vectors"
    for ending in ENDINGS:
        path = folder / f"{name}{ending}"
        if path.is_file():
            return path
    path = folder / f"{name}.txt"
    by_hand = VECTORS[name].get("by_hand")
    if by_hand:
        raise UserError(
            f"{name}: not in {folder}; {by_hand} and put it there as {path.name}"
        )
    archive = TABLE["archives"][VECTORS[name]["archive"]]
    url = archive["url"]
    file = folder / PurePosixPath(url).name
    fetch(mirrored(url), file, sha256=archive["sha256"])
    if file.stem == name:  # it has this table alone
        return file
    unpack(file, path.name, path)
    return path


def _trimmed(content: Content, keep: Collection[str]) -> tuple[list[str], np.ndarray]:
    """`_read`, from the cache if it is there undamaged."""
    vocabulary = hashlib.sha256(_joined(sorted(set(keep)))).hexdigest()
    name = f"{VERSION}-{content.sha256[:16]}-{vocabulary[:16]}.safetensors"
    cached = cache_folder() / "trimmed" / name
    with contextlib.suppress(UserError):
        arrays, _ = read_arrays(cached)
        text = arrays["words"].tobytes().decode(errors="surrogatepass")
        vectors = arrays["vectors"]
        words = [*map(unescaped, text.split("\n"))] if len(vectors) else []
        return words, vectors
    words, vectors = _read(content.path, keep)
    content.check()
    with contextlib.suppress(UserError):  # a cache is never needed
        lines = np.frombuffer(_joined(words), np.uint8)
        write_arrays(cached, {"words": lines, "vectors": vectors}, content.path.name)
    return words, vectors


def _joined(words: Iterable[str]) -> bytes:
    """Words in UTF-8, one a line."""
    return "\n".join(map(escaped, words)).encode(errors="surrogatepass")


@reader
def read_text(
    path: Path, keep: Collection[str] | None = None
) -> tuple[list[str], np.ndarray]:
    """Words and vectors float32 [V, D], in the order of the file.

    With `keep`, only those words. Raises UserError for a damaged file, and, with file
    and line, for a line that is not a word and D finite numbers.
    """
    wanted = in_bytes(keep)
    words: list[str] = []
    rows: list[np.ndarray] = []
    zeros: list[int] = []  # lines with a NUL byte
    what = "GloVe text, a word and its numbers a line"
    with reading(path, what), _open(path) as file:
        lines = iter(partial(file.readline, LONGEST_LINE), b"")
        first = next(lines, b"").removeprefix(codecs.BOM_UTF8)
        head = [first, *itertools.islice(lines, 9)]
        header = _header(head[0])
        if header:
            head.pop(0)
        dim = _dim(head, first_number=2 if header else 1)
        number = 1 if header else 0
        for line in itertools.chain(head, lines):
            number += 1
            try:
                word = _word(line.rstrip(), dim)
                if NUL in line:
                    _check_numbers(line, word)
                    zeros.append(number)
                if wanted is None or word in wanted:
                    words.append(word.decode())
                    rows.append(_row(line.rstrip(), dim))
            except ValueError as error:
                raise UserError(
                    f"{path}:{number}: {error}. "
                    "Fix that line, or download the file again."
                ) from None
        if not line.endswith(b"\n"):
            raise EOFError("the last line has no end")
        if header and [*map(int, header)] != [number - 1, dim]:
            promised = " ".join(map(bytes.decode, header))[:40]
            raise ValueError(
                f"the first line says '{promised}', but {number - 1} words of {dim} "
                "numbers follow"
            )
        note_zeros(path, zeros)
    return words, np.array(rows, np.float32).reshape(len(rows), dim)


def _header(line: bytes) -> list[bytes]:
    """The numbers of words and dimensions that fastText's .vec begins with, or none."""
    fields = line.split()
    if len(fields) == 2 and all(map(bytes.isdigit, fields)):
        return fields
    return []


def _dim(lines: list[bytes], *, first_number: int) -> int:
    """The numbers of most lines, so that one bad line does not set the rule.

    first_number: of these lines in the file. Raises ValueError for lines without a word
    or without numbers.
    """
    counts = Counter(line.rstrip().count(b" ") for line in lines)
    [(dim, _)] = counts.most_common(1) or [(0, 0)]
    if lines and all(line.startswith(b" ") for line in lines):
        raise ValueError("its lines begin with a space, not with a word")
    if not dim:
        raise ValueError(f"no numbers in line {first_number}")
    return dim


def _word(line: bytes, dim: int) -> bytes:
    """The word of a line, which may have spaces, before its `dim` numbers.

    Raises ValueError if there are more or fewer.
    """
    spaces = line.count(b" ")
    if spaces == dim:  # nearly always, and faster
        return line.partition(b" ")[0]
    word = line.rsplit(b" ", dim)[0]
    if spaces < dim or NUMBERED.fullmatch(word):
        raise ValueError(f"{spaces} numbers, expected {dim}")
    return word


def _check_numbers(line: bytes, word: bytes) -> None:
    """Raise ValueError for a NUL byte after the word, where NumPy would drop it."""
    if NUL in line.removeprefix(word):
        raise ValueError("a NUL byte in a number")


def _row(line: bytes, dim: int) -> np.ndarray:
    """The numbers of a line, float32 [D].

    Raises ValueError for a number that is none or not finite.
    """
    row = np.array(line.rsplit(b" ", dim)[1:], dtype=np.float32)
    if not np.isfinite(row).all():
        raise ValueError("a number is not finite")
    return row


def _open(path: Path) -> IO[bytes]:
    if path.suffix != ".zip":
        return open_text(path)
    with zipfile.ZipFile(path) as archive:  # an open member keeps the file open
        members = [name for name in archive.namelist() if not name.endswith("/")]
        if len(members) != 1:
            raise UserError(
                f"{path}: has {len(members)} files. Unpack it and give one of them."
            )
        return archive.open(members[0])
