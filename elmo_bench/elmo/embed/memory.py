"""Memory that stays flat over hours: what is remembered is bounded early, what is free goes back to the system."""

import contextlib
import ctypes

from elmo_bench.elmo.encoder import ElmoEncoder

WORDS = 2**16  # vectors to remember: full after a million tokens or so of natural language


def bound(encoder: ElmoEncoder) -> None:
    """Let an encoder remember fewer words than it would in a program that does other things as well."""
    encoder.vectors.limit = min(encoder.vectors.limit, WORDS)


def give_back() -> None:
    """glibc keeps freed memory that lies between memory in use; blocks of many sizes come and go here, and it grows."""
    with contextlib.suppress(AttributeError, OSError, TypeError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)
