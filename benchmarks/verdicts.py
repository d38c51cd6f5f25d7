"""How often does a verdict of the leaderboard err?  python benchmarks/verdicts.py [--trials 2000]

Two systems that are equally good in truth are trained with a few seeds and scored on items drawn anew in each trial;
the share of trials with p <= 0.05 is the rate of false alarms, which should be 5 % and at most 6.5 %. Then one of them
is 2 points better in truth: the share of trials that find it is the power.

An item is easy or hard for both systems and more so for one of them; the items of a cluster are alike; a seed shifts
all scores of its run, and decides single items.
"""

import argparse
from typing import NamedTuple

import numpy as np

from elmo_bench.base.metric import ITEMS, columns, main_figure
from elmo_bench.reporting.significance import difference, over_seeds
from elmo_bench.text.figures import LabelAccuracy

ACCURACY = LabelAccuracy()
NAMES = ("correct", ITEMS)


class World(NamedTuple):
    """Standard deviations in points of a score in percent."""

    name: str
    items: int
    clusters: int
    seeds: tuple[float, float]  # of the two systems


WORLDS = [
    World("items matter", 1000, 1000, (0.3, 0.3)),
    World("items in clusters", 1200, 300, (0.3, 0.3)),
    World("seeds matter", 5000, 5000, (1.5, 1.5)),
    World("seeds of one system matter", 5000, 5000, (3.0, 0.5)),
    World("seeds differ somewhat", 2000, 2000, (1.5, 0.75)),
    World("both matter", 1000, 1000, (1.0, 1.0)),
]


def trial(world: World, rng: np.random.Generator, *, seeds: int, better: float) -> float:
    """The p-value of one comparison."""
    number = np.arange(world.items) * world.clusters // world.items  # the cluster of each item
    skill = rng.normal(0, 1.2, world.clusters)[number]
    own = rng.normal(0, 0.6, (2, world.clusters))[:, number]
    chance = 1 / (1 + np.exp(-(0.6 + skill + own)))  # [2, items]
    shift = rng.normal(0, 1, (2, seeds, 1)) * np.array(world.seeds)[:, None, None] / 100
    shift[0] += better / 100
    correct = (rng.random((2, seeds, world.items)) < chance[:, None] + shift).astype(float)
    ours, theirs = (np.stack([columns(ACCURACY, {"correct": run}, NAMES) for run in arm]) for arm in correct)
    one, other = (over_seeds((100 * arm.mean(axis=1)).tolist()) for arm in correct)
    assert one and other
    return difference(ours, theirs, main_figure(ACCURACY, NAMES), (one, other), number).p


def rate(world: World, *, seeds: int, better: float, trials: int) -> float:
    """The share of trials with p <= 0.05."""
    rng = np.random.default_rng(seeds)
    found = [trial(world, rng, seeds=seeds, better=better) <= 0.05 for _ in range(trials)]
    return float(np.mean(found))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=2000)
    trials = parser.parse_args().trials
    print(f"{'world':<28} {'seeds':>5} {'false alarms':>12} {'power at 2 points':>17}")
    for world in WORLDS:
        for seeds in (3, 5):
            false, power = (rate(world, seeds=seeds, better=better, trials=trials) for better in (0.0, 2.0))
            print(f"{world.name:<28} {seeds:>5} {false:>12.1%} {power:>17.1%}", flush=True)


if __name__ == "__main__":
    main()
