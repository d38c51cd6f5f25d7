"""Writes a document of the mini suite: chooses names and pronouns by what was said before."""

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from elmo_bench import world
from elmo_bench.tasks.coref.conll import tidy
from elmo_bench.tasks.coref.document import Document, Span

PRONOUNS = {"s": ("he", "she"), "o": ("him", "her"), "p": ("his", "her")}  # by gender: man, woman
SPEECH = {"I": "I", "me": "me", "my": "my", "you": "you", "your": "your"}


@dataclass(frozen=True)
class Cast:
    """What a document is about."""

    people: tuple[world.Person, ...]  # two; the first works for the firm and lives in the town
    speakers: tuple[world.Person, ...]  # two, of a talk
    firm: world.Organisation
    town: world.Place
    event: world.Event
    fillers: Mapping[str, Sequence[str]]


class Teller:
    """Fills templates one after the other and records the chains.

    "he" refers to the only man, or to the subject of the previous sentence; "him" can also refer to the man who is not
    the subject. Otherwise a name or the job is used.
    """

    def __init__(self, rng: random.Random, cast: Cast):
        self.rng, self.cast, self.length = rng, cast, 0
        self.sentences: list[tuple[str, ...]] = []
        self.speakers: list[str] = []
        self.chains: defaultdict[Any, list[Span]] = defaultdict(list)
        self.known: list[world.Person] = []  # people, in the order of their first mentions
        self.jobs: set[world.Person] = set()  # whose jobs were told
        self.before: world.Person | None = None  # the subject of the previous sentence
        self.subject: world.Person | None = None  # of this one, once it was named
        self.last: set[world.Person] = set()  # people in the previous sentence
        self.now: set[world.Person] = set()  # people in this one, so far

    def tell(self, template: str, subject: world.Person, *, speaker: int = 0) -> None:
        """Write a sentence with that subject, said by that speaker if it is in a talk."""
        self.before, self.last, self.subject, self.now = self.subject, self.now, None, set()
        first, second = self.cast.people
        roles = {"A": subject, "B": second if subject is first else first}
        words: list[str] = []
        for part in template.removeprefix("* ").split():
            slot, _, form = part[1:-1].partition(".")
            begin = self.length + len(words)
            if not part.startswith("{"):
                words.append(part)
            elif slot in roles:
                words += self._person(roles[slot], form, begin)
            elif slot in SPEECH:
                person = self.cast.speakers[speaker if SPEECH[slot] in ("I", "me", "my") else 1 - speaker]
                words += self._mention(person, person.first if form == "v" else SPEECH[slot], begin)
            elif slot in self.cast.fillers:
                words += self.rng.choice(self.cast.fillers[slot]).split()
            else:
                words += self._thing(slot, form, begin)
        for place, (word, following) in enumerate(pairwise(words)):
            if word in ("a", "A") and following[0] in "aeiou":
                words[place] += "n"
        words[0] = words[0][:1].upper() + words[0][1:]
        self.sentences.append(tuple(words))
        self.length += len(words)
        self.speakers += ["_".join(self.cast.speakers[speaker].name.split())] * len(words)

    def document(self, name: str, *, genre: str, talk: bool) -> Document:
        """The document so far; a thing mentioned once has no chain."""
        speakers = self.speakers if talk else ["-"] * self.length
        chains = tidy(sorted(sorted(spans) for spans in self.chains.values()))[0]
        return Document(name, "000", genre, tuple(self.sentences), tuple(speakers), chains)

    def _person(self, person: world.Person, form: str, begin: int) -> list[str]:
        if form == "job":
            self.jobs.add(person)
            return [person.job]
        if form not in ("o", "p") and self.subject is None:
            self.subject = person
        text = self._called(person, form)
        if person not in self.known:
            self.known.append(person)
        self.now.add(person)
        return self._mention(person, text, begin)

    def _called(self, person: world.Person, form: str) -> str:
        """A name or pronoun for a person; form: "" as subject, `o` as object, `n` by name, `s` and `p` by pronoun."""
        if form in ("s", "p"):
            return PRONOUNS[form][person.woman]
        if form == "n" or person not in self.known:
            return person.name
        if self._clear(person, form) and self.rng.random() < 0.65:
            return PRONOUNS[form or "s"][person.woman]
        names = [person.last, person.last, person.first]
        return self.rng.choice(names + 3 * [f"the {person.job}"] if person in self.jobs else names)

    def _clear(self, person: world.Person, form: str) -> bool:
        """Whether a pronoun would be unambiguous."""
        rivals = {rival for rival in self.known if rival is not person and rival.woman == person.woman}
        if form == "o":
            return person in self.last | self.now and rivals & (self.last | self.now) <= {self.subject}
        return not rivals & self.now and (person is self.before or (not rivals and person in self.last | self.now))

    def _thing(self, slot: str, form: str, begin: int) -> list[str]:
        """The firm, the town or the event: by name, or if already mentioned perhaps by its kind."""
        firm, town, event = self.cast.firm, self.cast.town, self.cast.event
        thing, name, kinds = {
            "F": (firm, firm.name, ("the firm", "the company")),
            "T": (town, town.name, ("the town",)),
            "E": (event, f"the {event.name}", (f"the {event.name.split()[-1].lower()}",)),
        }[slot]
        if thing in self.chains and form == "p" and self.subject is not None:
            owner = PRONOUNS["p"][self.subject.woman]
            self._mention(self.subject, owner, begin)
            return self._mention(thing, f"{owner} firm", begin)
        if thing in self.chains and self.rng.random() < 0.5:
            name = self.rng.choice(kinds)
        return self._mention(thing, name, begin)

    def _mention(self, thing: Any, text: str, begin: int) -> list[str]:
        words = text.split()
        self.chains[thing].append((begin, begin + len(words) - 1))
        return words
