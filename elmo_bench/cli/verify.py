"""`elmo-bench verify TASK`: your own runs on the paper's data against the paper's figures, pass or fail."""

from typing import Any

import pandas as pd

from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import print_problems
from elmo_bench.cli import parser
from elmo_bench.ledger import check_exists, read_all
from elmo_bench.reporting.frame import rows_where, runs, shown, systems
from elmo_bench.reporting.names import BASELINE, UNCHECKED
from elmo_bench.reporting.significance import Difference, Summary, Variance, summarise
from elmo_bench.spec.experiments import MAIN, Experiment, Printed
from elmo_bench.spec.names import metric_of

FIRST = "elmo-bench sweep task={} encoder={} suite=paper size=paper seed=0,1,2,3,4"
PRINTED_SEEDS = 5  # of the paper's standard deviations


def main(arguments: list[str]) -> int:
    """Print a line for the baseline and for ELMo; 1 if one of them is below the paper's figure, or a file is skipped.

    Below means: the 95 % interval of the difference of the two means lies under zero (Welch 1947). A figure that the
    paper gives without a standard deviation is taken for one run that varies as ours do. Raises UserError for a task
    without a figure, and if there are no two seeds to compare.
    """
    experiment = Experiment.load(MAIN)
    command = parser("verify", f"First: {FIRST.format('TASK', 'glove,elmo')}", ledger=True)
    command.add_argument("task", help=f"one of: {', '.join(experiment.paper)}")
    options = command.parse_args(arguments)
    if (printed := experiment.paper.get(options.task)) is None:
        raise UserError(f"{options.task}: the paper has no figure of it. Give one of: {', '.join(experiment.paper)}.")
    check_exists(options.ledger)
    read = read_all(options.ledger, ("paper", options.task), metrics=metric_of)
    print_problems("verify", read.problems)
    below = []
    frame = shown(runs(options.ledger, read.records))
    for encoder in (BASELINE, experiment.encoder):
        system = _system(frame, options.task, encoder)
        ours = summarise(system.test_scores)
        difference = difference_from(ours, printed.figures[encoder])
        low, high = difference.interval
        below.append(high < 0)
        verdict = "FAIL" if high < 0 else "pass, and above the paper" if low > 0 else "pass"
        print(
            f"{options.task} {encoder}: {ours} over {ours.n} seeds, the paper has "
            f"{printed.figures[encoder]} ({printed.scored}); difference {difference.mean:+.2f}, "
            f"95 % interval {low:+.2f} to {high:+.2f}: {verdict}"
        )
    return int(any(below) or bool(read.problems))


def _system(frame: pd.DataFrame, task: str, encoder: str) -> Any:
    """The seeds of the run that the paper describes."""
    table = systems(rows_where(frame, (spec.encoder == encoder for spec in frame.spec)))
    found = []
    for system in table.itertuples():
        if system.size == "paper" and not system.label and system.n > 1:
            if not system.checked:
                raise UserError(f"{task}: {UNCHECKED}")
            return system
        changes = f", {system.label}" if system.label else ""
        found.append(f"{system.n} of size={system.size}{changes}")
    have = f"fewer than two seeds of the paper's run; suite=paper has {' and '.join(found) or 'none'}"
    raise UserError(f"{task} {encoder}: {have}. Run: {FIRST.format(task, encoder)}")


def difference_from(ours: Summary, printed: Printed) -> Difference:
    """Our mean test score less the paper's, with the variance of either over seeds; items are the same."""
    assert ours.sd is not None
    own = ours.sd**2 / ours.n
    if printed.sd is None:  # one run that varies like ours: the same estimate twice, so one component
        seeds = Variance(own + ours.sd**2, ours.n - 1), Variance(0.0, 1)
    else:
        seeds = Variance(own, ours.n - 1), Variance(printed.sd**2 / PRINTED_SEEDS, PRINTED_SEEDS - 1)
    return Difference(ours.mean - printed.mean, seeds, Variance(0.0, 1))
