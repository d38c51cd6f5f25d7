"""The error that users read."""

import re
from collections.abc import Callable, Iterable
from typing import Any
from unicodedata import category

# scheme://  user:password@  host/path  ?query#fragment, up to the punctuation of the sentence around it
_ADDRESS = re.compile(
    r"""(\b[a-z][a-z0-9+.-]{0,30}://)(?:[^/\s"<>]*@)?([^\s'"<>?#]*)"""
    r"""(?:[?#](?:[^\s'"<>).,:;]++|[').,:;]++(?![\s"<>\]}]|$))*+)?""",
    re.I,
)
LONGEST = 1000  # characters of a message


class UserError(Exception):
    """A mistake in the user's input. Its text is one line: `<where>: <what is wrong>. <what to do>.`

    Commands print the text alone (no traceback) and exit with code 2. It may quote a file from a stranger, so it is
    shortened, what could move a terminal's cursor is escaped, and addresses are `redacted`.
    """

    def __init__(self, text: str):
        if len(text) > LONGEST:  # what is redacted is longer than what is kept, so that no cut goes through an address
            start, end = redacted(text[: 5 * LONGEST]), redacted(text[-5 * LONGEST :])
            text = f"{start[: LONGEST // 2]} … {end[-LONGEST // 2 :]}"
        text = plain(redacted(text))
        super().__init__(text if len(text) <= LONGEST + 3 else f"{text[: LONGEST // 2]} … {text[-LONGEST // 2 :]}")


def plain(text: str, keep: str = "") -> str:
    """A text in which escapes replace what could move a terminal's cursor, colour it or reverse the writing."""
    if text.isprintable():
        return text
    shown = (c if c.isprintable() or c in keep or category(c) == "Zs" else None for c in text)
    return "".join(c or raw.encode("unicode_escape").decode() for c, raw in zip(shown, text, strict=True))


class Plain:
    """A stream for what commands print, which may be of a stranger's file: all that is written to it becomes `plain`.

    rich has styles of its own, and writes to the stream behind it.
    """

    def __init__(self, stream: Any):
        self.rich_proxied_file = stream

    def write(self, text: str) -> int:
        self.rich_proxied_file.write(plain(text, "\n\t"))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rich_proxied_file, name)


def redacted(text: str) -> str:
    """A text whose addresses have no user, password, query and fragment: these may hold a key."""
    return _ADDRESS.sub(r"\1\2", text)


def every(items: Iterable[tuple[int, Any]], make: Callable[[int, Any], Any]) -> list[Any]:
    """What `make` gives for the number and the content of each line of a file, or of each row.

    Raises the first UserError of `make`, which then says how many more there are, and the numbers of some.
    """
    made, wrong, first = list[Any](), list[int](), None
    for number, item in items:
        try:
            made.append(make(number, item))
        except UserError as error:
            first = first or error
            wrong.append(number)
    if more := wrong[1:]:
        listed = f"{', '.join(map(str, more[:5]))}{' …' if len(more) > 5 else ''}"
        raise UserError(f"{str(first).rstrip('.')}. And {len(more):,} more like it: {listed}")
    if first:
        raise first
    return made
