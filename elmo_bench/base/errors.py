"""The error that users read."""

import re
from collections.abc import Callable, Iterable
from typing import Any

# scheme://  user:password@  host/path  ?query#fragment, up to the punctuation of the sentence around it
_ADDRESS = re.compile(
    r"""(\b[a-z][a-z0-9+.-]*://)(?:[^/\s'"<>]*@)?([^\s'"<>?#]*)(?:[?#][^\s'"<>]*?(?=[).,:;]*(?:[\s'"<>]|$)))?""", re.I
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
        shown = redacted(text)
        super().__init__(
            "".join(c if c.isprintable() or c == "\xa0" else c.encode("unicode_escape").decode() for c in shown)
        )


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
