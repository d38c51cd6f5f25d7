"""The one error that people are meant to read."""


class UserError(Exception):
    """A mistake in what the user gave us; its text is one sentence that says what, where, and what to do.

    Commands print the text alone (no traceback) and exit with code 2.
    """
