"""The published runs, as `report` writes them to a file of the package; whether a run reproduces one of them.

Imports no pandas and no torch.
"""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from elmo_bench.base.json import read_json

if TYPE_CHECKING:
    from elmo_bench.reporting.rows import Row as Current

FILE = Path(__file__).parents[1] / "data" / "published.json"
SUITE = "open"
NEAR = 0.5  # points from the score of the same seed on the same kind of processor
DEVIATIONS = 3  # standard deviations from the mean, elsewhere


class Row(NamedTuple):
    """All seeds of one published run."""

    suite: str
    task: str
    encoder: str
    size: str
    hash: str
    label: str  # the options that differ from the default run
    mean: float  # of the test scores, in percent
    sd: float | None  # None for a single seed
    minutes: float  # a run, mean over seeds
    seeds: dict[str, dict[str, Any]]  # by seed: test and dev score, and the processor (or GPU) of its run


def rows_of(rows: Iterable["Current"]) -> list[dict[str, Any]]:
    """What is published of the rows of a report, as JSON."""
    found = []
    for row in (row for row in rows if row.spec.suite == SUITE):
        spec, test, dev, scored = row.spec, row.scores("test"), row.scores("dev"), row.summary("test")
        places = {r["seed"]: r["environment"] for r in row.records}
        seeds = {
            str(seed): {"test": test[seed], "dev": dev[seed], "processor": processor(places[seed])}
            for seed in row.seeds
        }
        minutes = row.cost("seconds") / 60
        own = (spec.suite, spec.task, spec.encoder, spec.size, row.newest["hash"], spec.label)
        found.append(Row(*own, scored.mean, scored.sd, minutes, seeds)._asdict())
    return found


def processor(environment: Any) -> str:
    """The kind of processor of a record's environment: the GPU, if it ran on one."""
    return environment["cpu"] if environment["device"] == "cpu" else environment["device"]


def published(spec_hash: str) -> Row | None:
    """The published run of this hash, if there is one."""
    return rows().get(spec_hash)


@cache
def rows() -> dict[str, Row]:
    """Every published run, by hash; none in a checkout without the file."""
    return {each["hash"]: Row(**each) for each in read_json(FILE)} if FILE.exists() else {}


def verdict(score: float, seed: int, processor: str, row: Row) -> str:
    """Whether a test score of the same hash reproduces the published run, and else by how much not; in words.

    On the same kind of processor a seed reproduces its own score, but for the order of sums. Elsewhere, or with another
    seed, a score is one more draw.
    """
    own = row.seeds.get(str(seed))
    if own and own["processor"] == processor:
        off, where = abs(score - own["test"]), f"the published {own['test']:.2f} of seed {seed} on the same processor"
        return f"reproduced: {off:.2f} from {where}" if off <= NEAR else f"not reproduced: {off:.2f} from {where}"
    if row.sd is None:
        return f"not comparable: published {row.mean:.2f} for one seed on another processor or seed"
    off, most = abs(score - row.mean), DEVIATIONS * row.sd
    where = f"the published mean {row.mean:.2f}; {DEVIATIONS} standard deviations are {most:.2f}"
    return f"reproduced: {off:.2f} from {where}" if off <= most else f"not reproduced: {off:.2f} from {where}"
