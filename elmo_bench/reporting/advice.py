"""Which system to use on data of the user's own, in words.

The best on dev is named, since choosing by test would flatter it. Two things are
tested: whether it is better than each other system, and which systems are better than
the floor. These tests are judged together: verdicts by Holm's procedure, and intervals
that hold together, so that none of a tie lies above zero.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import isnan
from typing import Any

import pandas as pd

from elmo_bench.reporting.families import REVERSED
from elmo_bench.reporting.formats import signed
from elmo_bench.reporting.names import DAGGER, short
from elmo_bench.reporting.pairs import pairs_of
from elmo_bench.reporting.rows import rows_of
from elmo_bench.reporting.significance import Variance
from elmo_bench.spec.settings import QUICK
from elmo_bench.spec.task_files import floor_of

Tests = dict[tuple[str, str], Any]  # a comparison, by the hashes of ours and theirs


def best_first(systems: pd.DataFrame) -> pd.DataFrame:
    """The systems of one data set by dev; of equal ones the quickest is first (as
    `after_sweep.best_on_dev`).
    """
    return systems.sort_values(["dev_mean", "work_minutes"], ascending=[False, True])


def advice_pairs(systems: pd.DataFrame) -> pd.DataFrame:
    """What is tested of the systems of one data set: the best on dev, and the floor,
    each with every other one.
    """
    if len(systems) < 2:
        return pairs_of([])
    hashes = list(best_first(systems).hash)
    floor = floor_in(systems)
    best, others = hashes[0], hashes[1:]
    pairs = [(best, other) for other in others]
    if floor is not None and floor != best:
        pairs += [(other, floor) for other in others if other != floor]
    return pairs_of(pairs)


def floor_in(systems: pd.DataFrame) -> str | None:
    """The hash of the floor of one data set: of several the best on dev."""
    is_floor = systems.encoder == floor_of(systems.task.iloc[0])
    floors = best_first(systems[is_floor]).hash
    return floors.iloc[0] if len(floors) else None


def both_ways(comparisons: pd.DataFrame) -> pd.DataFrame:
    """The comparisons, and each of them with ours and theirs exchanged."""
    turned = comparisons.assign(
        ours=comparisons.theirs,
        theirs=comparisons.ours,
        gain=-comparisons.gain,
        family_low=-comparisons.family_high,
        family_high=-comparisons.family_low,
        verdict=comparisons.verdict.map(REVERSED),
        conclusion=[
            REVERSED.get(conclusion, conclusion)
            for conclusion in comparisons.conclusion
        ],
    )
    return pd.concat([comparisons, turned], ignore_index=True)


def advice(systems: pd.DataFrame, comparisons: pd.DataFrame) -> list[str]:
    """A sentence or more about the systems of one data set; none about a single one.

    comparisons: `comparisons.compare` of `advice_pairs`.
    """
    if len(systems) < 2:
        return []
    best, *others = rows_of(best_first(systems))
    if best.spec.settings.get(QUICK):
        return [_after_quick_runs(best, others)]
    tests: Tests = {}
    for line in rows_of(both_ways(comparisons)):
        if line.verdict:
            tests[line.ours, line.theirs] = line
    floor = floor_of(best.task)
    floors = [system for system in (best, *others) if system.encoder == floor]
    untested = _untested(best, others, tests, floor)
    if not any(best.hash in pair for pair in tests):
        if not untested:
            return []
        return [f"{best.run_label} is best on dev, and not tested. {untested}"]
    sentences: list[str] = []
    if floors and (best.hash, floors[0].hash) in tests:
        sentences += _with_floor(best, others, floors[0], tests)
    else:
        sentences.append(f"Use {best.run_label}, which is best on dev.")
        if floor and not floors:
            sentences.append(
                f"It was not compared with the floor: add encoder={floor}."
            )
        sentences += _beside(best, others, tests, ties=best.encoder != floor)
    return [" ".join([*sentences, untested]).strip()]


def _after_quick_runs(best: Any, others: Sequence[Any]) -> str:
    """What runs with a fifth of their steps say: they are not tested."""
    scores = [f"{row.run_label} {row.dev_mean:.1f}" for row in (best, *others)]
    return (
        f"After a fifth of the steps (quick=true) {best.run_label} is best on dev: "
        f"{', '.join(scores)}. Nothing is tested, since more steps may change the "
        "order. Leave out quick=true for an answer."
    )


def _untested(best: Any, others: Sequence[Any], tests: Tests, floor: str | None) -> str:
    """Which systems no test has, and why; empty if there are none."""
    tested = {name for pair in tests for name in pair}
    single: list[str] = []
    unconverged: list[str] = []
    for system in (best, *others):
        if system.hash in tested:
            continue
        if system.n == 1 and system.encoder != floor:
            single.append(system.run_label)
        elif system.mark == DAGGER:
            unconverged.append(system.run_label)
    sentences = []
    if single:
        names = ", ".join(single)
        sentences.append(f"A single seed is not tested ({names}): add seed=1,2.")
    if unconverged:
        names = ", ".join(unconverged)
        sentences.append(f"Not tested, since not converged ({DAGGER}): {names}.")
    return " ".join(sentences)


def _with_floor(
    best: Any, others: Sequence[Any], floor: Any, tests: Tests
) -> Iterator[str]:
    """What to use where a floor and the best on dev, another one, are tested."""
    over_floor = tests[best.hash, floor.hash]
    name = best.run_label
    if over_floor.verdict == "ahead":
        yield (
            f"Use {name}. It is best on dev and better than the floor "
            f"{floor.run_label} ({_on_test(over_floor)})."
        )
        yield from _beside(best, others, tests)
        return
    shown = "worse" if over_floor.verdict == "behind" else "not shown to be better"
    what = f"{name} is best on dev, but {shown} than this floor"
    for other in others:
        test = tests.get((other.hash, floor.hash))
        if test is not None and test.verdict == "ahead":
            yield (
                f"Use {other.run_label}: of the systems that are better than the floor "
                f"{floor.run_label} ({_on_test(test)}) it is best on dev. "
                f"{what} ({_on_test(over_floor)})."
            )
            return
    if over_floor.verdict == "behind":
        yield f"Use {floor.run_label}: {what} ({_on_test(over_floor)})."
        return
    yield (
        f"Use {floor.run_label} until more data show a gain: {what} "
        f"({_on_test(over_floor)})."
    )
    if over_floor.difference.error:
        yield _power(over_floor)


def _power(test: Any) -> str:
    """What a tie may hide, and what would help."""
    difference, level = test.difference, test.family_level
    seeds = replace(difference, seeds=tuple(map(_of_twice, difference.seeds)))
    items = replace(difference, items=_of_twice(difference.items))
    with_seeds, with_items = seeds.detectable_at(level), items.detectable_at(level)
    more = "seeds" if with_seeds < with_items else "test items"
    return (
        f"A true gain of {test.family_detectable:.1f} points would be missed one time "
        f"in five: more {more} would help most."
    )


def _of_twice(part: Variance) -> Variance:
    """The variance of a mean over twice as many."""
    return Variance(part.value / 2, 2 * part.df + 1)


def _beside(
    best: Any, others: Sequence[Any], tests: Tests, *, ties: bool = True
) -> Iterator[str]:
    """Which systems test shows to be better than the best on dev; and, with `ties`,
    which it does not show to be worse. With what each takes.
    """
    takes = _takes(best)
    as_good = []
    for other in others:
        test = tests.get((other.hash, best.hash))
        if test is None or test.verdict == "behind":
            continue
        if test.verdict == "ahead":
            yield (
                f"{other.run_label} is shown to be better than {best.run_label} "
                f"({_on_test(test)}): dev and test disagree, so look at both before "
                f"you choose. It takes {_takes(other)}, and {best.run_label} {takes}."
            )
        elif other.encoder != floor_of(other.task):
            gain = signed(test.gain, 1)
            as_good.append(
                f"{other.run_label} ({gain} points on test; {_takes(other)})"
            )
    if as_good and ties:
        name = best.run_label
        yield f"Not shown to be worse than {name} ({takes}): {', '.join(as_good)}."


def _on_test(test: Any) -> str:
    """A difference on test with its interval; where this contains zero although the
    difference is shown, how it is shown.
    """
    low, high = test.family_low, test.family_high
    text = (
        f"{signed(test.gain, 1)} points on test, {signed(low, 1)} to {signed(high, 1)}"
    )
    if test.verdict != "tie" and low <= 0 <= high:
        return f"{text}; shown by Holm's procedure, which has no intervals"
    return text


def _takes(system: Any) -> str:
    """What a system costs, such as `5.9 minutes a run, 91 MiB to ship`."""
    parts = [f"{system.work_minutes:.1f} minutes a run"]
    if not isnan(system.ship_mib):
        parts.append(f"{short(system.ship_mib)} MiB to ship")
    if not isnan(system.text_ms):
        parts.append(f"{short(system.text_ms)} ms a text")
    return ", ".join(parts)
