"""Drawing the words and sentences of a generated suite."""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from elmo_bench.world import World

Item = TypeVar("Item")

SEEN = 0.67  # share of a list that train uses; dev and test take half of their items from the rest


def distinct(
    sizes: Mapping[str, int],
    seed: int,
    draw: Callable[[random.Random, str, int], Any],
    *,
    key: Callable[[Any], Any] = lambda item: item.tokens,
) -> dict[str, list[Any]]:
    """{split: as many items as `sizes` says}, no two of which have the same key, by default their `tokens`.

    `draw(rng, split, number)` makes one, or nothing; `number` is how many the split has. Equal for equal seeds on every
    machine.
    """
    rng, done, splits = random.Random(seed), set(), {}
    for split, size in sizes.items():
        found: list[Any] = []
        while len(found) < size:
            item = draw(rng, split, len(found))
            if item and key(item) not in done:
                done.add(key(item))
                found.append(item)
        splits[split] = found
    return splits


def pick(items: Sequence[Item], rng: random.Random, *, unseen: bool, seen: float = SEEN) -> Item:
    """One of the items that train uses, which are a share `seen`; with `unseen`, half of the time one of the others."""
    cut = round(seen * len(items))
    return rng.choice(items[cut:] if unseen and rng.random() < 0.5 else items[:cut])


class Writer:
    """Writes about a world for train, or (`unseen`) for dev and test."""

    def __init__(self, rng: random.Random, here: World, *, unseen: bool):
        self.rng, self.here, self.unseen = rng, here, unseen

    def pick(self, items: Sequence[Item]) -> Item:
        """See `pick`."""
        return pick(items, self.rng, unseen=self.unseen)

    def lines(self, lines: Sequence[str], share: float = 0.5) -> list[str]:
        """The templates to choose from: those for dev and test only, which start with "* ", or the others.

        share: how often dev and test have one of the former.
        """
        marked = self.unseen and self.rng.random() < share
        return [line for line in lines if line.startswith("*") == marked]
