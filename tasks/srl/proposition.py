"""The one item of this task, and the sentence that it is about."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Sentence:
    """Tokens, and what must be known to write the file again that they came from."""

    tokens: tuple[str, ...]
    number: int  # of the sentences in its file, from 0, those without a predicate counted too
    gap: tuple[int, ...] = ()  # numbers of tokens of the sentences without a predicate right before this one
    rest: tuple[int, ...] = ()  # and behind it, where it is the file's last with a predicate


@dataclass(frozen=True)
class Proposition:
    """One predicate in its sentence and the roles around it; its tags are valid BIO."""

    sentence: Sentence
    predicate: int  # the token
    lemma: str  # what a props file calls it
    tags: tuple[str, ...] | None  # None: not told

    @property
    def group(self) -> Sentence:
        """The predicates of a sentence stay together in a part of the training data."""
        return self.sentence

    @property
    def texts(self) -> tuple[tuple[str, ...], ...]:
        """The tokenised texts that an encoder must see."""
        return (self.sentence.tokens,)

    @property
    def gold(self) -> tuple[str, ...] | None:
        """What predictions are compared with."""
        return self.tags
