"""The published runs: what `report` writes of a ledger, and whether a run reproduces
its published row.

Importing this imports no pandas and no torch.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from elmo_bench.base.json import read_json
from elmo_bench.ledger.record import Environment
from elmo_bench.reporting.names import counted
from elmo_bench.reporting.rows import rows_of
from elmo_bench.reporting.significance import summarise, t_quantile

if TYPE_CHECKING:
    import pandas as pd

FILE = Path(__file__).parents[1] / "data" / "published.json"
SUITE = "open"
NEAR = 0.5  # points from the score of the same seed on the same kind of processor
WIDEST = 15.0  # points that an interval for one more run may leave open
ONE_MORE = 0.99  # how often one more seed, or another processor, counts as reproduced


class Published(NamedTuple):
    """All seeds of one published run."""

    suite: str
    task: str
    encoder: str
    size: str
    hash: str
    label: str  # the options that differ from the default run
    data: str  # digest of all examples
    mean: float  # of the test scores, in percent
    sd: float | None  # None for a single seed
    # `work_minutes` of a run, mean over seeds: processor time, on a GPU wall time.
    minutes: float
    seeds: dict[
        str, dict[str, Any]
    ]  # by seed: test and dev score, and the processor (or GPU) of its run


def published_rows(
    runs: "pd.DataFrame", systems: "pd.DataFrame"
) -> list[dict[str, Any]]:
    """What is published of the systems of a report, as JSON: those whose scores are
    checked.
    """
    ours = systems[(systems.suite == SUITE) & systems.checked].sort_values(
        ["task", "test_mean", "run_label", "hash"], ascending=[True, False, True, True]
    )
    rows = []
    for system in rows_of(ours):
        score = summarise(system.test_scores)
        seeds = {}
        for run in rows_of(runs[runs.hash == system.hash].sort_values("seed")):
            seeds[str(run.seed)] = {
                "test": run.test,
                "dev": run.dev,
                "processor": processor(run.environment),
            }
        row = Published(
            suite=system.suite,
            task=system.task,
            encoder=system.spec.encoder,
            size=system.size,
            hash=system.hash,
            label=system.label,
            data=(system.spec.contents or {}).get("data", ""),
            mean=score.mean,
            sd=score.sd,
            minutes=system.work_minutes,
            seeds=seeds,
        )
        rows.append(row._asdict())
    return rows


def processor(environment: Environment) -> str:
    """The kind of processor of a record's environment: the GPU, if it ran on one."""
    return environment.cpu if environment.device == "cpu" else environment.device


def of_processors(rows: Iterable[tuple[str, Sequence[str]]]) -> str:
    """On which processors these rows were made, each a name and its processors.

    Such as `On Intel Xeon: minilm; elmo_word. All others on AMD EPYC.`, which has most
    of the rows.
    """
    names: dict[str, list[str]] = {}
    for name, processors in rows:
        names.setdefault(" and ".join(sorted(processors)), []).append(name)
    usual, *others = sorted(names, key=lambda kind: -len(names[kind]))
    if not others:
        return f"On {usual}."
    sentences = [f"On {other}: {'; '.join(names[other])}." for other in others]
    return f"{' '.join(sentences)} All others on {usual}."


@cache
def published() -> dict[str, Published]:
    """Every published run, by hash; none in a checkout without the file."""
    if not FILE.exists():
        return {}
    return {row["hash"]: Published(**row) for row in read_json(FILE)}


class Distance(NamedTuple):
    """How far a test score is from the published one that it may be compared with."""

    off: float  # points
    most: float  # as much counts as reproduced
    where: str

    @property
    def is_near(self) -> bool:
        return self.off <= self.most


def distance(
    score: float, seed: int, processor: str, row: Published
) -> Distance | None:
    """Of a test score of the same hash; None if no published score is comparable: of a
    single seed, or of seeds that leave more than `WIDEST` points open.

    On the same kind of processor a seed reproduces its own score, but for the order of
    sums. Elsewhere, or with another seed, a score is one more draw: it counts within
    the interval in which such a draw lies in 99 of 100 repetitions.
    """
    of_seed = row.seeds.get(str(seed))
    if of_seed and of_seed["processor"] == processor:
        test = of_seed["test"]
        where = f"the published {test:.2f} of seed {seed} on the same processor"
        return Distance(abs(score - test), NEAR, where)
    if row.sd is None:
        return None
    most = max(NEAR, _reach(row.sd, len(row.seeds)))
    if most > WIDEST:
        return None
    where = f"the published mean {row.mean:.2f}; up to {most:.2f} counts"
    return Distance(abs(score - row.mean), most, where)


def _reach(sd: float, n: int) -> float:
    """Half of the width of the interval for one more draw, after n with this sd."""
    return t_quantile((1 + ONE_MORE) / 2, n - 1) * sd * sqrt(1 + 1 / n)


def verdict(score: float, seed: int, processor: str, row: Published) -> str:
    """Whether a test score reproduces the published run, or by how much it does not.

    In words; see `distance`.
    """
    apart = distance(score, seed, processor, row)
    if apart is None:
        seeds = counted(len(row.seeds), "seed")
        varied = "" if row.sd is None else ", which differ too much to tell"
        return (
            f"not comparable: published {row.mean:.2f} for {seeds} "
            f"on another processor or seed{varied}"
        )
    state = "reproduced" if apart.is_near else "not reproduced"
    return f"{state}: {apart.off:.2f} from {apart.where}"
