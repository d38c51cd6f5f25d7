"""Imported by the fork server of a sweep whose runs tokenise with NLTK.

An error here is left to those runs: in the server it would end every run.
"""

from contextlib import suppress

with suppress(Exception):
    import nltk.tokenize  # noqa: F401
