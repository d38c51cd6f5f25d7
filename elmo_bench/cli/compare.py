"""`elmo-bench compare ENCODER OTHER …`: two encoders on every task with runs of both, or several with their ranks."""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from elmo_bench.base.errors import UserError
from elmo_bench.ledger import check_exists, read_all
from elmo_bench.reporting.console import markdown
from elmo_bench.reporting.gains import Gain, Gains, family_of, gains_from
from elmo_bench.reporting.groups import in_paper_order
from elmo_bench.reporting.ranks import standings
from elmo_bench.reporting.rows import NOT_CONVERGED, Row, select

HEADER = ["task", "seeds", "difference", "95 % interval", "p (Holm)", "verdict", "trained numbers", "minutes a run"]


def main(arguments: list[str]) -> int:
    """Print the table; 0. Raises UserError if no task has runs of all of them that can be compared."""
    parser = argparse.ArgumentParser(
        prog="elmo-bench compare",
        description="Compare encoders on every task with runs of all of them. Two: the difference of the mean test "
        "scores, its interval over seeds and items, a verdict with the p-values of all tasks adjusted (Holm). "
        "Three or more: scores, with a letter for each group that no test separates (Holm over all pairs and "
        "tasks), the mean rank with its interval.",
    )
    parser.add_argument("encoder", help="the name of an encoder's column, such as elmo")
    parser.add_argument("other", help="what it is compared with, such as glove")
    parser.add_argument("more", nargs="*", metavar="other", help="further encoders")
    parser.add_argument("--suite", default="open", help="whose runs (default: %(default)s)")
    parser.add_argument("--size", default="cpu", help="of the heads: cpu or paper (default: %(default)s)")
    parser.add_argument(
        "--ledger", type=Path, default=Path("results/runs"), help="folder of records (default: %(default)s)"
    )
    options = parser.parse_intermixed_args(arguments)
    encoders = [options.encoder, options.other, *options.more]
    if twice := [name for at, name in enumerate(encoders) if name in encoders[:at]]:
        raise UserError(f"{twice[0]}: given twice. Give different encoders.")
    check_exists(options.ledger)
    found = read_all(options.ledger, suite=options.suite, sums=True)
    for problem in found.problems:
        print(f"elmo-bench compare: {problem}", file=sys.stderr)
    rows = [row for row in select(found.records).rows if row.spec.size == options.size and not row.variation]
    chosen = _chosen(rows, encoders)
    if not chosen:
        known = sorted({row.encoder for row in rows})
        raise UserError(
            f"no task in {options.ledger} has comparable runs of {' and '.join(encoders)} on suite "
            f"{options.suite}, size {options.size}. Encoders with runs that change nothing else: "
            f"{', '.join(known) or 'none'}."
        )
    gain, where = gains_from(options.ledger), f"suite {options.suite}, size {options.size}"
    if len(encoders) > 2:
        _several(chosen, gain, where)
        return int(bool(found.problems))
    ours, theirs = encoders
    gains = family_of([(own[ours], own[theirs]) for own in chosen.values()], gain)
    print(f"test scores of {ours} minus {theirs}, {where}:\n")
    print(markdown(HEADER, [_cells(each) for each in gains.values()]))
    notes = [f"{each.ours.spec.task}: {each.untested}" for each in gains.values() if each.untested]
    _print([*notes, *_convergence(list(gains.values()))])
    return int(bool(found.problems))


def _several(chosen: dict[str, dict[str, Row]], gain: Gains, where: str) -> None:
    """Print encoders x tasks, best mean rank first."""
    found = standings(chosen, gain)
    header = ["encoder", *chosen, "mean rank", "95 % interval"]
    body = []
    for name, rank in sorted(found.ranks.items(), key=lambda item: (item[1].mean, item[0])):
        own = {task: rows[name] for task, rows in chosen.items()}
        scores = [f"{row.summary('test')}{row.mark} {found.letters[task][name]}" for task, row in own.items()]
        interval = f"{rank.low:.2f} to {rank.high:.2f}"
        body.append([name, *scores, f"{rank.mean:.2f}", interval])
    print(f"test scores, {where}; no test separates encoders that share a letter (Holm, all pairs of all tasks):\n")
    print(markdown(header, body))
    untested = Counter((each.ours.spec.task, each.untested) for each in found.gains if each.untested)
    notes = [f"{task}: {count} pair{'s' * (count > 1)} not tested ({why})" for (task, why), count in untested.items()]
    _print([*notes, *_convergence(found.gains)])


def _chosen(rows: Sequence[Row], encoders: Sequence[str]) -> dict[str, dict[str, Row]]:
    """By task, by encoder: the newest runs of all of them on one basis, on all of the data."""
    by_basis: dict[object, dict[str, Row]] = {}
    for row in sorted(rows, key=lambda row: row.newest["created"]):
        if row.encoder in encoders and not row.basis.fraction:
            by_basis.setdefault(row.basis, {})[row.encoder] = row
    complete = [own for own in by_basis.values() if len(own) == len(encoders)]
    complete.sort(key=lambda own: own[encoders[0]].newest["created"])
    found = {own[encoders[0]].spec.task: {name: own[name] for name in encoders} for own in complete}
    return {task: found[task] for task in in_paper_order(found)}


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


def _convergence(gains: Sequence[Gain]) -> list[str]:
    return [NOT_CONVERGED] if any(not gain.converged for gain in gains) else []


def _print(notes: Sequence[str]) -> None:
    print("".join(f"\n{note}\n" for note in notes), end="")
