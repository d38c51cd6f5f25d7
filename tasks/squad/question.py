"""The example of this task."""

from dataclasses import dataclass

Span = tuple[int, int]


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
    """A question about a passage. `spans` are the tokens of each answer, first and last, widened to whole tokens."""

    id: str
    tokens: tuple[str, ...]
    passage: Passage
    answers: tuple[str, ...]
    spans: tuple[Span, ...]

    @property
    def group(self) -> str:
        """Questions about one passage stay together in a fraction of the training data."""
        return self.passage.text

    @property
    def texts(self) -> tuple[tuple[str, ...], ...]:
        """The tokenised texts that an encoder must see: the whole passage is one."""
        return self.tokens, self.passage.tokens

    @property
    def slice_words(self) -> tuple[str, ...]:
        """The words that decide to which slices of test it belongs: of the question and its answers."""
        return (*self.tokens, *(word for first, last in self.spans for word in self.passage.tokens[first : last + 1]))

    @property
    def gold(self) -> tuple[str, ...]:
        return self.answers
