"""`elmo-bench compare --published`: the runs of a ledger and the published ones."""

from pathlib import Path

import pandas as pd

from elmo_bench.base.errors import UserError
from elmo_bench.reporting.console import fitted
from elmo_bench.reporting.frame import summary, systems
from elmo_bench.reporting.names import counted
from elmo_bench.reporting.published import (
    NEAR,
    Published,
    distance,
    processor,
    published,
    verdict,
)
from elmo_bench.reporting.rows import rows_of
from elmo_bench.reporting.significance import Summary

HEADER = ["task", "run", "seeds", "yours", "published", "reproduced"]
RULE = (
    f"A seed is reproduced if it is at most {NEAR:g} points from its published score "
    "on the same kind of processor; elsewhere, if it is where one more seed would be "
    f"in 99 of 100 repetitions, or at most {NEAR:g} points from the published mean. So "
    "of many runs elsewhere some are not reproduced by chance."
)


def print_reproduced(runs: pd.DataFrame, ledger: Path) -> bool:
    """Print a line for each run that is published; whether all of the seeds that can be
    compared are reproduced, of which there has to be one.

    runs: that tables show. Raises UserError if none of them is published.
    """
    rows = published()
    table = systems(runs[runs.hash.isin(rows.keys())])
    if table.empty:
        raise UserError(
            f"{ledger}: no run in it is a published one. Those have the published "
            "settings and data, such as: elmo-bench run task=ner encoder=elmo"
        )
    body = []
    others = []
    distances = []
    for system in rows_of(table):
        row = rows[system.hash]
        apart = []
        for run in rows_of(runs[runs.hash == system.hash].sort_values("seed")):
            gap = distance(run.test, run.seed, processor(run.environment), row)
            if gap is not None:
                apart.append(gap)
            if gap is None or not gap.is_near:
                words = verdict(run.test, run.seed, processor(run.environment), row)
                name = f"{row.task} {system.run_label}, seed {run.seed}"
                others.append(f"{name}: {words}.")
        near = sum(gap.is_near for gap in apart)
        distances += apart
        body.append(
            [
                *(system.task, system.run_label, str(system.n)),
                *(str(summary(system)), _spread(row)),
                f"{near} of {len(apart)}" if apart else "",
            ]
        )
    print(f"test scores, yours and the published ones:\n\n{fitted(HEADER, body)}")
    more = runs.hash.nunique() - len(table)
    if more:
        others.append(f"{counted(more)} with other settings or data: not published.")
    for line in [*others, RULE]:
        print(f"\n{line}")
    return bool(distances) and all(gap.is_near for gap in distances)


def _spread(row: Published) -> str:
    score = Summary(len(row.seeds), row.mean, row.sd)
    return f"{score} ({counted(score.n, 'seed')})"
