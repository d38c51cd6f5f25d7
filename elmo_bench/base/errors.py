"""The error that users read."""

LONGEST = 1000  # characters of a message


class UserError(Exception):
    """A mistake in the user's input. Its text is one line: `<where>: <what is wrong>. <what to do>.`

    Commands print the text alone (no traceback) and exit with code 2. It may quote a file from a stranger, so it is
    shortened, and what could move a terminal's cursor is escaped.
    """

    def __init__(self, text: str):
        short = text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} … {text[-LONGEST // 2 :]}"
        super().__init__(
            "".join(c if c.isprintable() or c == "\xa0" else c.encode("unicode_escape").decode() for c in short)
        )
