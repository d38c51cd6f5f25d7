"""Which system to use on data of the user's own, in words.

The best on dev is named, since choosing by test would flatter it; what it gains on test
is tested. All pairs of the data set are judged together: verdicts by Holm's procedure,
and intervals that hold together, so that none of a tie lies above zero.
"""

from collections.abc import Iterator
from math import isnan
from typing import Any

import pandas as pd

from elmo_bench.reporting.formats import signed
from elmo_bench.reporting.names import short
from elmo_bench.reporting.rows import rows_of
from elmo_bench.spec.settings import QUICK
from elmo_bench.spec.task_files import floor_of


def advice(systems: pd.DataFrame, comparisons: pd.DataFrame) -> list[str]:
    """A sentence or more about the systems of one data set; none about a single one.

    comparisons: `comparisons.compare` of all pairs of the systems.
    """
    if len(systems) < 2:
        return []
    best, others = _best_first(systems)
    if best.spec.settings.get(QUICK):
        return [_after_quick_runs(best, others)]
    tests = _tests(best, others, comparisons)
    floor = floor_of(best.task)
    rows = (best, *others)
    single = [row.run_label for row in rows if row.n == 1 and row.encoder != floor]
    if not tests:
        if not single:
            return []
        return [
            f"{best.run_label} is best on dev, and not tested: a single seed of "
            f"{' and '.join(single)} is done. Add seed=1,2."
        ]
    sentences = []
    for other in others:
        if other.encoder == floor and other.hash in tests:
            sentences.append(_over_floor(best, other, tests[other.hash]))
    if not sentences:
        sentences.append(f"Use {best.run_label}, which is best on dev.")
    if best.encoder != floor:  # nothing takes less than a floor
        sentences += _as_good(best, others, tests, floor)
    if single:
        names = ", ".join(single)
        sentences.append(f"A single seed is not tested ({names}): add seed=1,2.")
    return [" ".join(sentences)]


def _best_first(systems: pd.DataFrame) -> tuple[Any, list[Any]]:
    """The best row on dev, of equal ones the quickest (as `after_sweep.best_on_dev`);
    and the others.
    """
    by_dev = systems.sort_values(["dev_mean", "work_minutes"], ascending=[False, True])
    best, *others = rows_of(by_dev)
    return best, others


def _tests(
    best: Any, others: list[Any], comparisons: pd.DataFrame
) -> dict[str, tuple[float, float, float, str]]:
    """The test of the best against each other one that has one, by its hash."""
    tests = {}
    for other in others:
        test = _test_of(best.hash, other.hash, comparisons)
        if test is not None:
            tests[other.hash] = test
    return tests


def _after_quick_runs(best: Any, others: list[Any]) -> str:
    """What runs with a fifth of their steps say: they are not tested."""
    scores = [f"{row.run_label} {row.dev_mean:.1f}" for row in (best, *others)]
    return (
        f"After a fifth of the steps (quick=true) {best.run_label} is best on dev: "
        f"{', '.join(scores)}. Nothing is tested, since more steps may change the "
        "order. Leave out quick=true for an answer."
    )


def _test_of(ours: str, theirs: str, comparisons: pd.DataFrame) -> Any:
    """(gain, low, high, verdict) of one system over another; None without a test. The
    interval is that of the family.
    """
    for line in rows_of(comparisons):
        if not line.verdict:
            continue
        if (line.ours, line.theirs) == (ours, theirs):
            return line.gain, line.family_low, line.family_high, line.verdict
        if (line.theirs, line.ours) == (ours, theirs):
            turned = {"ahead": "behind", "behind": "ahead", "tie": "tie"}
            low, high = -line.family_high, -line.family_low
            return -line.gain, low, high, turned[line.verdict]
    return None


def _on_test(gain: float, low: float, high: float) -> str:
    """A difference on test with its interval."""
    return f"{signed(gain, 1)} points on test, {signed(low, 1)} to {signed(high, 1)}"


def _over_floor(best: Any, floor: Any, test: Any) -> str:
    gain, low, high, verdict = test
    interval = _on_test(gain, low, high)
    name = best.run_label
    if verdict == "ahead":
        return (
            f"Use {name}. It is best on dev and better than the floor "
            f"{floor.run_label} ({interval})."
        )
    if verdict == "behind":
        return (
            f"Use {floor.run_label}: {name} is best on dev, but worse than this "
            f"floor ({interval})."
        )
    return (
        f"Use {floor.run_label}, or more test items: {name} is best on dev, but "
        f"not shown to be better than this floor ({interval})."
    )


def _as_good(
    best: Any, others: list[Any], tests: dict[str, Any], floor: str | None
) -> Iterator[str]:
    """Which systems test shows to be better than the best on dev, and which it does not
    show to be worse, with what each takes.
    """
    takes = _takes(best)
    ties = []
    for other in others:
        if other.encoder == floor or other.hash not in tests:
            continue
        gain, low, high, verdict = tests[other.hash]
        if verdict == "ahead":
            continue
        if verdict == "behind":
            yield (
                f"{other.run_label} is shown to be better than {best.run_label} "
                f"({_on_test(-gain, -high, -low)}): dev and test disagree, so look at "
                f"both before you choose. It takes {_takes(other)}, and "
                f"{best.run_label} {takes}."
            )
        else:
            ties.append(f"{other.run_label} ({_takes(other)})")
    if ties:
        name = best.run_label
        yield f"Not shown to be worse than {name} ({takes}): {'; '.join(ties)}."


def _takes(system: Any) -> str:
    """What a system costs, such as `5.9 minutes a run, 91 MiB to ship`."""
    parts = [f"{system.work_minutes:.1f} minutes a run"]
    if not isnan(system.ship_mib):
        parts.append(f"{short(system.ship_mib)} MiB to ship")
    if not isnan(system.text_ms):
        parts.append(f"{short(system.text_ms)} ms a text")
    return ", ".join(parts)
