"""`compare` from Python: two encoders, on all that a frame of runs has of both."""

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

import pandas as pd

from elmo_bench.base.errors import UserError
from elmo_bench.base.include import include_given
from elmo_bench.ledger import Record, RunPaths, read_record_at
from elmo_bench.reporting.comparisons import compare as tested
from elmo_bench.reporting.frame import runs_at, shown, systems
from elmo_bench.reporting.pairs import pairs_of
from elmo_bench.reporting.rows import rows_of
from elmo_bench.spec.names import metric_of

Options = tuple[str, ...]
COLUMNS = [
    *("suite", "task", "size", "data", "metric", "fraction", "options"),
    *("ours", "theirs"),
    *("n_ours", "n_theirs", "our_mean", "their_mean"),
    *("gain", "low", "high", "p", "p_holm", "verdict", "untested"),
]


def compare(frame: pd.DataFrame, ours: str, theirs: str) -> pd.DataFrame:
    """Test the difference of two encoders: a row for each task and amount of data.

    frame: rows of `results` or `sweep`, of one ledger or several; its column `record`
    says where the outcomes are. ours and theirs: encoders, such as `elmo` and `glove`,
    or one with options that it changes: `elmo, mix=last`. Their other options are equal
    in each row.

    | columns | meaning |
    |---|---|
    | `suite`, `task`, `size`, `data` | on what: names, and the digest of the examples |
    | `metric` | the score that selects the epoch and is compared |
    | `fraction` | options that take a part of the training data; empty for all of it |
    | `options` | other options that both changed, such as `place=both` |
    | `ours`, `theirs` | what is compared |
    | `n_ours`, `n_theirs` | seeds |
    | `our_mean`, `their_mean` | mean test scores |
    | `gain`, `low`, `high` | the difference in points, its 95 % interval |
    | `p`, `p_holm` | of the test over seeds and items; adjusted for all rows |
    | `verdict` | ahead, behind, tie, or why there is none |
    | `untested` | the reason if there is no test, such as a single seed |

    Runs that a newer run of the frame replaced, and runs of tasks or encoders that are
    not installed, are left out. Raises UserError if no task has runs of both.
    """
    include_given([])
    if ours == theirs:
        raise UserError(f"{ours} and {theirs}: give two different encoders.")
    runs = _runs(frame)
    table = systems(shown(runs))
    our_systems = _named(table, ours)
    their_systems = _named(table, theirs)
    both = [group for group in our_systems if group in their_systems]
    if not both:
        raise UserError(_nothing(table.run_label, ours, theirs))
    pairs = [(our_systems[group], their_systems[group]) for group in both]
    compared = tested(runs, pairs_of(pairs))
    compared["options"] = [", ".join(options) for _, options in both]
    return _described(compared, table, ours, theirs)


def _named(table: pd.DataFrame, name: str) -> dict[tuple[str, Options], str]:
    """The hash of each system of this name, by its basis and its other options."""
    encoder, *wanted = name.split(", ")
    hashes = {}
    for system in rows_of(table):
        _, *changes = system.run_label.split(", ")
        if system.encoder == encoder and {*wanted} <= {*changes}:
            others = tuple(change for change in changes if change not in wanted)
            hashes[system.basis, others] = system.hash
    return hashes


def _runs(frame: pd.DataFrame) -> pd.DataFrame:
    """The runs of the rows, read again with all that a test needs. Raises UserError."""
    if "record" not in frame:
        raise UserError(
            "the frame has no column record. Give rows of results() or sweep()."
        )
    if frame.empty:
        raise UserError("the frame has no rows. Give rows of results() or sweep().")
    records: dict[tuple[str, int], tuple[RunPaths, Record]] = {}
    for name in frame.record:
        paths = RunPaths.at(Path(name))
        run = paths.hash, paths.seed
        if run not in records:
            records[run] = paths, read_record_at(paths, metrics=metric_of)
        elif records[run][0] != paths:
            raise UserError(
                f"{paths.record}: the frame has the same run of "
                f"{records[run][0].ledger}. Give one of them."
            )
    return runs_at(records.values())


def _nothing(labels: Sequence[str], ours: str, theirs: str) -> str:
    """Why there is nothing to compare."""
    there = ", ".join(f"'{label}'" for label in sorted(set(labels)))
    problem = (
        f"no task has runs of '{ours}' and '{theirs}' on the same data, by the same "
        "score"
    )
    return f"{problem}. The frame has: {there or 'none that is current'}."


def _described(
    compared: pd.DataFrame, table: pd.DataFrame, ours: str, theirs: str
) -> pd.DataFrame:
    """The tests, with what they are about."""
    by_hash = table.set_index("hash")
    lines = []
    for row in rows_of(compared):
        system = by_hash.loc[row.ours]
        of_both = ("suite", "task", "size", "data", "metric", "fraction")
        about = {name: system[name] for name in of_both}
        about |= {"ours": ours, "theirs": theirs}
        about["our_mean"] = fmean(row.our_scores)
        about["their_mean"] = fmean(row.their_scores)
        lines.append(about | {"verdict": row.conclusion})
    described = pd.DataFrame(lines)
    rest = [name for name in COLUMNS if name not in described]
    return pd.concat([described, compared[rest]], axis=1)[COLUMNS]
