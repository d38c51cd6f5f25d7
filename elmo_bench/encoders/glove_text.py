"""Reading GloVe text: a word and its numbers per line; plain, .gz, .xz, .zst, or .zip with one member.

Source: the files of nlp.stanford.edu/projects/glove. A word2vec header line ("words dimension") is skipped; glove.840B
has a few words with spaces, so a line is split from the right.
"""

import itertools
import zipfile
from collections import Counter
from collections.abc import Collection, Iterator
from functools import partial
from pathlib import Path
from typing import IO

import numpy as np

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import DAMAGE, LONGEST_LINE, open_text
from elmo_bench.base.reading import reader, reading

EXPECTED = "Give GloVe text: a word and its numbers per line."
PARSED_AT_ONCE = 2048  # lines whose numbers are parsed by one call


@reader
def read_text(path: Path, keep: Collection[str] | None = None) -> tuple[list[str], np.ndarray]:
    """Words and vectors float32 [V, D], in the order of the file; with `keep`, only those words.

    Raises UserError for a damaged file, and, with file and line, for a line that is not a word and D finite numbers.
    """
    wanted = None if keep is None else {word.encode(errors="surrogatepass") for word in keep}
    words: list[str] = []
    blocks: list[np.ndarray] = []
    rows: list[tuple[int, bytes]] = []  # line number, numbers
    lines = _lines(path)
    head = list(itertools.islice(lines, 10))
    if head and all(field.isdigit() for field in head[0][1].split(b" ")) and head[0][1].count(b" ") == 1:
        del head[0]
    if not head:
        raise UserError(f"{path}: no vectors. {EXPECTED}")
    # The most frequent number of fields, so that one bad line at the start is not taken for the rule.
    dim = Counter(line.count(b" ") for _, line in head).most_common(1)[0][0]
    if not dim:
        raise UserError(f"{path}:{head[0][0]}: no numbers after the word. {EXPECTED}")
    for number, line in itertools.chain(head, lines):
        word, numbers = _split(path, number, line, dim)
        if wanted is None or word in wanted:
            try:
                words.append(word.decode())
            except UnicodeDecodeError:
                raise UserError(f"{path}:{number}: the word is not UTF-8. Convert the file to UTF-8.") from None
            rows.append((number, numbers))
        if len(rows) == PARSED_AT_ONCE:
            blocks.append(_parsed(path, rows, dim))
            rows = []
    return words, np.concatenate([*blocks, _parsed(path, rows, dim)])


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


def _parsed(path: Path, rows: list[tuple[int, bytes]], dim: int) -> np.ndarray:
    """float32 [N, dim]. One call parses all rows; if it fails, the wrong line is looked for."""
    try:
        with np.errstate(over="ignore"):  # a number too large for float32 is found below as infinity
            fields = b" ".join(numbers for _, numbers in rows).split()
            block = np.array(fields, dtype=np.float32).reshape(len(rows), dim)
        if np.isfinite(block).all():
            return block
    except ValueError:
        pass
    for number, numbers in rows:
        for text in numbers.split(b" "):
            if not _is_number(text):
                found = text.decode(errors="replace")
                raise UserError(f"{path}:{number}: '{found}' is not a finite number. Fix that line.")
    raise AssertionError("a block failed to parse but each of its lines is good")


def _is_number(text: bytes) -> bool:
    try:
        with np.errstate(over="ignore"):
            return bool(np.isfinite(np.float32(text)))
    except ValueError:
        return False
