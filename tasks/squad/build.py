"""Turns the questions of a file into examples.

Texts become tokens with their characters, and answers spans of tokens.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import note
from elmo_bench.tasks.squad.squad_json import Entry, line_of
from elmo_bench.text.sentences import sentences

# Split off within a token: hyphens, slashes, tildes, dashes, quotes, currency signs,
# underscores between other characters. An apostrophe stays, as in "'s" and "n't".
_CUT = re.compile(r"``|''|(?<=[^_])_(?=[^_])|[-/~\"“”‘’«»£€¥¢₹$°\u2212\u2010-\u2015]")
# As in the vectors.
_SPELLING = {"``": '"', "''": '"', "\u2212": "-", "\u2014": "\u2013"}

Span = tuple[int, int]
Tokens = tuple[tuple[str, ...], tuple[Span, ...]]


def question_tokens(text: str) -> Tokens:
    """The tokens of one sentence, with the characters (start, end) of each."""
    return _tokens(text, [(0, len(text))])


def passage_tokens(text: str) -> Tokens:
    """The tokens of a text of several sentences, with the characters of each."""
    return _tokens(text, sentences(text))


def _tokens(text: str, spans: Iterable[Span]) -> Tokens:
    """The tokens within these spans of a text."""
    tokens, offsets = [], []
    for first, last in spans:
        for start, end in _treebank().span_tokenize(text[first:last]):
            begin = first + start
            for cut_start, cut_end in _cuts(text[begin : first + end]):
                offset = (begin + cut_start, begin + cut_end)
                token = text[slice(*offset)]
                tokens.append(_SPELLING.get(token, token))
                offsets.append(offset)
    return tuple(tokens), tuple(offsets)


@cache
def _treebank() -> Any:
    from nltk.tokenize import NLTKWordTokenizer  # takes over a second to import

    return NLTKWordTokenizer()


def _cuts(token: str) -> list[tuple[int, int]]:
    """(start, end) of the pieces of a token."""
    places = {0, len(token)}
    for cut in _CUT.finditer(token):
        places.update(cut.span())
    return list(pairwise(sorted(places)))


@dataclass(frozen=True)
class Passage:
    """A paragraph: text, tokens, and the characters (start, end) of each token."""

    text: str
    tokens: tuple[str, ...]
    offsets: tuple[Span, ...]

    def cut(self, first: int, last: int) -> str:
        """The original text from the first to the last token, inclusive."""
        return self.text[self.offsets[first][0] : self.offsets[last][1]]


@dataclass(frozen=True)
class Question:
    """A question about a passage.

    `spans` are the tokens of each answer, first and last, widened to whole tokens. An
    answer whose place is unknown has none.
    """

    id: str
    tokens: tuple[str, ...]
    passage: Passage
    answers: tuple[str, ...]
    spans: tuple[Span, ...]

    @property
    def group(self) -> str:
        """Questions about one passage stay together in a fraction of the data."""
        return self.passage.text

    @property
    def texts(self) -> tuple[tuple[str, ...], ...]:
        """The tokenised texts that an encoder must see: the whole passage is one."""
        return self.tokens, self.passage.tokens

    @property
    def slice_words(self) -> tuple[str, ...]:
        """The words that decide to which slices of test it belongs.

        They are the words of the question and its answers.
        """
        words = list(self.tokens)
        for first, last in self.spans:
            words += self.passage.tokens[first : last + 1]
        return tuple(words)

    @property
    def gold(self) -> tuple[str, ...]:
        return self.answers


class Builder:
    """Makes examples; a passage is tokenised once."""

    def __init__(self) -> None:
        self.passages: dict[str, Passage] = {}

    def questions(
        self, entries: Iterable[Entry], where: Path | str, *, answered: bool = True
    ) -> list[Question]:
        """The examples of entries; `where` is their file, or a name for messages.

        Answers that end within a token are widened to whole tokens, with a note. Raises
        UserError with file, line and question if an answer is not at its character,
        empty or missing, if a text has no words, or if two questions have the same id.
        Without `answered`, answers may be missing, and so may the character of one.
        """
        questions = []
        seen: set[str] = set()
        answers = widened = 0
        for entry in entries:
            if entry.id in seen:
                second = _at(where, entry, occurrence=2)
                raise UserError(
                    f"{second}: a second question with this id. Remove one of them."
                )
            seen.add(entry.id)
            question = self._question(entry, where, answered=answered)
            questions.append(question)
            placed = [text for text, start in entry.answers if start >= 0]
            for text, span in zip(placed, question.spans, strict=True):
                answers += 1
                if question.passage.cut(*span) != text.strip():
                    widened += 1
        if widened:
            note(
                f"{widened} of {answers} answers end within a token; "
                "training uses the whole tokens",
                Path(where),
            )
        return questions

    def _question(self, entry: Entry, where: Path | str, *, answered: bool) -> Question:
        """The example of an entry. Raises UserError."""
        passage = self._passage(entry.passage)
        tokens, _ = question_tokens(entry.question)
        if not tokens or not passage.tokens:
            empty = "passage" if tokens else "question"
            raise UserError(
                f"{_at(where, entry)}: its {empty} has no words. Remove it."
            )
        if answered and not entry.answers:
            raise UserError(
                f"{_at(where, entry)}: no answers. Use SQuAD 1.1, which has at least "
                "one (2.0 is a different task)."
            )
        spans = []
        for text, start in entry.answers:
            if start < 0 and not answered:
                continue
            is_there = start >= 0 and entry.passage.startswith(text, start)
            if not (is_there and text.strip()):
                there = entry.passage[max(start, 0) :][: len(text)]
                raise UserError(
                    f"{_at(where, entry)}: answer {text!r} is not at character "
                    f"{start}, where the passage has {there!r}. Fix it."
                )
            spans.append(_widened(passage, start, start + len(text)))
        answers = tuple(text for text, _ in entry.answers)
        return Question(entry.id, tokens, passage, answers, tuple(spans))

    def _passage(self, text: str) -> Passage:
        if text not in self.passages:
            self.passages[text] = Passage(text, *passage_tokens(text))
        return self.passages[text]


def _at(where: Path | str, entry: Entry, *, occurrence: int = 1) -> str:
    line = ""
    if isinstance(where, Path):
        line = f":{line_of(where, entry.id, occurrence=occurrence)}"
    return f"{where}{line}: question {entry.id}"


def _widened(passage: Passage, start: int, end: int) -> tuple[int, int]:
    """First and last token with characters in start:end.

    That is not white space alone.
    """
    offsets = passage.offsets
    last = bisect_left(offsets, end, key=lambda span: span[0]) - 1
    first = bisect_right(offsets, start, key=lambda span: span[1])
    return min(first, last), last
