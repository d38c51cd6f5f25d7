"""Static word vectors: found by name or path, trimmed to a vocabulary, cached; reading GloVe text.

The cache folder (see `downloads.py`) has these folders:
  vectors/     files under a known name, such as glove.840B.300d.zip: downloaded, or put there by hand
  trimmed/     the rows of one vocabulary, named by the checksums of the file and of the vocabulary
  checksums/   the SHA-256 of a large file, named by its path and state (see base/downloads.py)
Only `vectors/` matters: missing or damaged files of the other two are made again.
"""

import codecs
import contextlib
import hashlib
import itertools
import re
import zipfile
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path, PurePosixPath
from typing import IO

import numpy as np

from elmo_bench.base.arrays import read_arrays, write_arrays
from elmo_bench.base.downloads import Content, cache_folder, fetch, mirrored
from elmo_bench.base.errors import UserError
from elmo_bench.base.files import LONGEST_LINE, open_text, unpack
from elmo_bench.base.reading import AGAIN, reader, reading
from elmo_bench.elmo.pretrained import TABLE, VECTORS
from elmo_bench.encoders.binary_vectors import is_fasttext, read_fasttext, read_word2vec
from elmo_bench.encoders.vector_files import NGrams, read_compact
from elmo_bench.text.columns import escaped, unescaped

WEIGHTS = Path(__file__).parents[1] / "weights"
SHIPPED = ("glove-6b", "glove-mini", "fasttext-mini")  # the names of the files in WEIGHTS
ENDINGS = (".txt", ".txt.gz", ".txt.xz", ".zip", ".safetensors")
BINARY = (".bin", ".bin.gz", ".bin.xz")  # of word2vec
KNOWN = (*SHIPPED, *VECTORS)
NUMBERED = re.compile(rb"[^ ]*( [-+]?[.]?\d[\d.]*(e[-+]?\d+)?)+")  # a word with numbers that do not belong to it


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

    Formats: GloVe text (.txt, .gz, .xz, .zip) and fastText's .vec; word2vec's .bin or .bin.gz; fastText's .bin;
    our own .safetensors. With `keep`, the table has only the rows that looking those words up can reach; a trimmed copy
    in the cache makes the next load fast. If the file has n-gram vectors, each word of `keep` that has no row, as
    written or in lower case, gets one from its n-grams. A published name is downloaded at first use. Raises UserError
    for an unknown name, for a malformed file, and for a file that changes while it is read.
    """
    path = path_of(name_or_path)
    content = Content(path)
    if keep is None or path.suffix == ".safetensors":
        words, vectors = _read(path, keep)
        content.check()
    else:
        words, vectors = _trimmed(content, keep)
    return StaticVectors(words, vectors, content.sha256)


@np.errstate(all="ignore")  # what overflows is not finite
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
        return read_compact(path, wanted)
    if is_fasttext(path):
        return read_fasttext(path, wanted)
    return *(read_word2vec if path.name.endswith(BINARY) else read_text)(path, wanted), None


def numbers_of(path: Path) -> int:
    """How many numbers a file of vectors has, n-grams included; reads all of it. Raises UserError."""
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
        published = TABLE["archives"][VECTORS[name_or_path]["archive"]]
        file = folder / PurePosixPath(published["url"]).name
        archive = fetch(mirrored(published["url"]), file, sha256=published["sha256"])
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
    vocabulary = hashlib.sha256("\n".join(map(escaped, sorted(set(keep)))).encode(errors="surrogatepass")).hexdigest()
    cached = cache_folder() / "trimmed" / f"{content.sha256[:16]}-{vocabulary[:16]}.safetensors"
    with contextlib.suppress(UserError):
        arrays, _ = read_arrays(cached)
        text = arrays["words"].tobytes().decode(errors="surrogatepass")
        words = [*map(unescaped, text.split("\n"))] if len(arrays["vectors"]) else []
        return words, arrays["vectors"]
    words, vectors = _read(content.path, keep)
    content.check()
    with contextlib.suppress(UserError):  # a cache is never needed
        lines = np.frombuffer("\n".join(map(escaped, words)).encode(errors="surrogatepass"), np.uint8)
        write_arrays(cached, {"words": lines, "vectors": vectors}, content.path.name)
    return words, vectors


@reader
def read_text(path: Path, keep: Collection[str] | None = None) -> tuple[list[str], np.ndarray]:
    """Words and vectors float32 [V, D], in the order of the file; with `keep`, only those words.

    Raises UserError for a damaged file, and, with file and line, for a line that is not a word and D finite numbers.
    """
    wanted = None if keep is None else {word.encode(errors="surrogatepass") for word in keep}
    words: list[str] = []
    rows: list[np.ndarray] = []
    with reading(path, "GloVe text, a word and its numbers a line"), _open(path) as file:
        lines = iter(partial(file.readline, LONGEST_LINE), b"")
        head = [next(lines, b"").removeprefix(codecs.BOM_UTF8), *itertools.islice(lines, 9)]
        promised = head[0].split()  # fastText's .vec begins with the numbers of words and dimensions
        has_header = len(promised) == 2 and all(map(bytes.isdigit, promised))
        # The most frequent number of fields, so that one bad line at the start is not taken for the rule.
        [(dim, _)] = Counter(line.rstrip().count(b" ") for line in head[has_header:]).most_common(1) or [(0, 0)]
        if all(line.startswith(b" ") for line in head[has_header:]):
            raise ValueError("its lines begin with a space, not with a word")
        if not dim:
            raise ValueError(f"no numbers in line {1 + has_header}")
        for number, ended in enumerate(itertools.chain(head[has_header:], lines), start=1 + has_header):
            line = ended.rstrip()
            spaces = line.count(b" ")
            word = line.partition(b" ")[0] if spaces == dim else line.rsplit(b" ", dim)[0]
            try:
                if spaces < dim or (spaces > dim and NUMBERED.fullmatch(word)):
                    raise ValueError(f"{spaces} numbers, expected {dim}")
                if wanted is None or word in wanted:
                    words.append(word.decode())
                    rows.append(np.array(line.rsplit(b" ", dim)[1:], dtype=np.float32))
                    if not np.isfinite(rows[-1]).all():
                        raise ValueError("a number is not finite")
            except ValueError as error:
                raise UserError(f"{path}:{number}: {error}. Fix that line, or download the file again.") from None
        if not ended.endswith(b"\n"):
            raise EOFError("the last line has no end")
        if has_header and [*map(int, promised)] != [number - 1, dim]:
            told = " ".join(map(bytes.decode, promised))[:40]
            raise ValueError(f"the first line says '{told}', but {number - 1} words of {dim} numbers follow")
    return words, np.array(rows, np.float32).reshape(len(rows), dim)


def _open(path: Path) -> IO[bytes]:
    if path.suffix != ".zip":
        return open_text(path)
    with zipfile.ZipFile(path) as archive:  # an open member keeps the file open
        members = [name for name in archive.namelist() if not name.endswith("/")]
        if len(members) != 1:
            raise UserError(f"{path}: has {len(members)} files. Unpack it and give one of them.")
        return archive.open(members[0])
