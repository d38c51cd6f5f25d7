"""The error that users read."""


class UserError(Exception):
    """A mistake in the user's input. Its text is one line: `<where>: <what is wrong>. <what to do>.`

    Commands print the text alone (no traceback) and exit with code 2.
    """
