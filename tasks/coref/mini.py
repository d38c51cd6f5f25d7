"""The mini suite: short documents about people of the invented world, with chains by construction.

Stories have two people, often of one gender, and talks have two speakers. Every pronoun is unambiguous: where a reader
could doubt, a name or "the baker" is used instead. A third of the people and two fifths of the templates never occur in
train, and many surnames are also towns and firms.
"""

import random

from elmo_bench import world
from elmo_bench.tasks.coref.document import Document
from elmo_bench.tasks.coref.teller import Cast, Teller
from elmo_bench.world import names
from elmo_bench.world.draws import Writer
from elmo_bench.world.templates import templates_beside

SIZES = {"train": 120, "dev": 40, "test": 40}
TOKENS = 95  # a document ends with the sentence that reaches this length
TALKS = 0.4  # share of the documents that are talks
SAME = 0.5  # share of the documents whose two people have the same gender by choice
OWN = 0.4  # share of the sentences of dev and test with templates that train lacks
CONTESTS = {pattern.split()[-1] for pattern in names.CONTESTS}


def generate(*, seed: int = 0) -> dict[str, list[Document]]:
    """{"train": 120, "dev": 40, "test": 40 documents}; equal for equal seeds everywhere."""
    rng, here = random.Random(seed), world.build(seed=seed)
    splits = {}
    for split, size in SIZES.items():
        writer = _Writer(rng, here, unseen=split != "train")
        splits[split] = [writer.document(f"{split}_{number:03d}") for number in range(size)]
    return splits


templates = templates_beside(__file__)


class _Writer(Writer):
    def document(self, name: str) -> Document:
        """A story or a talk."""
        talk = self.rng.random() < TALKS
        cast = self._cast()
        teller = Teller(self.rng, cast)
        done: set[str] = set()
        while teller.length < TOKENS:
            if talk:
                kind, subject = "talk", self._subject(teller)
            elif len(teller.known) == 2:
                kind, subject = "story", self._subject(teller)
            else:
                kind, subject = "second" if teller.known else "first", cast.people[0]
            line = self._template(kind, done, own="{F.p}" if subject is cast.people[0] else "")
            done.add(line)
            teller.tell(line, subject, speaker=len(done) % 2 if len(done) < 3 else self.rng.randrange(2))
        genre = "tc" if talk else "st"
        return teller.document(f"{genre}/{name}", genre=genre, talk=talk)

    def _subject(self, teller: Teller) -> world.Person:
        """The subject of the next sentence: the same as before, half of the time."""
        if teller.subject is not None and self.rng.random() < 0.5:
            return teller.subject
        return self.rng.choice(teller.cast.people)

    def _cast(self) -> Cast:
        """Two people and two speakers who share no name and no job, and the firm, town and event of the first."""
        hero = self.pick(self.here.people)
        event = self.pick([event for event in self.here.events if event.name.split()[-1] in CONTESTS])
        named = {hero.home.name, event.place.name, hero.employer.name.split()[0]}
        same = self.rng.random() < SAME
        group = [hero]
        while len(group) < 4:
            person = self.pick(self.here.people)
            if len(group) == 1 and same:  # a rival
                person = self.pick([one for one in self.here.people if one.woman == hero.woman])
            if len(group) == 1 and self.rng.random() < 0.5:  # one whose surname is a place or a firm here
                person = self.rng.choice([one for one in self.here.people if one.last in named] or [person])
            if all({person.first, person.last, person.job}.isdisjoint((p.first, p.last, p.job)) for p in group):
                group.append(person)
        fillers = {
            "trade": [job for job in names.JOBS if job not in {person.job for person in group}],
            "away": [place.name for place in self.here.places if place.name not in named | {p.last for p in group}],
            "month": names.MONTHS,
            "year": tuple(map(str, range(1890, 2011))),
            "product": names.PRODUCTS,
        }
        return Cast(tuple(group[:2]), tuple(group[2:]), hero.employer, hero.home, event, fillers)

    def _template(self, kind: str, done: set[str], *, own: str) -> str:
        lines = [line for line in templates()[kind] if line not in done and (own or "{F.p}" not in line)]
        return self.rng.choice(self.lines(lines, OWN) or lines[:3])
