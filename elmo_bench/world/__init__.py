"""A small invented world that the generated data of several tasks is about: people, places, organisations, events.

`build` makes it from the names in `names.py`: the same world for the same seed on every machine.
"""

import random
from dataclasses import dataclass

from elmo_bench.world import names


@dataclass(frozen=True)
class Place:
    name: str
    region: str


@dataclass(frozen=True)
class Organisation:
    name: str
    seat: Place
    product: str


@dataclass(frozen=True)
class Person:
    first: str
    last: str
    woman: bool
    job: str
    home: Place
    employer: Organisation

    @property
    def name(self) -> str:
        return f"{self.first} {self.last}"


@dataclass(frozen=True)
class Event:
    name: str
    place: Place
    month: str
    year: int


@dataclass(frozen=True)
class World:
    places: tuple[Place, ...]
    organisations: tuple[Organisation, ...]
    people: tuple[Person, ...]
    events: tuple[Event, ...]


def build(*, seed: int) -> World:
    """A world of 200 people (distinct names), 80 organisations and 40 events; every town and shared name is a place."""
    rng = random.Random(seed)
    places = tuple(Place(name, rng.choice(names.REGIONS)) for name in names.TOWNS + names.SHARED)
    patterns = [(pattern, stem) for pattern in names.FIRMS for stem in names.SHARED + names.FIRM_NAMES]
    firms = tuple(
        Organisation(pattern.format(stem), rng.choice(places), rng.choice(names.PRODUCTS))
        for pattern, stem in rng.sample(patterns, 80)
    )
    pairs = [(first, last) for first in names.WOMEN + names.MEN for last in names.SURNAMES + names.SHARED]
    persons = tuple(
        Person(first, last, first in names.WOMEN, rng.choice(names.JOBS), rng.choice(places), rng.choice(firms))
        for first, last in rng.sample(pairs, 200)
    )
    held = [(pattern, place) for pattern in names.CONTESTS + names.BATTLES for place in places]
    happenings = tuple(
        Event(pattern.format(place.name), place, rng.choice(names.MONTHS), rng.randint(1890, 2010))
        for pattern, place in rng.sample(held, 40)
    )
    return World(places, firms, persons, happenings)
