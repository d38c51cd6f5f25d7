"""The mini suite: opinions about places, firms and events of the invented world, with gold by construction.

A third of the words and names and two fifths of the templates never occur in train. The label depends on how words
combine, not on which words there are: a cold beer is good and a cold soup is not; "not", "nobody" and "a lie" reverse a
judgement; after "but" the second half counts; and "whether" leaves the matter open.
"""

import random
from typing import NamedTuple

from elmo_bench import world
from elmo_bench.tasks.sst5.lexicon import CLEAR, MIXED, SAME, STRONGER, SUBJECTS, WEAKER
from elmo_bench.tasks.sst5.trees import Tree
from elmo_bench.world.draws import Writer, distinct
from elmo_bench.world.templates import templates_beside

SIZES = {"train": 4000, "dev": 250, "test": 250}


class Part(NamedTuple):
    """Words and the nodes over them, (label, start, end) in pre-order; the first node covers all words."""

    words: list[str]
    nodes: list[tuple[int, int, int]]

    @property
    def value(self) -> int:
        """From -2, very negative, to 2."""
        return self.nodes[0][0] - 2


def generate(*, seed: int = 0) -> dict[str, list[Tree]]:
    """{"train": 4000, "dev": 250, "test": 250 trees}, none twice, labels balanced; equal for equal seeds."""
    here = world.build(seed=seed)

    def draw(rng: random.Random, split: str, number: int) -> Tree | None:
        words, nodes = _Writer(rng, here, unseen=split != "train").sentence()
        words = [words[0][:1].upper() + words[0][1:], *words[1:], "."]
        label = number % 5  # each label in turn
        return Tree(tuple(words), ((label, 0, len(words)), *nodes[1:])) if nodes[0][0] == label else None

    return distinct(SIZES, seed, draw)


templates = templates_beside(__file__)


class _Writer(Writer):
    def sentence(self) -> Part:
        """A sentence without its full stop."""
        kind = self.rng.choice(list(templates()))
        if kind == "facts":
            return self._fill(kind, 0)
        if kind in ("contrast", "agreement"):
            first, second = self._clause(), self._clause()
            if not first.value or _sign(first) != _sign(second) * (-1 if kind == "contrast" else 1):
                return self.sentence()
            return self._fill(kind, _sign(second) * (1 if kind == "contrast" else 2), first=first, second=second)
        clause = self._clause(kind if kind in ("state", "denied") else None)
        if kind in ("state", "denied"):
            return clause
        value = {"right": clause.value, "wrong": -_sign(clause), "open": 0}[kind]
        return self._fill(kind, value, clause=clause)

    def _clause(self, kind: str | None = None) -> Part:
        kind = kind or self.rng.choice(["state", "denied"])
        noun, judgement = self._judgement(modest=kind == "denied")
        value = judgement.value if kind == "state" else -_sign(judgement)
        return self._fill(kind, value, noun=_words(noun), ap=judgement)

    def _judgement(self, *, modest: bool) -> tuple[str, Part]:
        """A noun and a judgement of it; `modest`: in a form that can be denied."""
        if self.rng.random() < 0.5:
            word = self.rng.choice(list(MIXED))
            value = self.rng.choice([-1, 1])
            noun = self.pick(MIXED[word][value < 0])
        else:
            value = self.rng.choice(list(CLEAR))
            noun, word = self.pick(SUBJECTS), self.pick(CLEAR[value])
        degree = self.rng.random()
        if degree < 0.4 and abs(value) == 1:
            return noun, _words(f"{'very' if modest else self.pick(STRONGER)} {word}", 2 * value)
        if degree < 0.6 and not modest:
            return noun, _words(f"{self.pick(WEAKER if abs(value) == 2 else SAME)} {word}", max(-1, min(1, value)))
        return noun, _words(word, value)

    def _fill(self, kind: str, value: int, **parts: Part) -> Part:
        """A template of that kind with its slots filled, as one node of that value."""
        lines = self.lines(templates()[kind])
        person, other = self.pick(self.here.people), self.pick(self.here.people)
        firm, event = self.pick(self.here.organisations), self.pick(self.here.events)
        where = self.rng.choice(["", "at the {event}", "at {firm}", "in {seat}"])
        texts = {
            "person": person.name, "job": person.job, "home": person.home.name, "employer": person.employer.name,
            "other": other.name, "firm": firm.name, "product": firm.product, "seat": firm.seat.name,
            "event": event.name, "venue": event.place.name, "month": event.month, "year": str(event.year),
        }  # fmt: skip
        words: list[str] = []
        inner: list[tuple[int, int, int]] = []
        for slot in self.rng.choice(lines).replace("{where}", where).removeprefix("* ").split():
            part = parts.get(slot[1:-1]) or _words(texts.get(slot[1:-1], slot))
            inner += [(label, start + len(words), end + len(words)) for label, start, end in part.nodes]
            words += part.words
        return Part(words, [(value + 2, 0, len(words)), *inner])


def _words(text: str, value: int = 0) -> Part:
    words = text.split()
    return Part(words, [(value + 2, 0, len(words))])


def _sign(part: Part) -> int:
    return (part.value > 0) - (part.value < 0)
