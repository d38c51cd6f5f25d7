"""Tokens of questions and passages with their characters: treebank rules, and further splits of Clark and Gardner."""

import re
from collections.abc import Iterable
from itertools import pairwise

from elmo_bench.tasks.squad.offsets import align
from elmo_bench.tasks.squad.sentences import sentences
from elmo_bench.text.tokenisers import tokeniser

# Split off within a token: hyphens, slashes, tildes, dashes, quotes, currency signs, underscores between other
# characters. An apostrophe stays, as in "'s" and "n't".
_CUT = re.compile(r"``|''|(?<=[^_])_(?=[^_])|[-/~\"“”‘’«»£€¥¢₹$°\u2212\u2010-\u2015]")
_SPELLING = {"``": '"', "''": '"', "\u2212": "-", "\u2014": "\u2013"}  # as in the vectors

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
