"""Static word vectors: found by name or path, trimmed to a vocabulary, cached; reading GloVe text.

The cache folder (see `downloads.py`) has these folders:
  vectors/     files under a known name, such as glove.840B.300d.zip: downloaded, or put there by hand
  trimmed/     the rows of one vocabulary, named by the checksums of the file and of the vocabulary
  checksums/   the SHA-256 of a large file, named by its path and state (see base/downloads.py)
Only `vectors/` matters: missing or damaged files of the other two are made again.
"""

import contextlib
import hashlib
import itertools
import zipfile
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import IO

import numpy as np

from elmo_bench.base.downloads import Content, cache_folder, record, verify
from elmo_bench.base.errors import UserError
from elmo_bench.base.files import DAMAGE, LONGEST_LINE, open_text, unpack
from elmo_bench.base.reading import AGAIN, reader, reading
from elmo_bench.elmo.pretrained import VECTORS, vector_archive
from elmo_bench.encoders.binary_vectors import is_fasttext, read_fasttext, read_word2vec
from elmo_bench.encoders.vector_files import NGrams, read_compact, write_compact

WEIGHTS = Path(__file__).parents[1] / "weights"
SHIPPED = ("glove-6b", "glove-mini", "fasttext-mini")  # the names of the files in WEIGHTS
ENDINGS = (".txt", ".txt.gz", ".txt.xz", ".txt.zst", ".zip", ".safetensors")
BINARY = (".bin", ".bin.gz", ".bin.xz", ".bin.zst")  # of word2vec
KNOWN = (*SHIPPED, *VECTORS)


@dataclass(frozen=True, eq=False)
class StaticVectors:
    """A table of words: `vectors` is float32 [V, D], row i for `words[i]`; `checksum` is the source file's SHA-256."""

    words: list[str]
    vectors: np.ndarray
    checksum: str

    @property
    def dim(self) -> int:
        return self.vectors.shape[1]

    @cached_property
    def _index(self) -> dict[str, int]:
        # In reverse order, so that the first of two rows for one word wins.
        return {self.words[row]: row for row in range(len(self.words) - 1, -1, -1)}

    def lookup(self, word: str) -> int | None:
        """The row of a word, or of its lower-cased form, or None (source: document-qa, the paper's SQuAD code)."""
        return self._index.get(word, self._index.get(word.lower()))


def load_static(name_or_path: str, keep: Collection[str] | None = None) -> StaticVectors:
    """Static vectors by known name or path.

    Formats: GloVe text (.txt, .gz, .xz, .zst, .zip) and fastText's .vec; word2vec's .bin or .bin.gz; fastText's .bin;
    our own .safetensors. With `keep`, the table has only the rows that looking those words up can reach; a trimmed copy
    in the cache makes the next load fast. If the file has n-gram vectors, each word of `keep` that has no row, as
    written or in lower case, gets one from its n-grams. A published name is downloaded at first use. Raises UserError
    for an unknown name, for a malformed file, and for a file that has changed since its first use or while it was read.
    """
    path = path_of(name_or_path)
    content = Content(path)
    verify(path, content.sha256)
    if keep is None or path.suffix == ".safetensors":
        words, vectors = _read(path, keep)
        content.check()
    else:
        words, vectors = _trimmed(content, keep)
    record(path, content.sha256)
    return StaticVectors(words, vectors, content.sha256)


def _read(path: Path, keep: Collection[str] | None) -> tuple[list[str], np.ndarray]:
    """The rows that looking up the words of `keep` can reach, in the format that the file has."""
    wanted = None if keep is None else {form for word in keep for form in (word, word.lower())}
    words, vectors, ngrams = _parse(path, wanted)
    if keep is not None and ngrams is not None:
        known = set(words)
        unseen = sorted(word for word in set(keep) if word not in known and word.lower() not in known)
        words, vectors = [*words, *unseen], np.concatenate([vectors, ngrams.vectors(unseen)])
    if not np.isfinite(vectors).all():  # of a mapped matrix, only these rows were read
        raise UserError(f"{path}: a number is not finite. {AGAIN}")
    return words, vectors


