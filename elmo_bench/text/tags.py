"""The example of tasks that tag words, and tag schemes: BIO and back to BIOUL, spans, and allowed transitions.

Chunks are defined as in conlleval (version 2004-01-26), which reads more than valid BIO: a tag is split at its first
hyphen; I-X opens a chunk after O and after a different type. `to_bio` applies these rules; seqeval reads the chunks of
the BIO tags that it returns.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np


@dataclass(frozen=True)
class TaggedSentence:
    """A sentence and the tag of each of its tokens."""

    tokens: tuple[str, ...]
    tags: tuple[str, ...]

    @property
    def texts(self) -> tuple[tuple[str, ...], ...]:
        """The sequences that the encoder reads."""
        return (self.tokens,)

    @property
    def gold(self) -> tuple[str, ...]:
        """What predictions are compared with."""
        return self.tags


Span = tuple[str, int, int]  # type, first token, last token (inclusive)


@cache  # a corpus repeats a few tags many times
def split_tag(tag: str, prefixes: str = "BI") -> tuple[str, str]:
    """("B", "GPE-CITY") of "B-GPE-CITY", ("O", "") of "O". Raises ValueError for anything else."""
    prefix, hyphen, kind = tag.partition("-")
    if tag == "O" or (hyphen and kind and len(prefix) == 1 and prefix in prefixes):
        return prefix, kind
    raise ValueError(f"'{tag}' is not a tag: expected O or {', '.join(f'{p}-TYPE' for p in prefixes)}")


def to_bio(tags: Sequence[str]) -> list[str]:
    """Valid BIO with the same chunks as the IOB1, BIO or mixed tags of a sentence. Raises ValueError."""
    bio, before = [], ""
    for tag in tags:
        prefix, kind = split_tag(tag)
        bio.append("B" + tag[1:] if prefix == "I" and kind != before else tag)
        before = kind
    return bio


def spans(tags: Sequence[str]) -> list[Span]:
    """The chunks of a sentence's IOB1, BIO or mixed tags, in order. Raises ValueError."""
    from seqeval.metrics.sequence_labeling import get_entities  # imports scikit-learn, over a second

    return get_entities(to_bio(tags))


def bio_to_bioul(tags: Sequence[str]) -> list[str]:
    """BIOUL of IOB1, BIO or mixed tags: U for a chunk of one token, L for the last token of a longer one."""
    bio = to_bio(tags)
    last = {"B": "U", "I": "L", "O": "O"}
    return [tag if after[0] == "I" else last[tag[0]] + tag[1:] for tag, after in pairwise([*bio, "O"])]


def bioul_to_bio(tags: Sequence[str]) -> list[str]:
    """Valid BIO of BIOUL tags; an I or L that continues no chunk opens one. Raises ValueError."""
    bio, opened = [], ""
    for tag in tags:
        prefix, kind = split_tag(tag, "BIUL")
        bio.append(tag if prefix == "O" else f"{'I' if prefix in 'IL' and kind == opened else 'B'}-{kind}")
        opened = kind if prefix in "BI" else ""
    return bio


def allowed_transitions(labels: Sequence[str], scheme: str = "BIO") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tags that may start a sentence, follow a tag, and end it: bool [K], bool [K, K] (row, then column), bool [K].

    `scheme` is "BIO" or "BIOUL". Raises ValueError for a different scheme, and for a label outside the scheme.
    """
    if scheme not in ("BIO", "BIOUL"):
        raise ValueError(f"unknown tag scheme '{scheme}': use BIO or BIOUL")
    split = [split_tag(label, scheme.replace("O", "")) for label in labels]
    # In BIOUL, a chunk must continue to its L; in BIO it may end anywhere.
    goes_on = np.array([prefix in "BI" for prefix, _ in split], dtype=bool)
    continues = np.array([prefix in "IL" for prefix, _ in split], dtype=bool)
    kinds = np.array([kind for _, kind in split], dtype=object)
    must_go_on = goes_on & (scheme == "BIOUL")
    inside = goes_on[:, None] & continues[None, :] & (kinds[:, None] == kinds[None, :])
    outside = ~must_go_on[:, None] & ~continues[None, :]
    return ~continues, inside | outside, ~must_go_on
