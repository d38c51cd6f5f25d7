"""The sentences of a raw text."""

import re
from collections.abc import Iterator

LONGEST = 512  # characters of a word that are looked at
# Words that end in a full stop, in lower case.
_WORDS = """
mr mrs ms messrs dr prof st sr jr rev fr hon pres gov sen rep gen col maj capt cmdr lt
sgt cpl adm mt ft vs etc cf al viz inc ltd co corp bros dept univ assn approx ca est no
nos vol vols fig figs p pp ed eds trans
jan feb mar apr jun jul aug sep sept oct nov dec
"""
ABBREVIATIONS = frozenset(_WORDS.split())
_END = re.compile(r"""(?<![.!?…])[.!?…]++["'”’»)\]]*+(?=\s+["'“‘«(\[]*[^\W_a-z])|\n""")
_LAST_WORD = re.compile(r"[^\s\"'“‘«(\[]*$")


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of each sentence of a text, without surrounding white space.

    Nothing else is left out. A sentence ends at the end of a line, and at `.`, `!` or
    `?` (and closing quotes or brackets) before white space and a letter other than a to
    z, or a digit, but not after an abbreviation, an initial ("J. Smith"), or a word
    with inner full stops ("U.S.").
    """
    start = 0
    for end in _END.finditer(text):
        looked_at = text[max(start, end.start() - LONGEST) : end.start()]
        if end[0] == "." and _abbreviates(looked_at):
            continue
        yield from _trimmed(text, start, end.end())
        start = end.end()
    yield from _trimmed(text, start, len(text))


def _abbreviates(before: str) -> bool:
    word = _LAST_WORD.search(before)[0]  # type: ignore[index]  # it matches everywhere
    is_initial = len(word) == 1 and word.isalpha()
    return is_initial or word.lower() in ABBREVIATIONS or "." in word


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    inside = text[start:end]
    if inside.strip():
        before = len(inside) - len(inside.lstrip())
        yield start + before, start + len(inside.rstrip())
