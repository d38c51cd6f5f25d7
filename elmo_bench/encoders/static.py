"""Static word vectors: found by name or path, trimmed to a vocabulary, cached.

The cache folder (see `downloads.py`) has these folders:
  vectors/     files under a known name, such as glove.840B.300d.zip: downloaded, or put there by hand
  trimmed/     the rows of one vocabulary, named by the checksums of the file and of the vocabulary
  checksums/   the SHA-256 of a large file, named by its path and state (see base/downloads.py)
Only `vectors/` matters: missing or damaged files of the other two are made again.
"""

import contextlib
import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from elmo_bench.base.downloads import Content, cache_folder, record, verify
from elmo_bench.base.errors import UserError
from elmo_bench.base.files import unpack
from elmo_bench.base.reading import AGAIN
from elmo_bench.elmo.published import VECTORS, vector_archive
from elmo_bench.encoders.binary_vectors import is_fasttext, read_fasttext, read_word2vec
from elmo_bench.encoders.glove_text import read_text
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
        return _unpacked(vector_archive(name_or_path), f"{name_or_path}.txt")
    path = Path(name_or_path).expanduser()
    if not path.is_file():
        raise UserError(f"{name_or_path}: no such file, and not one of the known vectors: {', '.join(KNOWN)}")
    return path


def _unpacked(archive: Path, name: str) -> Path:
    """The archive if it has this table alone; otherwise the table, unpacked into the folder of the archive."""
    if archive.stem == Path(name).stem:
        return archive
    unpack(archive, name, archive.parent / name)
    return archive.parent / name


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
