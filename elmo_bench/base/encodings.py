"""How a text that is not UTF-8 is encoded, guessed from its bytes, for the advice of an
error message.
"""

import codecs
import re
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple
from unicodedata import category

from elmo_bench.base.errors import UserError
from elmo_bench.base.reading import check_pointer_in

SAMPLE = 2**16  # bytes that are looked at
LOOKED_THROUGH = 2**26  # bytes of the file in which they are looked for
ISOLATED = 0.15  # of the bytes of such lines: letters with accents among ASCII
MOST_CONTROLS = 0.05  # of the characters of a text: control characters and the like
UNPACK = {".gz": "gzip -dc", ".xz": "xz -dc"}  # commands


class Guess(NamedTuple):
    """An encoding that a file may have."""

    name: str | None  # as iconv calls it; None if it is unknown
    description: str  # for messages


UTF_32 = Guess("UTF-32", "UTF-32")
BINARY = Guess(None, "binary data")


def check_first(path: Path, line: bytes) -> None:
    """Raise UserError for a first line that is valid UTF-8, but not meant as text."""
    check_pointer_in(line, path)
    has_mark = line.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    has_long_mark = line.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE))
    has_zeros = line.count(0) * 3 > len(line) > 3
    # ASCII in UTF-16 is valid UTF-8 with zero bytes.
    if has_long_mark or (has_zeros and not has_mark):
        guess = UTF_32 if has_long_mark else _utf16_without_mark(line)
        raise UserError(
            f"{path}:1: not UTF-8 text ({guess.description}). "
            f"{_conversion(path, guess)}"
        )


def not_utf8(
    path: Path, number: int, error: UnicodeDecodeError, lines: Iterable[bytes]
) -> UserError:
    """The error for a line that is not UTF-8; it says which encoding the lines of its
    file may have.
    """
    guess = guessed_encoding(lines)
    what = f"{guess.description}; {error.reason} at byte {error.start}"
    return UserError(
        f"{path}:{number}: not UTF-8 text ({what}). {_conversion(path, guess)}"
    )


def _conversion(path: Path, guess: Guess) -> str:
    """What to do about a file in this encoding."""
    if guess is BINARY:
        return "Give a file of text."
    if guess.name is None:
        return "Save it as UTF-8 in the program that wrote it."
    file = shlex.quote(str(path))
    iconv = f"iconv -f {guess.name} -t UTF-8"
    unpack = UNPACK.get(path.suffix.lower())
    if unpack:
        ending = path.with_suffix("").suffix
        return f"Convert it: {unpack} {file} | {iconv} > NEW{ending}"
    return f"Convert it: {iconv} {file} > NEW{path.suffix}"


def guessed_encoding(lines: Iterable[bytes]) -> Guess:
    """The encoding of a file, from its lines that are not ASCII."""
    sample = bytearray()
    size = 0
    is_utf8 = False
    for line in lines:
        if not size and line.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return Guess("UTF-16", "UTF-16, as Excel writes")
        size += len(line)
        if b"\0" in line:
            return _utf16_without_mark(line)
        if not line.isascii():
            is_utf8 = is_utf8 or _is_utf8(line)
            sample += line
        if len(sample) > SAMPLE or size > LOOKED_THROUGH:
            break
    return (
        Guess(None, "mixed: other lines are UTF-8")
        if is_utf8
        else _guess_8_bit(bytes(sample))
    )


def _utf16_without_mark(line: bytes) -> Guess:
    """UTF-16 of the order that the zero bytes of its ASCII characters have."""
    little = line[1::2].count(0) >= line[::2].count(0)
    name = "UTF-16LE" if little else "UTF-16BE"
    whole = len(line) // 2 * 2  # bytes; a line of UTF-16LE ends within a character
    if _is_binary(line[:whole].decode(name, "replace")):
        return BINARY
    return Guess(name, f"{name} without a mark at its start")


def _is_binary(text: str) -> bool:
    """Whether many characters of decoded bytes are none that a text has.

    These are control characters, and numbers that are no character.
    """
    controls = 0
    for character in text:
        is_control = category(character) in ("Cc", "Cn", "Co", "Cs")
        controls += is_control and not character.isspace()
    return controls > MOST_CONTROLS * len(text)


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _japanese(sample: bytes) -> str | None:
    """The encoding in which a fifth of what is not ASCII is kana, which
    charset-normalizer takes for Korean.
    """
    for encoding in ("cp932", "euc_jp"):
        try:
            letters = [
                letter for letter in sample.decode(encoding) if not letter.isascii()
            ]
        except UnicodeDecodeError:
            continue
        if 5 * sum("\u3040" <= letter <= "\u30ff" for letter in letters) > len(letters):
            return encoding
    return None


def _guess_8_bit(sample: bytes) -> Guess:
    """Windows-1252 if letters with accents are alone among ASCII; else what
    charset-normalizer finds.
    """
    from charset_normalizer import from_bytes  # takes a while

    # In this encoding all bytes but the control characters of ASCII are printable.
    if _is_binary(sample.decode("cp437")):
        return BINARY
    high = sum(byte >= 0x80 for byte in sample)
    if high <= ISOLATED * len(sample) and not re.search(rb"[\x80-\xff]{2}", sample):
        return Guess("CP1252", "perhaps Windows-1252, as Excel writes")
    encoding = _japanese(sample)
    if encoding is None:
        best = from_bytes(sample).best()
        if best is None or best.encoding in ("ascii", "utf_8"):
            return Guess(None, "in an encoding that is not known")
        encoding = best.encoding
    name = codecs.lookup(encoding).name.upper().replace("_", "-")  # as iconv knows it
    shown = " ".join(sample.decode(encoding, "replace").split())
    letters = re.search(r"[^\x00-\x7f]", shown)
    start = max(0, letters.start() - 5) if letters else 0
    return Guess(name, f"perhaps {name}, in which it has “{shown[start : start + 20]}”")
