"""Tokenisers by name: one line of text, which is one sentence, to its tokens."""

from collections.abc import Callable

from elmo_bench.base.errors import UserError

Tokeniser = Callable[[str], list[str]]


def _spaces() -> Tokeniser:
    return str.split


def _treebank() -> Tokeniser:
    from nltk.tokenize import NLTKWordTokenizer  # takes over a second to import

    return NLTKWordTokenizer().tokenize


TOKENISERS: dict[str, Callable[[], Tokeniser]] = {"spaces": _spaces, "treebank": _treebank}


def tokeniser(name: str) -> Tokeniser:
    """`spaces`: already tokenised, tokens parted by white space. `treebank`: raw text, cut as in the Penn Treebank.

    `treebank` is NLTK's NLTKWordTokenizer (what its `word_tokenize` does within a sentence): quotes become `` and '',
    contractions are parted ("is", "n't"), brackets stay as they are, and only the last full stop is parted from its
    word, for the text is taken as one sentence. No token holds white space. Raises UserError for another name.
    """
    if name not in TOKENISERS:
        raise UserError(f"tokenizer={name}: unknown; choose {' or '.join(TOKENISERS)}")
    return TOKENISERS[name]()
