"""The example of tasks that tag words, and tag schemes: recognising them, conversion, spans, and allowed transitions.

Chunks are defined as in conlleval (version 2004-01-26), which reads more than valid BIO: a tag is split at its first
hyphen; I-X opens a chunk after O and after a different type. `to_bio` applies these rules; seqeval reads the chunks of
the BIO tags that it returns.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np


@dataclass(frozen=True)
class TaggedSentence:
    """A sentence and the tag of each of its tokens: a `contracts.Example`."""

    tokens: tuple[str, ...]
    tags: tuple[str, ...]

    @property
    def texts(self) -> tuple[tuple[str, ...], ...]:
        return (self.tokens,)

    @property
    def gold(self) -> tuple[str, ...]:
        return self.tags


Span = tuple[str, int, int]  # type, first token, last token (inclusive)


@cache  # a corpus repeats a few tags many times
def split_tag(tag: str, prefixes: str = "BI") -> tuple[str, str]:
    """("B", "GPE-CITY") of "B-GPE-CITY", ("O", "") of "O". Raises ValueError for anything else."""
    prefix, hyphen, kind = tag.partition("-")
    if tag == "O" or (hyphen and kind and len(prefix) == 1 and prefix in prefixes):
        return prefix, kind
    raise ValueError(f"'{tag}' is not a tag: expected O or {', '.join(f'{p}-TYPE' for p in prefixes)}")


LETTERS = {"BIO": "BI", "IOB1": "BI", "BIOES": "BIES", "BILOU": "BILU"}  # of each scheme, apart from O


def scheme_of(sequences: Iterable[Sequence[str]]) -> str | None:
    """The scheme of all sentences of a corpus: a key of LETTERS, or None for plain tags, such as parts of speech.

    It is the scheme in which the fewest tags are `misfits`. None if a tag is neither O nor a letter, a hyphen and a
    type, if the letters are of two schemes, or if there are no tags.
    """
    sequences, counts = list(sequences), dict[str, int]()
    tags = {tag for sequence in sequences for tag in sequence}
    try:
        used = {split_tag(tag, "BIESLU")[0] for tag in tags} - {"O"}
    except ValueError:
        return None
    if not tags:
        return None
    for scheme in (scheme for scheme, letters in LETTERS.items() if used <= {*letters}):
        counts[scheme] = sum(len(misfits(sequence, scheme)) for sequence in sequences)
        if not counts[scheme]:
            break
    return min(counts, key=counts.__getitem__, default=None)


def misfits(tags: Sequence[str], scheme: str) -> list[int]:
    """The places of the tags that the scheme writes otherwise for the same chunks. Raises ValueError as `to_bio`."""
    written = bio = to_bio(tags, scheme)
    if scheme == "IOB1":
        pairs = pairwise(["O", *bio])
        written = [f"I{tag[1:]}" if tag[0] == "B" and tag[2:] != last[2:] else tag for last, tag in pairs]
    elif scheme != "BIO":
        letters = str.maketrans("UL", "SE" if scheme == "BIOES" else "UL")
        written = [tag[0].translate(letters) + tag[1:] for tag in bio_to_bioul(bio)]
    return [place for place, (one, other) in enumerate(zip(tags, written, strict=True)) if one != other]


def to_bio(tags: Sequence[str], scheme: str = "BIO") -> list[str]:
    """Valid BIO with the same chunks as the tags of a sentence in a scheme of LETTERS; BIO and IOB1 may be mixed.

    Raises ValueError for a tag outside the scheme, KeyError for a different scheme. An I, E or L that continues no
    chunk opens one, as in conlleval.
    """
    bio, opened = [], ""
    for tag in tags:
        prefix, kind = split_tag(tag, LETTERS[scheme])
        bio.append(tag if prefix == "O" else f"{'I' if prefix in 'IEL' and kind == opened else 'B'}-{kind}")
        opened = kind if prefix in "BI" else ""
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