def _parse(path: Path, wanted: Collection[str] | None) -> tuple[list[str], np.ndarray, NGrams | None]:
    """The words of a file that are wanted, their vectors, and its n-gram vectors."""
    if path.suffix == ".safetensors":
        words, vectors, _, ngrams = read_compact(path, wanted)
        return words, vectors, ngrams
    if is_fasttext(path):
        return read_fasttext(path, wanted)
    return *(read_word2vec if path.name.endswith(BINARY) else read_text)(path, wanted), None


def checksum_of(name_or_path: str) -> str:
    """The checksum that `load_static` gives the table. Raises UserError."""
    return Content(path_of(name_or_path)).sha256


def numbers_of(path: Path) -> int:
    """How many numbers a file of vectors has, those of n-grams included; reads all of it. Raises UserError."""
    _, vectors, ngrams = _parse(path, None)
    return vectors.size + (ngrams.rows.stored.size if ngrams else 0)


def path_of(name_or_path: str) -> Path:
    """The file of vectors with this name or path; a published one is downloaded first. Raises UserError."""
    if name_or_path in SHIPPED:
        return WEIGHTS / f"{name_or_path}.safetensors"
    if name_or_path in VECTORS:
        folder = cache_folder() / "vectors"
        for ending in ENDINGS:
            if (path := folder / f"{name_or_path}{ending}").is_file():
                return path
        if hint := VECTORS[name_or_path].get("by_hand"):
            raise UserError(f"{name_or_path}: not in {folder}; {hint} and put it there as {name_or_path}.txt")
        archive = vector_archive(name_or_path)
        if archive.stem == name_or_path:  # it has this table alone
            return archive
        unpack(archive, f"{name_or_path}.txt", path := folder / f"{name_or_path}.txt")
        return path
    path = Path(name_or_path).expanduser()
    if not path.is_file():
        raise UserError(f"{name_or_path}: no such file, and not one of the known vectors: {', '.join(KNOWN)}")
    return path


def _trimmed(content: Content, keep: Collection[str]) -> tuple[list[str], np.ndarray]:
    """`_read`, from the cache if it is there undamaged."""
    vocabulary = hashlib.sha256("\n".join(sorted(set(keep))).encode(errors="surrogatepass")).hexdigest()
    cached = cache_folder() / "trimmed" / f"{content.sha256[:16]}-{vocabulary[:16]}.safetensors"
    with contextlib.suppress(UserError):
        words, vectors, metadata, _ = read_compact(cached)
        # Older versions wrote `digest`, and could keep rows under the checksum of another file: those are made again.
        if metadata.get("rows") == _digest(words, vectors):
            return words, vectors
    words, vectors = _read(content.path, keep)
    content.check()
    with contextlib.suppress(OSError, UserError):  # a cache is never needed
        write_compact(cached, words, vectors, {"rows": _digest(words, vectors), "source": content.path.name})
    return words, vectors


def _digest(words: list[str], vectors: np.ndarray) -> str:
    """SHA-256 of words and vectors: finds damage, of which safetensors notices only a wrong length."""
    digest = hashlib.sha256("\n".join(words).encode())
    digest.update(np.ascontiguousarray(vectors).data)
    return digest.hexdigest()


EXPECTED = "Give GloVe text: a word and its numbers per line."


