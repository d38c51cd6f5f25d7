"""The mini suite: sentences from templates and the names of the invented world, with gold by construction.

A third of the names and two fifths of the templates never occur in train. Many names denote a person, a place, an
organisation or a ship, so memorising names helps little: the context decides.
"""

import random
import re

from elmo_bench.text.sentence import TaggedSentence
from elmo_bench.world import names
from elmo_bench.world.draws import distinct, pick
from elmo_bench.world.templates import templates_beside

SIZES = {"train": 1000, "dev": 250, "test": 250}
TYPES = {"PER": "PER", "LAST": "PER", "MAN": "PER", "WOMAN": "PER", "LOC": "LOC", "ORG": "ORG", "CLUB": "ORG"}
TYPES |= {"CONTEST": "MISC", "BATTLE": "MISC", "WORK": "MISC"}
OWN = 0.6  # share of a split's sentences with templates of that split only; the others use shared templates
LEAD = 0.15  # share of the sentences that start with one of these
LEADS = ("Meanwhile ,", "As expected ,", "It was said that", "According to the report ,", "The newspaper wrote that")


def _forms(patterns: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(pattern.format("{shared}") for pattern in patterns)


# The alternatives of a slot, equally likely; of NAMES, train uses only those that `pick` gives it.
FORMS = {
    "PER": ("{LAST}", "{MAN}", "{WOMAN}", "{man}", "{woman}", "{initial} {LAST}"),
    "LAST": ("{shared}", "{shared}", "{surname}", "{wordlike}"),
    "MAN": ("{man} {LAST}",),
    "WOMAN": ("{woman} {LAST}",),
    "LOC": ("{shared}", "{shared}", "{shared}", "{town}", "{region}", "{place}"),
    "ORG": ("{shared}", "{shared}", "{shared}", "{firm}", "{firm}", "{office}", "{coined}", "{acronym}"),
    "CLUB": ("{shared}", "{shared}", "{club}"),
    "WORK": ("{shared}", "{work}", "{work}"),
    "initial": tuple(f"{letter}." for letter in "ABCDEGHJKLMNPRST"),
    "title": names.TITLES,
    "job": names.JOBS,
    "product": names.PRODUCTS,
    "day": names.DAYS,
    "month": names.MONTHS,
    "year": tuple(map(str, range(1890, 2011))),
    "number": tuple(map(str, range(12, 91))),
}
NAMES = {
    "man": names.MEN,
    "woman": names.WOMEN,
    "surname": names.SURNAMES,
    "shared": names.SHARED,
    "wordlike": names.WORDLIKE,
    "town": names.TOWNS,
    "region": names.REGIONS,
    "place": _forms(names.PLACE_FORMS),
    "firm": _forms(names.FIRMS),
    "office": _forms(names.OFFICES),
    "club": _forms(names.CLUBS),
    "coined": names.FIRM_NAMES,
    "acronym": names.ACRONYMS,
    "CONTEST": _forms(names.CONTESTS),
    "BATTLE": _forms(names.BATTLES),
    "work": names.WORKS,
}


def generate(*, seed: int = 0) -> dict[str, list[TaggedSentence]]:
    """{"train": 1,000, "dev": 250, "test": 250 sentences}, none of them twice; equal for equal seeds everywhere."""
    groups = templates()

    def draw(rng: random.Random, split: str, _: int) -> TaggedSentence:
        unseen = split != "train"
        own = groups["unseen" if unseen else "train"]
        template = rng.choice(own if rng.random() < OWN else groups["shared"])
        return _fill(template, rng, unseen=unseen)

    return distinct(SIZES, seed, draw)


# Groups: train, shared, unseen.
templates = templates_beside(__file__)


def _fill(template: str, rng: random.Random, *, unseen: bool) -> TaggedSentence:
    if re.match(r"{[A-Z]|The ", template) and rng.random() < LEAD:
        template = f"{rng.choice(LEADS)} {re.sub('^The ', 'the ', template)}"
    tokens: list[str] = []
    tags: list[str] = []
    for part in template.split():
        kind = TYPES.get(part[1:-1])
        words = _expand(part, rng, unseen=unseen).split()
        tokens += words
        tags += [f"{'I' if place else 'B'}-{kind}" if kind else "O" for place in range(len(words))]
    tokens[0] = tokens[0][:1].upper() + tokens[0][1:]
    return TaggedSentence(tuple(tokens), tuple(tags))


def _expand(text: str, rng: random.Random, *, unseen: bool) -> str:
    """The text with every {slot} replaced, slots within slots too."""

    def one(slot: re.Match) -> str:
        forms = FORMS.get(slot[1])
        drawn = rng.choice(forms) if forms else pick(NAMES[slot[1]], rng, unseen=unseen)
        return _expand(drawn, rng, unseen=unseen)

    return re.sub(r"{(\w+)}", one, text)
