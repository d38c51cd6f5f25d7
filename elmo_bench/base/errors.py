"""The error that users read."""

import re

# scheme://  user:password@  host/path  ?query#fragment, up to the punctuation of the sentence around it
_ADDRESS = re.compile(
    r"""(\b[a-z][a-z0-9+.-]*://)(?:[^/\s'"<>]*@)?([^\s'"<>?#]*)(?:[?#][^\s'"<>]*?(?=[).,:;]*(?:[\s'"<>]|$)))?""", re.I
)


class UserError(Exception):
    """A mistake in the user's input. Its text is one line: `<where>: <what is wrong>. <what to do>.`

    Commands print the text alone (no traceback) and exit with code 2. Addresses in it are `redacted`.
    """

    def __init__(self, text: str):
        super().__init__(redacted(text))


def redacted(text: str) -> str:
    """A text whose addresses have no user, password, query and fragment: these may hold a key."""
    return _ADDRESS.sub(r"\1\2", text)
