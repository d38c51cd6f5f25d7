"""`elmo-bench compare ENCODER OTHER`: two encoders on every task that has runs of both, in one table."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from elmo_bench.base.errors import UserError
from elmo_bench.ledger import read_all
from elmo_bench.reporting.formats import markdown
from elmo_bench.reporting.gains import Gain, family_of, gains_from
from elmo_bench.reporting.rows import Row, select
from elmo_bench.reporting.table import NOT_CONVERGED
from elmo_bench.reporting.tasks import in_paper_order

HEADER = ["task", "seeds", "difference", "95 % interval", "p (Holm)", "verdict", "trained numbers", "minutes a run"]


def main(arguments: list[str]) -> int:
    """Print the table; 0. Raises UserError if no task has runs of both that can be compared."""
    parser = argparse.ArgumentParser(
        prog="elmo-bench compare",
        description="Compare two encoders on every task with runs of both: the difference of the mean test scores, its "
        "interval over seeds and items, a verdict with the p-values of all tasks adjusted (Holm), and the cost.",
    )
    parser.add_argument("encoder", help="the name of an encoder's column, such as elmo")
    parser.add_argument("other", help="what it is compared with, such as glove")
    parser.add_argument("--suite", default="open", help="whose runs (default: %(default)s)")
    parser.add_argument("--size", default="cpu", help="of the heads: cpu or paper (default: %(default)s)")
    parser.add_argument(
        "--ledger", type=Path, default=Path("results/runs"), help="folder of records (default: %(default)s)"
    )
    options = parser.parse_args(arguments)
    found = read_all(options.ledger, suite=options.suite)
    for problem in found.problems:
        print(f"elmo-bench compare: {problem}", file=sys.stderr)
    rows = [row for row in select(found.records).rows if row.spec.size == options.size and not row.variation]
    pairs = _pairs(rows, options.encoder, options.other)
    if not pairs:
        known = sorted({row.encoder for row in rows})
        raise UserError(
            f"no task in {options.ledger} has comparable runs of {options.encoder} and {options.other} on suite "
            f"{options.suite}, size {options.size}. Encoders with runs: {', '.join(known) or 'none'}."
        )
    gains = family_of(pairs, gains_from(options.ledger, rows))
    print(f"test scores of {options.encoder} minus {options.other}, suite {options.suite}, size {options.size}:\n")
    print(markdown(HEADER, [_cells(gain) for gain in gains.values()]))
    notes = [f"{gain.ours.spec.task}: {gain.untested}" for gain in gains.values() if gain.untested]
    notes += [NOT_CONVERGED] if any(not gain.converged for gain in gains.values()) else []
    print("".join(f"\n{note}\n" for note in notes), end="")
    return 0


def _pairs(rows: Sequence[Row], encoder: str, other: str) -> list[tuple[Row, Row]]:
    """A pair for each task: of the newest runs on one basis, on all of the data."""
    whole = [row for row in rows if not row.basis.fraction]
    found = {}
    for ours in sorted(whole, key=lambda row: row.newest["created"]):
        theirs = next((row for row in whole if row.encoder == other and row.basis == ours.basis), None)
        if ours.encoder == encoder and theirs is not None:
            found[ours.spec.task] = ours, theirs
    return [found[task] for task in in_paper_order(found)]


def _cells(gain: Gain) -> list[str]:
    sides = (gain.ours, gain.theirs)
    low, high = gain.difference.interval if gain.difference else (None, None)
    return [
        gain.ours.spec.task,
        " and ".join(str(len(row.seeds)) for row in sides),
        f"{gain.mean:+.2f}",
        "" if low is None else f"{low:+.2f} to {high:+.2f}",
        "" if gain.p_holm is None else f"{gain.p_holm:.3g}",
        gain.said,
        " and ".join(f"{row.newest['parameters']['trainable']:,}" for row in sides),
        " and ".join(f"{row.cost('seconds') / 60:.1f}" for row in sides),
    ]
