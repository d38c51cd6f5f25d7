"""`elmo-bench verify TASK`: your runs on the paper's data against its figures."""

import argparse
from typing import Any

import pandas as pd

from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import print_problems
from elmo_bench.cli import parser
from elmo_bench.ledger import check_exists, read_all
from elmo_bench.reporting.frame import rows_where, runs, shown, systems
from elmo_bench.reporting.names import BASELINE, UNCHECKED
from elmo_bench.reporting.significance import (
    Difference,
    Summary,
    Variance,
    summarise,
)
from elmo_bench.spec.experiments import MAIN, Experiment
from elmo_bench.spec.names import metric_of
from elmo_bench.spec.variants import Printed

FIRST = "elmo-bench sweep task={} encoder={} suite=paper size=paper seed=0,1,2,3,4"
PRINTED_SEEDS = 5  # of the paper's standard deviations


def main(arguments: list[str]) -> int:
    """Print a line for the baseline and for ELMo.

    The exit code is 1 if one of them is below the paper's figure, or a file is skipped.
    Below means: the 95 % interval of the difference of the two means lies under zero
    (Welch 1947). A figure that the paper gives without a standard deviation is taken
    for one run that varies as ours do. Raises UserError for a task without a figure,
    and if there are no two seeds to compare.
    """
    experiment = Experiment.load(MAIN)
    options = _parse(arguments, experiment)
    task = options.task
    printed = experiment.paper.get(task)
    if printed is None:
        names = ", ".join(experiment.paper)
        raise UserError(f"{task}: the paper has no figure of it. Give one of: {names}.")
    check_exists(options.ledger)
    read = read_all(options.ledger, ("paper", task), metrics=metric_of)
    print_problems("verify", read.problems)
    frame = shown(runs(options.ledger, read.records))
    is_any_below = False
    for encoder in (BASELINE, experiment.encoder):
        system = _system(frame, task, encoder)
        ours = summarise(system.test_scores)
        figure = printed.figures[encoder]
        difference = difference_from(ours, figure)
        low, high = difference.interval
        is_any_below = is_any_below or high < 0
        print(
            f"{task} {encoder}: {ours} over {ours.n} seeds, the paper has "
            f"{figure} ({printed.scored}); difference {difference.mean:+.2f}, "
            f"95 % interval {low:+.2f} to {high:+.2f}: {_verdict(low, high)}"
        )
    return int(is_any_below or bool(read.problems))


def _parse(arguments: list[str], experiment: Experiment) -> argparse.Namespace:
    first = FIRST.format("TASK", "glove,elmo")
    command = parser("verify", f"First: {first}", ledger=True)
    command.add_argument("task", help=f"one of: {', '.join(experiment.paper)}")
    return command.parse_args(arguments)


def _verdict(low: float, high: float) -> str:
    if high < 0:
        return "FAIL"
    return "pass, and above the paper" if low > 0 else "pass"


def _system(frame: pd.DataFrame, task: str, encoder: str) -> Any:
    """The seeds of the run that the paper describes."""
    of_encoder = (spec.encoder == encoder for spec in frame.spec)
    others = []
    for system in systems(rows_where(frame, of_encoder)).itertuples():
        if system.size == "paper" and not system.label and system.n > 1:
            if not system.checked:
                raise UserError(f"{task}: {UNCHECKED}")
            return system
        changes = f", {system.label}" if system.label else ""
        others.append(f"{system.n} of size={system.size}{changes}")
    there = " and ".join(others) or "none"
    raise UserError(
        f"{task} {encoder}: fewer than two seeds of the paper's run; suite=paper has "
        f"{there}. Run: {FIRST.format(task, encoder)}"
    )


def difference_from(ours: Summary, printed: Printed) -> Difference:
    """Our mean test score less the paper's, with the variance of either over seeds.

    The items are the same.
    """
    assert ours.sd is not None
    of_mean = ours.sd**2 / ours.n
    if printed.sd is None:
        # One run that varies like ours: the same estimate twice, so one component.
        seeds = Variance(of_mean + ours.sd**2, ours.n - 1), Variance(0.0, 1)
    else:
        of_printed = Variance(printed.sd**2 / PRINTED_SEEDS, PRINTED_SEEDS - 1)
        seeds = Variance(of_mean, ours.n - 1), of_printed
    return Difference(ours.mean - printed.mean, seeds, Variance(0.0, 1))