@reader
def read_text(path: Path, keep: Collection[str] | None = None) -> tuple[list[str], np.ndarray]:
    """Words and vectors float32 [V, D], in the order of the file; with `keep`, only those words.

    Raises UserError for a damaged file, and, with file and line, for a line that is not a word and D finite numbers.
    """
    wanted = None if keep is None else {word.encode(errors="surrogatepass") for word in keep}
    words: list[str] = []
    rows: list[np.ndarray] = []
    lines = _lines(path)
    head = list(itertools.islice(lines, 10))
    promised = head[0][1].split(b" ") if head else []  # fastText's .vec begins with the numbers of words and dimensions
    has_header = len(promised) == 2 and all(field.isdigit() for field in promised)
    if not head[has_header:]:
        raise UserError(f"{path}: no vectors. {EXPECTED}")
    # The most frequent number of fields, so that one bad line at the start is not taken for the rule.
    dim = Counter(line.count(b" ") for _, line in head[has_header:]).most_common(1)[0][0]
    if not dim:
        raise UserError(f"{path}:{head[has_header][0]}: no numbers after the word. {EXPECTED}")
    for number, line in itertools.chain(head[has_header:], lines):
        word, numbers = _split(path, number, line, dim)
        if wanted is None or word in wanted:
            try:
                words.append(word.decode())
            except UnicodeDecodeError:
                raise UserError(f"{path}:{number}: the word is not UTF-8. Convert the file to UTF-8.") from None
            rows.append(_row(path, number, numbers))
    if has_header and b" ".join(promised) != b"%d %d" % (number - 1, dim):
        raise UserError(
            f"{path}: the first line promises {promised[0].decode():.20} vectors of {promised[1].decode():.20}, "
            f"but {number - 1} of {dim} numbers follow. Download it again, or correct that line."
        )
    return words, np.array(rows, np.float32).reshape(len(rows), dim)


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """(number from 1, line) of a text file, unpacked."""
    number, line = 0, b"\n"
    try:
        with _open(path) as file:
            for number, line in enumerate(iter(partial(file.readline, LONGEST_LINE), b""), start=1):
                yield number, line.removeprefix(b"\xef\xbb\xbf").rstrip() if number == 1 else line.rstrip()
        if not line.endswith(b"\n"):
            raise EOFError("the last line has no end")
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except (*DAMAGE, zipfile.BadZipFile) as error:
        raise UserError(f"{path}: damaged or cut off after line {number} ({error}). Download it again.") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror or error})") from None


def _open(path: Path) -> IO[bytes]:
    if path.suffix != ".zip":
        return open_text(path)
    # An open member keeps the file open.
    with reading(path, "a zip archive that can be unpacked"), zipfile.ZipFile(path) as archive:
        members = [name for name in archive.namelist() if not name.endswith("/")]
        if len(members) != 1:
            raise UserError(f"{path}: has {len(members)} files. Unpack it and give one of them.")
        return archive.open(members[0])


def _split(path: Path, number: int, line: bytes, dim: int) -> tuple[bytes, bytes]:
    """The word and the text of its numbers."""
    spaces = line.count(b" ")
    if spaces == dim:
        word, _, numbers = line.partition(b" ")
        return word, numbers
    parts = line.rsplit(b" ", dim)
    if spaces < dim or all(map(_is_number, parts[0].split(b" ")[1:])):
        raise UserError(f"{path}:{number}: {spaces} numbers, expected {dim}. Fix the line, or download the file again.")
    return parts[0], b" ".join(parts[1:])


def _row(path: Path, number: int, text: bytes) -> np.ndarray:
    """float32 [D]."""
    fields = text.split(b" ")
    with np.errstate(over="ignore"), contextlib.suppress(ValueError):  # a number too large for float32 is infinity
        row = np.array(fields, dtype=np.float32)
        if np.isfinite(row).all():
            return row
    wrong = next(field for field in fields if not _is_number(field)).decode(errors="replace")
    raise UserError(f"{path}:{number}: '{wrong}' is not a finite number. Fix that line.")


def _is_number(text: bytes) -> bool:
    try:
        with np.errstate(over="ignore"):
            return bool(np.isfinite(np.float32(text)))
    except ValueError:
        return False
