"""How often does a verdict of the leaderboard err?  python benchmarks/verdicts.py [--trials 2000] [--family]

Two systems that are equally good in truth are trained with a few seeds and scored on items drawn anew in each trial;
the share of trials with p <= 0.05 is the rate of false alarms, which should be 5 % and at most 6.5 %. Then one of them
is 2 points better in truth: the share of trials that find it is the power.

An item is easy or hard for both systems and more so for one of them; the items of a cluster are alike; a seed shifts
all scores of its run, and decides single items. A floor, such as word counts of one's own data, has one run in which
nothing is drawn. On a fraction of the training data two systems share the subset of a seed, which shifts both alike.

With --family: the false alarms of one test among FAMILY, at 0.05 / FAMILY, in the worlds where seeds matter most, and
how often at least one of so many independent tests then errs, which should be 5 %.
"""

import argparse
from itertools import product
from typing import NamedTuple

import numpy as np

from elmo_bench.base.metric import ITEMS, columns, main_figure
from elmo_bench.reporting.significance import difference, over_seeds
from elmo_bench.text.figures import LabelAccuracy

ACCURACY = LabelAccuracy()
LEVEL = 0.05
FAMILY = 18  # the primary tests of table 1
NAMES = ("correct", ITEMS)


class World(NamedTuple):
    """Standard deviations in points of a score in percent."""

    name: str
    items: int
    clusters: int
    seeds: tuple[float, float]  # of the two systems


# Where seeds matter more than items, which strains the degrees of freedom.
STRAINED = [World("seeds matter", 5000, 5000, (1.5, 1.5)), World("seeds of one system matter", 5000, 5000, (3.0, 0.5))]
WORLDS = [
    World("items matter", 1000, 1000, (0.3, 0.3)),
    World("items in clusters", 1200, 300, (0.3, 0.3)),
    *STRAINED,
    World("seeds differ somewhat", 2000, 2000, (1.5, 0.75)),
    World("both matter", 1000, 1000, (1.0, 1.0)),
]


class Design(NamedTuple):
    """How many runs the two systems have."""

    name: str
    seeds: tuple[int, int]
    has_floor: bool = False  # the second system is one
    paired: bool = False  # by seed, on a fraction of the training data


EVEN = [Design("3 and 3", (3, 3)), Design("5 and 5", (5, 5))]
UNEVEN = [
    Design("3 and 5", (3, 5)),
    Design("2 and 5", (2, 5)),
    Design("3 and a floor", (3, 1), has_floor=True),
    Design("2 and a floor", (2, 1), has_floor=True),
    Design("3 on a fraction", (3, 3), paired=True),
]
SUBSETS = 2.0  # standard deviation of what a subset does to both systems, in points


def trial(world: World, rng: np.random.Generator, *, design: Design, better: float) -> float:
    """The p-value of one comparison."""
    number = np.arange(world.items) * world.clusters // world.items  # the cluster of each item
    skill = rng.normal(0, 1.2, world.clusters)[number]
    own = rng.normal(0, 0.6, (2, world.clusters))[:, number]
    chance = 1 / (1 + np.exp(-(0.6 + skill + own)))  # [2, items]
    most = max(design.seeds)
    shift = rng.normal(0, 1, (2, most, 1)) * np.array(world.seeds)[:, None, None] / 100
    shift[0] += better / 100
    if design.has_floor:
        shift[1] = 0.0
    if design.paired:
        shift += rng.normal(0, SUBSETS, (1, most, 1)) / 100
    correct = (rng.random((2, most, world.items)) < chance[:, None] + shift).astype(float)
    arms = [runs[:count] for runs, count in zip(correct, design.seeds, strict=True)]
    scores = [100 * arm.mean(axis=1) for arm in arms]
    if design.paired:
        seeds = [over_seeds((scores[0] - scores[1]).tolist())]
    else:
        drawn = (True, not design.has_floor)
        seeds = [over_seeds(own.tolist(), is_drawn=of_arm) for own, of_arm in zip(scores, drawn, strict=True)]
    known = [variance for variance in seeds if variance is not None]
    ours, theirs = (np.stack([columns(ACCURACY, {"correct": run}, NAMES) for run in arm]) for arm in arms)
    return difference(ours, theirs, main_figure(ACCURACY, NAMES), known, number, paired=design.paired).p


def rate(world: World, *, design: Design, better: float, trials: int, level: float = LEVEL) -> float:
    """The share of trials with p <= level."""
    rng = np.random.default_rng(max(design.seeds))
    found = [trial(world, rng, design=design, better=better) <= level for _ in range(trials)]
    return float(np.mean(found))


def of_a_family(trials: int) -> None:
    """Print the table of --family."""
    print(f"| world | runs | false alarms at {LEVEL} / {FAMILY} | at least one of {FAMILY} |")
    print("|---|---|---:|---:|")
    for world, design in product(STRAINED, EVEN):
        alarms = rate(world, design=design, better=0.0, trials=trials, level=LEVEL / FAMILY)
        any_alarm = 1 - (1 - alarms) ** FAMILY
        print(f"| {world.name} | {design.name} | {100 * alarms:.2f} % | {100 * any_alarm:.1f} % |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--family", action="store_true", help="verdicts of a whole family")
    options = parser.parse_args()
    trials = options.trials
    if options.family:
        of_a_family(trials)
        return
    print("| world | runs | false alarms | power at 2 points |")
    print("|---|---|---:|---:|")
    for world, design in [*product(WORLDS, EVEN), *product(STRAINED, UNEVEN)]:
        false, power = (rate(world, design=design, better=better, trials=trials) for better in (0.0, 2.0))
        print(f"| {world.name} | {design.name} | {100 * false:.1f} % | {100 * power:.1f} % |", flush=True)


if __name__ == "__main__":
    main()
