"""The mini suite: who did what to whom in the invented world, when and where, with gold by construction.

A third of the words, names and templates never occur in train. Anybody can give, get and be given: roles depend on word
order, voice, relative clauses and the predicate, and a sentence has several predicates.
"""

import random
import re
from dataclasses import dataclass, field

from elmo_bench import world
from elmo_bench.tasks.srl.lexicon import ADJECTIVES, MANNERS, MODALS, OPENED, SCENES, THINGS, TIMES, VERBS
from elmo_bench.tasks.srl.proposition import Proposition, Sentence
from elmo_bench.world import names
from elmo_bench.world.draws import Writer, distinct
from elmo_bench.world.templates import templates_beside

SIZES = {"train": 1500, "dev": 150, "test": 150}  # sentences
CLAUSES = ("give", "get", "meet", "open", "work", "say", "want")
SIMPLE = ("give", "get", "meet", "open", "work")  # allowed within another clause
ADJUNCTS = {"when": ("ARGM-TMP", "time"), "where": ("ARGM-LOC", "scene"), "how": ("ARGM-MNR", "manner")}
ADJUNCT = 0.35  # probability of an adjunct
FORMS = ("base", "past", "part")


@dataclass
class Roles:
    """The roles of one predicate: its token, its lemma and (role, first token, last token)."""

    predicate: int = -1
    lemma: str = ""
    spans: list[tuple[str, int, int]] = field(default_factory=list)


@dataclass
class Part:
    """A piece of a sentence and the predicates in it."""

    words: list[str] = field(default_factory=list)
    roles: list[Roles] = field(default_factory=list)

    def add(self, other: "Part") -> None:
        """Append another piece."""
        shift = len(self.words)
        self.words += other.words
        for roles in other.roles:
            spans = [(role, start + shift, end + shift) for role, start, end in roles.spans]
            self.roles.append(Roles(roles.predicate + shift, roles.lemma, spans))


def generate(*, seed: int = 0) -> dict[str, list[Proposition]]:
    """The propositions of 1,500 / 150 / 150 sentences, none of them twice; equal for equal seeds everywhere."""
    here = world.build(seed=seed)

    def draw(rng: random.Random, split: str, _: int) -> Part:
        part = _Writer(rng, here, unseen=split != "train").part("sentence")
        part.words[0] = part.words[0][:1].upper() + part.words[0][1:]
        return part

    splits = distinct(SIZES, seed, draw, key=lambda part: tuple(part.words))
    return {
        split: [found for number, part in enumerate(parts) for found in _propositions(part, number)]
        for split, parts in splits.items()
    }


templates = templates_beside(__file__)


def _propositions(part: Part, number: int) -> list[Proposition]:
    sentence, found = Sentence(tuple(part.words), number), []
    for roles in sorted(part.roles, key=lambda roles: roles.predicate):
        tags = ["O"] * len(part.words)
        for role, start, end in roles.spans:
            tags[start : end + 1] = [f"B-{role}", *[f"I-{role}"] * (end - start)]
        found.append(Proposition(sentence, roles.predicate, roles.lemma, tuple(tags), verb=True))
    return found


class _Writer(Writer):
    def part(self, group: str) -> Part:
        """A line of that group, filled."""
        lines = self.lines(templates()[group])
        part, lemma = Part(), ""
        opened: list[tuple[str, str, int]] = []
        predicates: dict[str, Roles] = {}
        for token in self.rng.choice(lines).removeprefix("* ").split():
            if token == ")":
                number, role, start = opened.pop()
                roles = predicates.setdefault(number, Roles())
                roles.spans.append((role, start, len(part.words) - 1))
                if role == "V":
                    roles.predicate, roles.lemma = start, lemma
            elif opening := re.fullmatch(r"(\d)\((.+)", token):
                opened.append((opening[1], opening[2], len(part.words)))
            elif adjunct := re.fullmatch(r"{(\d):(\w+)}", token):
                if self.rng.random() < ADJUNCT:
                    role, slot = ADJUNCTS[adjunct[2]]
                    start = len(part.words)
                    part.add(self._fill(slot))
                    predicates.setdefault(adjunct[1], Roles()).spans.append((role, start, len(part.words) - 1))
            elif verb := re.fullmatch(r"{(\w+)\.(\w+)}", token):
                forms = self.pick(VERBS[verb[1]])
                lemma = forms[0]
                part.words.append(forms[FORMS.index(verb[2])])
            elif token.startswith("{"):
                part.add(self._fill(token[1:-1]))
            else:
                part.words.append(token)
        part.roles += predicates.values()
        return part

    def _fill(self, slot: str) -> Part:
        if slot in ("clause", "simple"):
            return self.part(self.rng.choice(CLAUSES if slot == "clause" else SIMPLE))
        if slot in templates():
            return self.part(slot)
        return Part(self._text(slot).split())

    def _text(self, slot: str) -> str:
        if slot == "name":
            return self.pick(self.here.people).name
        if slot == "firm":
            return self.pick(self.here.organisations).name
        if slot == "town":
            return self.pick(self.here.places).name
        if slot == "event":
            return self.pick(self.here.events).name
        if slot == "year":
            return str(self.rng.randint(1890, 2010))
        return self.pick(
            {
                "job": names.JOBS, "product": names.PRODUCTS, "month": names.MONTHS, "day": names.DAYS, "item": THINGS,
                "place": OPENED, "adjective": ADJECTIVES, "manner": MANNERS, "modal": MODALS, "moment": TIMES,
                "spot": SCENES,
            }[slot]
        )  # fmt: skip
