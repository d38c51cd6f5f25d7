"""The example of tasks that tag words, and tag schemes.

Recognising schemes, conversion, spans, and allowed transitions. Chunks are defined as
in conlleval (version 2004-01-26), which reads more than valid BIO: a tag is split at
its first hyphen; I-X opens a chunk after O and after a different type. `to_bio` applies
these rules; seqeval reads the chunks of the BIO tags that it returns.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, pairwise

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
    """("B", "GPE-CITY") of "B-GPE-CITY", ("O", "") of "O".

    Raises ValueError for anything else.
    """
    prefix, hyphen, kind = tag.partition("-")
    if tag == "O" or (hyphen and kind and len(prefix) == 1 and prefix in prefixes):
        return prefix, kind
    expected = ", ".join(f"{prefix}-TYPE" for prefix in prefixes)
    raise ValueError(f"'{tag}' is not a tag: expected O or {expected}")


# Of each scheme, apart from O.
LETTERS = {"BIO": "BI", "IOB1": "BI", "BIOES": "BIES", "BILOU": "BILU"}


def scheme_of(sequences: Iterable[Sequence[str]]) -> str | None:
    """The scheme of all sentences of a corpus: a key of LETTERS, or None.

    It is the scheme in which the fewest tags are `misfits`. None for plain tags, such
    as parts of speech: if a tag is neither O nor a letter, a hyphen and a type, if the
    letters are of two schemes, or if there are no tags.
    """
    sequences = list(sequences)
    tags = set(chain.from_iterable(sequences))
    try:
        used = {split_tag(tag, "BIESLU")[0] for tag in tags} - {"O"}
    except ValueError:
        return None
    if not tags:
        return None
    counts: dict[str, int] = {}
    for scheme, letters in LETTERS.items():
        if not used <= {*letters}:
            continue
        counts[scheme] = sum(len(misfits(sequence, scheme)) for sequence in sequences)
        if counts[scheme] == 0:
            break
    return min(counts, key=counts.__getitem__, default=None)


def misfits(tags: Sequence[str], scheme: str) -> list[int]:
    """The places of the tags that the scheme writes otherwise for the same chunks.

    Raises ValueError as `to_bio`.
    """
    bio = to_bio(tags, scheme)
    if scheme == "BIO":
        written = bio
    elif scheme == "IOB1":
        written = [_in_iob1(tag, before) for before, tag in pairwise(["O", *bio])]
    else:
        letters = str.maketrans("UL", "SE" if scheme == "BIOES" else "UL")
        written = [tag[0].translate(letters) + tag[1:] for tag in bio_to_bioul(bio)]
    pairs = enumerate(zip(tags, written, strict=True))
    return [place for place, (tag, expected) in pairs if tag != expected]


def _in_iob1(tag: str, before: str) -> str:
    """A tag of valid BIO in IOB1, which has B only right behind its own type."""
    if tag[0] == "B" and tag[2:] != before[2:]:
        return f"I{tag[1:]}"
    return tag


def to_bio(tags: Sequence[str], scheme: str = "BIO") -> list[str]:
    """Valid BIO with the same chunks as the tags of a sentence in a scheme of LETTERS.

    BIO and IOB1 may be mixed. An I, E or L that continues no chunk opens one, as in
    conlleval. Raises ValueError for a tag outside the scheme, KeyError for a different
    scheme.
    """
    bio = []
    opened = ""
    for tag in tags:
        prefix, kind = split_tag(tag, LETTERS[scheme])
        if prefix == "O":
            bio.append(tag)
        elif prefix in "IEL" and kind == opened:
            bio.append(f"I-{kind}")
        else:
            bio.append(f"B-{kind}")
        opened = kind if prefix in "BI" else ""
    return bio


def spans(tags: Sequence[str]) -> list[Span]:
    """The chunks of a sentence's IOB1, BIO or mixed tags, in order.

    Raises ValueError.
    """
    # It imports scikit-learn, over a second.
    from seqeval.metrics.sequence_labeling import get_entities

    return get_entities(to_bio(tags))


def bio_to_bioul(tags: Sequence[str]) -> list[str]:
    """BIOUL of IOB1, BIO or mixed tags.

    U is a chunk of one token, L the last token of a longer one.
    """
    bio = to_bio(tags)
    last = {"B": "U", "I": "L", "O": "O"}
    bioul = []
    for tag, after in pairwise([*bio, "O"]):
        goes_on = after[0] == "I"
        bioul.append(tag if goes_on else last[tag[0]] + tag[1:])
    return bioul


def allowed_transitions(
    labels: Sequence[str], scheme: str = "BIO"
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tags that may start a sentence, follow a tag, and end it.

    bool [K], bool [K, K] (row, then column), bool [K]. `scheme` is "BIO" or "BIOUL".
    Raises ValueError for a different scheme, and for a label outside the scheme.
    """
    if scheme not in ("BIO", "BIOUL"):
        raise ValueError(f"unknown tag scheme '{scheme}': use BIO or BIOUL")
    split = [split_tag(label, scheme.replace("O", "")) for label in labels]
    # In BIOUL, a chunk must continue to its L; in BIO it may end anywhere.
    goes_on = np.array([prefix in "BI" for prefix, _ in split], dtype=bool)
    continues = np.array([prefix in "IL" for prefix, _ in split], dtype=bool)
    kinds = np.array([kind for _, kind in split], dtype=object)
    must_go_on = goes_on & (scheme == "BIOUL")
    same_kind = kinds[:, None] == kinds[None, :]
    inside = goes_on[:, None] & continues[None, :] & same_kind
    outside = ~must_go_on[:, None] & ~continues[None, :]
    return ~continues, inside | outside, ~must_go_on
