"""Tokenisers by name; each turns the text of one sentence into tokens."""

from collections.abc import Callable
from functools import cache

from elmo_bench.base.errors import UserError

Tokeniser = Callable[[str], list[str]]
# Escapes of the Penn Treebank.
BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}


def _spaces() -> Tokeniser:
    return str.split


def _treebank() -> Tokeniser:
    from nltk.tokenize import NLTKWordTokenizer  # takes over a second to import

    return NLTKWordTokenizer().tokenize


TOKENISERS: dict[str, Callable[[], Tokeniser]] = {"spaces": _spaces, "treebank": _treebank}


@cache
def tokeniser(name: str) -> Tokeniser:
    """`spaces`: tokenised text, split at white space. `treebank`: raw text, split as in the Penn Treebank.

    `treebank` is NLTK's NLTKWordTokenizer (which `word_tokenize` applies to each sentence): quotes become `` and '',
    contractions are split ("is", "n't"), brackets stay, and only the last full stop is split from its word, because
    the text is taken as one sentence. No token contains white space. Raises UserError for an unknown name.
    """
    if name not in TOKENISERS:
        raise UserError(f"tokenizer={name}: unknown. Choose {' or '.join(TOKENISERS)}.")
    return TOKENISERS[name]()
