"""The error that users read."""

import re
from collections.abc import Callable, Iterable
from typing import Any
from unicodedata import category

# scheme://  user:password@  host/path  ?query#fragment, up to the punctuation of the
# sentence around it. A run of punctuation is taken whole by a lookahead: a possessive
# quantifier of a group errs before Python 3.11.5.
_ADDRESS = re.compile(
    r"""(\b[a-z][a-z0-9+.-]{0,30}://)(?:[^/\s"<>]*@)?([^\s'"<>?#]*)"""
    r"""(?:[?#](?:[^\s'"<>).,:;]+|(?=([').,:;]+))\3(?![\s"<>\]}]|$))*)?""",
    re.I,
)
_JOINERS = "\u200c\u200d"  # zero-width non-joiner and joiner
LONGEST = 1000  # characters of a message
# In errors of a machine, whatever a network reads.
_OF_MACHINE = ("can't allocate memory", "CUBLAS_STATUS", "CUDNN_STATUS", "CUDA error")
# A GPU's error for a position that a network does not have.
_NO_POSITION = "device-side assert"


class UserError(Exception):
    """A mistake in the user's input.

    Its text is one line: `<where>: <what is wrong>. <what to do>.` Commands print the
    text alone (no traceback) and exit with code 2. It may quote a file from a stranger,
    so it is shortened, characters that could move a terminal's cursor are escaped, and
    addresses are `redacted`.
    """

    def __init__(self, text: str):
        if len(text) > LONGEST:
            # More is redacted than remains, so that no cut goes through an address.
            start = redacted(text[: 5 * LONGEST])
            end = redacted(text[-5 * LONGEST :])
            text = _cut(start, end)
        text = plain(redacted(text))
        if len(text) > LONGEST + 3:
            text = _cut(text, text)
        super().__init__(text)


def _cut(start: str, end: str) -> str:
    """The start of one text and the end of another, LONGEST characters and 3 more."""
    half = LONGEST // 2
    return f"{start[:half]} … {end[-half:]}"


def plain(text: str, keep: str = "") -> str:
    """A text without characters that could move a terminal's cursor.

    Escapes replace these, and characters that colour or reverse the writing.
    """
    if text.isprintable():
        return text
    characters = []
    for place, character in enumerate(text):
        is_kept = character in keep or _is_visible(character)
        if is_kept or _joins(text, place):
            characters.append(character)
        else:
            characters.append(character.encode("unicode_escape").decode())
    return "".join(characters)


def _is_visible(character: str) -> bool:
    return character.isprintable() or category(character) == "Zs"


def _joins(text: str, place: int) -> bool:
    """Whether the character is one of the two that part or join letters, marks or
    emoji, as in Persian and Indic writing, and stands between two of these.
    """
    if text[place] not in _JOINERS:
        return False
    before = text[place - 1 : place]
    after = text[place + 1 : place + 2]
    return all(side and category(side)[:1] in "LMS" for side in (before, after))


class Plain:
    """A stream for the output of commands, which may quote a stranger's file.

    All text that is written to it becomes `plain`. rich has styles of its own, and
    writes to the stream behind it.
    """

    def __init__(self, stream: Any):
        self.rich_proxied_file = stream

    def write(self, text: str) -> int:
        self.rich_proxied_file.write(plain(text, "\n\t"))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rich_proxied_file, name)


def name_text(name: str) -> str:
    """The name of a file as text, which any JSON file can have.

    A byte that is not UTF-8, which Python keeps as half of a surrogate pair, is
    escaped.
    """
    return name.encode("utf-8", "backslashreplace").decode()


def redacted(text: str) -> str:
    """A text whose addresses have no user, password, query and fragment.

    These may hold a key.
    """
    return _ADDRESS.sub(r"\1\2", text)


def every(
    items: Iterable[tuple[int, Any]], make: Callable[[int, Any], Any]
) -> list[Any]:
    """The result of `make` for the number and the content of each line, or row.

    Raises the first UserError of `make`, with the number of further errors and some of
    their lines.
    """
    results = []
    wrong = []
    first_error = None
    for number, item in items:
        try:
            results.append(make(number, item))
        except UserError as error:
            first_error = first_error or error
            wrong.append(number)
    if first_error is None:
        return results
    others = wrong[1:]
    if not others:
        raise first_error
    numbers = ", ".join(map(str, others[:5]))
    if len(others) > 5:
        numbers += " …"
    first = str(first_error).rstrip(".")
    raise UserError(f"{first}. And {len(others):,} more like it: {numbers}")


def is_of_machine(error: Exception) -> bool:
    """Whether a network failed for its machine (such as a full memory), not its input.

    torch raises a plain RuntimeError if the memory of a CPU is full.
    """
    if type(error).__name__ == "OutOfMemoryError":  # of torch, which is not imported
        return True
    message = str(error)
    return _NO_POSITION not in message and any(mark in message for mark in _OF_MACHINE)
