"""Tokenisers by name, and vocabularies (words or characters as numbers).

Also limits of what is read (docs/limits.md).
"""

from collections.abc import Callable, Iterable
from functools import cache

from elmo_bench.base.errors import UserError
from elmo_bench.text.sentences import sentences

PADDING, UNKNOWN = 0, 1
# Limits that bound memory whatever the text is; no text of the suites reaches them.
# Characters of a token that are read; the longest token of the suites has 473.
LONGEST_WORD = 512
# Tokens of a text to train on, since some heads attend to all pairs; the suites'
# longest text has 706.
LONGEST_TEXT = 5_000


class Vocabulary:
    """Items from 2 on; 0 is padding, 1 is anything not seen in training."""

    def __init__(self, items: Iterable[str]):
        self.items = list(items)
        self._index = {item: number for number, item in enumerate(self.items, start=2)}

    def __len__(self) -> int:
        return len(self.items) + 2

    def __getitem__(self, item: str) -> int:
        return self._index.get(item, UNKNOWN)


Tokeniser = Callable[[str], list[str]]
TOKENISERS = ("spaces", "treebank")
# Escapes of the Penn Treebank.
BRACKETS = {
    "-LRB-": "(",
    "-RRB-": ")",
    "-LSB-": "[",
    "-RSB-": "]",
    "-LCB-": "{",
    "-RCB-": "}",
}


@cache
def tokeniser(name: str) -> Tokeniser:
    """The tokeniser of a name. Raises UserError for an unknown name.

    `spaces` is for tokenised text, which is split at white space. `treebank` splits raw
    text as in the Penn Treebank. It is NLTK's NLTKWordTokenizer, applied to each
    sentence (`sentences.py`) as `word_tokenize` does: quotes become `` and '',
    contractions are split ("is", "n't"), brackets stay. No token contains white space.
    """
    if name == "spaces":
        return str.split
    if name == "treebank":
        return _treebank
    raise UserError(f"tokenizer={name}: unknown. Choose {' or '.join(TOKENISERS)}.")


def _treebank(text: str) -> list[str]:
    cut = _cut_words()
    words: list[str] = []
    for start, end in sentences(text):
        words += cut(text[start:end])
    return words


@cache
def _cut_words() -> Tokeniser:
    from nltk.tokenize import NLTKWordTokenizer  # takes seconds to import

    return NLTKWordTokenizer().tokenize
