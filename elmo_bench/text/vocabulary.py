"""Tokenisers by name, vocabularies (words or characters as numbers), and limits of what is read (docs/limits.md)."""

from collections.abc import Callable, Iterable
from functools import cache

from elmo_bench.base.errors import UserError
from elmo_bench.text.sentences import sentences

PADDING, UNKNOWN = 0, 1
# Limits that bound memory whatever the text is; no text of the suites reaches them.
LONGEST_WORD = 512  # characters of a token that are read; the longest token of the suites has 473
LONGEST_TEXT = 5_000  # tokens of a text to train on, since some heads attend to all pairs; the suites' longest has 706


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
BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}


@cache
def tokeniser(name: str) -> Tokeniser:
    """`spaces`: tokenised text, split at white space. `treebank`: raw text, split as in the Penn Treebank.

    `treebank` is NLTK's NLTKWordTokenizer, applied to each sentence (`sentences.py`) as `word_tokenize` does: quotes
    become `` and '', contractions are split ("is", "n't"), brackets stay. No token contains white space. Raises
    UserError for an unknown name.
    """
    if name == "spaces":
        return str.split
    if name == "treebank":
        from nltk.tokenize import NLTKWordTokenizer  # takes over a second to import

        cut = NLTKWordTokenizer().tokenize
        return lambda text: [word for start, end in sentences(text) for word in cut(text[start:end])]
    raise UserError(f"tokenizer={name}: unknown. Choose {' or '.join(TOKENISERS)}.")
