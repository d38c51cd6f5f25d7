"""The example of this task, and its sentence."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Sentence:
    """Tokens, and what is needed to write the file again that they came from."""

    tokens: tuple[str, ...]
    number: int  # position in its file, from 0, also counting sentences without a predicate
    gap: tuple[int, ...] = ()  # lengths of the sentences without a predicate right before this one
    rest: tuple[int, ...] = ()  # and after it, if it is the last one with a predicate


@dataclass(frozen=True)
class Proposition:
    """One predicate in its sentence and the roles around it; its tags are valid BIO."""

    sentence: Sentence
    predicate: int  # the token
    lemma: str  # its name in a props file
    tags: tuple[str, ...] | None  # None: unknown
    verb: bool | None = field(default=None, compare=False)  # whether the predicate is one; None: its file does not say

    @property
    def group(self) -> Sentence:
        """The predicates of a sentence stay together in a fraction of the training data."""
        return self.sentence

    @property
    def texts(self) -> tuple[tuple[str, ...], ...]:
        return (self.sentence.tokens,)

    @property
    def marks(self) -> dict[str, bool]:
        """For scores of verbs alone."""
        return {} if self.verb is None else {"is_verb": self.verb}

    @property
    def gold(self) -> tuple[str, ...] | None:
        return self.tags
