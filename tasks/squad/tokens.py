"""Tokens of questions and passages with their characters: treebank rules, and further splits of Clark and Gardner."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from elmo_bench.text.vocabulary import LONGEST_WORD, tokeniser

# Split off within a token: hyphens, slashes, tildes, dashes, quotes, currency signs, underscores between other
# characters. An apostrophe stays, as in "'s" and "n't".
_CUT = re.compile(r"``|''|(?<=[^_])_(?=[^_])|[-/~\"“”‘’«»£€¥¢₹$°\u2212\u2010-\u2015]")
_SPELLING = {"``": '"', "''": '"', "\u2212": "-", "\u2014": "\u2013"}  # as in the vectors
QUOTES = ('"', "``", "''")  # treebank tokenisers replace one by another
# Words that end in a full stop, in lower case.
_WORDS = """
mr mrs ms messrs dr prof st sr jr rev fr hon pres gov sen rep gen col maj capt cmdr lt sgt cpl adm mt ft
vs etc cf al viz inc ltd co corp bros dept univ assn approx ca est no nos vol vols fig figs p pp ed eds trans
jan feb mar apr jun jul aug sep sept oct nov dec
"""
ABBREVIATIONS = frozenset(_WORDS.split())
_END = re.compile(r"""(?<![.!?…])[.!?…]++["'”’»)\]]*+(?=\s+["'“‘«(\[]*[^\W_a-z])|\n""")
_LAST_WORD = re.compile(r"[^\s\"'“‘«(\[]*$")

Tokens = tuple[tuple[str, ...], tuple[tuple[int, int], ...]]


def question_tokens(text: str) -> Tokens:
    """The tokens of one sentence, with the characters (start, end) of each."""
    return _tokens(text, [(0, len(text))])


def passage_tokens(text: str) -> Tokens:
    """The tokens of a text of several sentences, with the characters of each."""
    return _tokens(text, sentences(text))


def _tokens(text: str, spans: Iterable[tuple[int, int]]) -> Tokens:
    treebank = tokeniser("treebank")
    offsets = [
        (first + start + cut_start, first + start + cut_end)
        for first, last in spans
        for start, end in align(treebank(text[first:last]), text[first:last])
        for cut_start, cut_end in _cuts(text[first + start : first + end])
    ]
    spelt = (text[start:end] for start, end in offsets)
    return tuple(_SPELLING.get(token, token) for token in spelt), tuple(offsets)


def _cuts(token: str) -> list[tuple[int, int]]:
    """(start, end) of the pieces of a token."""
    places = sorted({0, len(token), *(place for cut in _CUT.finditer(token) for place in cut.span())})
    return list(pairwise(places))


def align(tokens: Sequence[str], text: str) -> list[tuple[int, int]]:
    """(start, end) of each token in the text that it is from; only white space may be between tokens.

    Double quotes may have become `` or ''. Raises ValueError if the tokens do not match the text.
    """
    found: list[tuple[int, int]] = []
    place = 0
    for token in tokens:
        while place < len(text) and text[place].isspace():
            place += 1
        spellings = (token, *QUOTES) if token in QUOTES else (token,)
        here = [spelling for spelling in spellings if text.startswith(spelling, place)]
        if not here or not token:
            raise ValueError(f"token {token!r} is not at character {place} of the text")
        found.append((place, place + len(here[0])))
        place += len(here[0])
    if text[place:].strip():
        raise ValueError(f"no token for the text from character {place}")
    return found


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of each sentence of a text, without surrounding white space; nothing else is left out.

    A sentence ends at the end of a line, and at `.`, `!` or `?` (and closing quotes or brackets) before white space and
    no lower-case letter, but not after an abbreviation, an initial ("J. Smith"), or a word with inner full stops
    ("U.S.").
    """
    start = 0
    for end in _END.finditer(text):
        if end[0] == "." and _abbreviates(text[max(start, end.start() - LONGEST_WORD) : end.start()]):
            continue
        yield from _trimmed(text, start, end.end())
        start = end.end()
    yield from _trimmed(text, start, len(text))


def _abbreviates(before: str) -> bool:
    word = _LAST_WORD.search(before)[0]  # type: ignore[index]  # it matches everywhere
    return word.lower() in ABBREVIATIONS or "." in word or (len(word) == 1 and word.isalpha())


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    inside = text[start:end]
    if inside.strip():
        yield start + len(inside) - len(inside.lstrip()), start + len(inside.rstrip())
