"""The mini suite: short passages about people of the invented world, and questions that need the passage.

Each passage says where three people live and lived, for whom and as what they work and worked, and who won two contests
and when, so that every question has several candidates of the right kind. Each passage draws these facts again, so that
other passages do not help. Dev and test are about other people and contests than train, and a quarter of their
sentences and questions follow patterns that train never has.
"""

import random
import re
from collections.abc import Sequence
from typing import TypeVar

from elmo_bench import world
from elmo_bench.tasks.squad.squad_json import Entry
from elmo_bench.world import names
from elmo_bench.world.draws import Writer, distinct
from elmo_bench.world.templates import templates_beside

SIZES = {"train": 400, "dev": 50, "test": 50}  # passages
ASKED = 5  # questions for each passage
TRAIN = 0.67  # share of the people and contests in train; dev and test have the rest
MARKED = 0.25  # share of the sentences and questions of dev and test with patterns that train lacks

Item = TypeVar("Item")
Facts = dict[str, str]  # slot -> text
Asked = tuple[str, tuple[str, int]]  # a question, and (answer, its first character)


def generate(*, seed: int = 0) -> dict[str, list[Entry]]:
    """{"train": 2,000, "dev": 250, "test": 250 questions}; equal for equal seeds everywhere."""
    here = world.build(seed=seed)
    forms = {form.split()[-1] for form in names.CONTESTS}
    contests = [event for event in here.events if event.name.split()[-1] in forms]

    def draw(rng: random.Random, split: str, _: int) -> tuple[str, list[Asked]]:
        people, events = _share(here.people, split), _share(contests, split)
        return _Writer(rng, people, events, here, unseen=split != "train").passage()

    splits = distinct(SIZES, seed, draw, key=lambda drawn: drawn[0])
    return {
        split: [
            Entry(f"{split} {at}", passage, f"{split}-{at * ASKED + number}", question, [answer])
            for at, (passage, questions) in enumerate(drawn)
            for number, (question, answer) in enumerate(questions)
        ]
        for split, drawn in splits.items()
    }


def _share(items: Sequence[Item], split: str) -> Sequence[Item]:
    cut = round(TRAIN * len(items))
    return items[:cut] if split == "train" else items[cut:]


templates = templates_beside(__file__)


class _Writer(Writer):
    """Writes passages about these people and contests."""

    def __init__(
        self,
        rng: random.Random,
        people: Sequence[world.Person],
        contests: Sequence[world.Event],
        here: world.World,
        *,
        unseen: bool,
    ):
        super().__init__(rng, here, unseen=unseen)
        self.people, self.contests = people, contests

    def passage(self) -> tuple[str, list[Asked]]:
        """A text, and questions about it."""
        people, events = self._people(), self._events()
        blocks = [[("home", facts), ("work", facts)] for facts in people]
        for block in blocks:
            self.rng.shuffle(block)
        for event in events:
            winner, loser = self.rng.sample(people, 2)
            event |= {"winner": winner["name"], "loser": loser["name"]}
            blocks.append([("event", event)])
        self.rng.shuffle(blocks)
        text, told = "", []
        for block in blocks:
            for number, (kind, facts) in enumerate(block):
                subject = facts if number == 0 else {**facts, "who": facts["she"], "who_object": facts["her_object"]}
                sentence, places = _fill(self._template(kind), subject)
                told.append((facts, {slot: len(text) + place for slot, place in places.items()}))
                text += sentence + " "
        return text.strip(), self._questions(told)

    def _questions(self, told: list[tuple[Facts, dict[str, int]]]) -> list[Asked]:
        """Distinct questions about the facts of the passage."""
        about: dict[str, tuple[Facts, dict[str, int]]] = {}  # all facts about a person or contest
        for facts, places in told:
            known = about.setdefault(facts["key"], (facts, {}))[1]
            known.update({slot: place for slot, place in places.items() if slot not in known})
        kinds = [kind for kind in templates() if kind.startswith("asks")]
        found: list[Asked] = []
        while len(found) < ASKED:
            kind, (facts, places) = self.rng.choice(kinds), self.rng.choice(list(about.values()))
            answer = kind.removeprefix("asks ").split(",")[0]
            line = self._template(kind)
            slots = {{"a_job": "job"}.get(slot, slot) for slot in re.findall(r"{(\w+)}", line)}
            if answer in places and slots <= places.keys():
                question, _ = _fill(line, facts)
                if all(question != other for other, _ in found):
                    found.append((question, (facts[answer], places[answer])))
        return found

    def _people(self) -> list[Facts]:
        """Three people with different names; all their homes and firms, former ones too, are different."""
        while True:
            chosen = self.rng.sample(self.people, 3)
            if len({part for person in chosen for part in (person.first, person.last)}) == 6:
                break
        places = self.rng.sample(self.here.places, 6)
        firms = self.rng.sample(self.here.organisations, 6)
        jobs = self.rng.sample(names.JOBS, 3)
        return [
            {
                "key": person.name, "name": person.name, "who": person.name, "who_object": person.name,
                "she": "She" if person.woman else "He", "her": "her" if person.woman else "his",
                "her_object": "her" if person.woman else "him", "home": places[n].name, "old_home": places[n + 3].name,
                "firm": firms[n].name, "old_firm": firms[n + 3].name, "product": firms[n].product, "job": jobs[n],
                "a_job": f"{'an' if jobs[n][0] in 'aeiou' else 'a'} {jobs[n]}",
            }
            for n, person in enumerate(chosen)
        ]  # fmt: skip

    def _events(self) -> list[Facts]:
        years = self.rng.sample(range(1890, 2011), 2)
        return [
            {"key": event.name, "event": event.name, "date": f"{self.rng.choice(names.MONTHS)} {year}"}
            for event, year in zip(self.rng.sample(self.contests, 2), years, strict=True)
        ]

    def _template(self, kind: str) -> str:
        return self.rng.choice(self.lines(templates()[kind], MARKED)).removeprefix("* ")


def _fill(template: str, facts: Facts) -> tuple[str, dict[str, int]]:
    """The sentence, and the first character of each slot's fact in it."""
    text, places = "", {}
    for number, part in enumerate(re.split(r"{(\w+)}", template)):
        if number % 2:
            filled = facts[part]
            slot = {"who": "name", "who_object": "name", "a_job": "job"}.get(part, part)
            if filled.endswith(facts.get(slot, "\n")):  # not a pronoun
                places[slot] = len(text) + len(filled) - len(facts[slot])
            text += filled
        else:
            text += part
    return text[:1].upper() + text[1:], places
