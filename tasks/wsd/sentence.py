"""The example of this task."""

from dataclasses import dataclass

# By the first digit of a sense key's second part (WordNet's manual, senseidx(5WN)); 5 is a satellite adjective.
PARTS_OF_SPEECH = {"1": "NOUN", "2": "VERB", "3": "ADJ", "4": "ADV", "5": "ADJ"}


@dataclass(frozen=True)
class Target:
    """An ambiguous word or phrase: tokens start to end - 1 of its sentence."""

    name: str  # in the evaluation data, such as senseval2.d000.s000.t000; elsewhere its number
    start: int
    end: int
    lemma: str
    pos: str  # NOUN, VERB, ADJ or ADV
    senses: tuple[str, ...]  # WordNet's sense keys, each of which is right; () if unknown
    first: str = ""  # the lemma's first sense in the list of first senses; empty in training, or if the list lacks it


@dataclass(frozen=True)
class Sentence:
    """A sentence and its targets, of which it has at least one."""

    tokens: tuple[str, ...]
    targets: tuple[Target, ...]

    @property
    def texts(self) -> tuple[tuple[str, ...]]:
        return (self.tokens,)

    @property
    def gold(self) -> tuple[Target, ...]:
        return self.targets


def entry(key: str) -> tuple[str, str]:
    """(lemma, part of speech) of a sense key: `recent%5:00:00:past:00` gives ("recent", "ADJ")."""
    lemma, _, rest = key.partition("%")
    return lemma.lower(), PARTS_OF_SPEECH.get(rest[:1], "")
