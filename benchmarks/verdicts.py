"""How often does a verdict of the leaderboard err?  python benchmarks/verdicts.py [--trials 2000]

Two systems that are equally good in truth are trained with a few seeds and scored on items drawn anew in each trial;
the share of trials with p <= 0.05 is the rate of false alarms, which should be 5 % and at most 6.5 %. Then one of them
is 2 points better in truth: the share of trials that find it is the power.

An item is easy or hard for both systems and more so for one of them; the items of a cluster are alike; a seed shifts
all scores of its run, and decides single items. Comparable runs (none, or six as in tables 2 and 3) lend their variance
over seeds if they are homogeneous. With --single the first system has one seed, as some rows of the leaderboard do.
"""

import argparse
from typing import NamedTuple

import numpy as np

from elmo_bench.ledger.formulas import formula
from elmo_bench.reporting.significance import Difference, of_means, over_items

ACCURACY = formula("accuracy")
OTHERS = 6


class World(NamedTuple):
    """Standard deviations in points of a score in percent."""

    name: str
    items: int
    clusters: int
    seeds: tuple[float, float]  # of the two systems; comparable runs are like the second


WORLDS = [
    World("items matter", 1000, 1000, (0.3, 0.3)),
    World("items in clusters", 1200, 300, (0.3, 0.3)),
    World("seeds matter", 5000, 5000, (1.5, 1.5)),
    World("seeds of one system matter", 5000, 5000, (3.0, 0.5)),
    World("seeds differ somewhat", 2000, 2000, (1.5, 0.75)),
    World("both matter", 1000, 1000, (1.0, 1.0)),
]


def trial(
    world: World, rng: np.random.Generator, *, seeds: int, better: float, others: int, single: bool = False
) -> float:
    """The p-value of one comparison; 1 if it cannot be tested. `single`: the first system has one seed."""
    number = np.arange(world.items) * world.clusters // world.items  # the cluster of each item
    skill = rng.normal(0, 1.2, world.clusters)[number]
    own = rng.normal(0, 0.6, (2, world.clusters))[:, number]
    chance = 1 / (1 + np.exp(-(0.6 + skill + own)))  # [2, items]
    shift = rng.normal(0, 1, (2, seeds, 1)) * np.array(world.seeds)[:, None, None] / 100
    shift[0] += better / 100
    correct = (rng.random((2, seeds, world.items)) < chance[:, None] + shift).astype(float)
    arms = [correct[0][:1] if single else correct[0], correct[1]]
    ours, theirs = (np.stack([ACCURACY.counts_of({"correct": run}) for run in arm]) for arm in arms)
    noise = np.sqrt((chance * (1 - chance)).mean() / world.items) * 100  # of a seed on the same items
    lent = rng.normal(0, np.hypot(world.seeds[1], noise), (others, seeds))
    scores = [(100 * arm.mean(axis=1)).tolist() for arm in arms]
    one, other = of_means([*scores, *lent.tolist()])[:2]
    if one is None or other is None:
        return 1.0
    return Difference.of(over_items(ours, theirs, ACCURACY.score, number), (one, other)).p


def rate(world: World, *, seeds: int, better: float, trials: int, others: int = OTHERS, single: bool = False) -> float:
    """The share of trials with p <= 0.05."""
    rng = np.random.default_rng(seeds)
    found = [trial(world, rng, seeds=seeds, better=better, others=others, single=single) <= 0.05 for _ in range(trials)]
    return float(np.mean(found))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--single", action="store_true", help="one seed of the first system, three of the others")
    args = parser.parse_args()
    single, trials = args.single, args.trials
    cases = [(3, OTHERS), (3, 2 * OTHERS)] if single else [(3, 0), (3, OTHERS), (3, 2 * OTHERS), (5, 0), (5, OTHERS)]
    print(f"{'world':<28} {'seeds':>5} {'comparable':>10} {'false alarms':>12} {'power at 2 points':>17}")
    for world in WORLDS:
        for seeds, others in cases:
            false, power = (
                rate(world, seeds=seeds, better=better, trials=trials, others=others, single=single)
                for better in (0.0, 2.0)
            )
            number = f"1 v {seeds}" if single else seeds
            print(f"{world.name:<28} {number:>5} {others:>10} {false:>12.1%} {power:>17.1%}", flush=True)


if __name__ == "__main__":
    main()
