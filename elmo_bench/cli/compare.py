"""`elmo-bench compare ENCODER OTHER …`: two encoders on every task with runs of both, or several with their ranks."""

from collections import Counter
from collections.abc import Sequence

from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import print_problems
from elmo_bench.cli import parser
from elmo_bench.ledger import check_exists, read_all
from elmo_bench.reporting.console import fitted
from elmo_bench.reporting.gains import SEEN, Gain, Gains, family_of, gains_from, standings
from elmo_bench.reporting.groups import groups, in_paper_order
from elmo_bench.reporting.rows import DAGGER, NOT_CHECKED, NOT_CONVERGED, UNCHECKED, Row, select
from elmo_bench.reporting.table import Line, gain_cells, make_table
from elmo_bench.spec.config import reads_own_data
from elmo_bench.spec.names import metric_of

POINTS = 2.0  # a difference that most people would like to see
CHANGED = "an encoder with changes of encoder.*, once for each: --encoder elmo encoder.precision=bfloat16"
FAMILY = "p (Holm): adjusted for {} above. A report adjusts for all tests of its table 1, so its verdicts may differ."
EPILOG = """Two encoders: the difference of the mean test scores, its interval over seeds and items, a verdict with the
p-values of all tasks adjusted (Holm). Three or more: scores, and the mean rank with its interval (Holm over all pairs
and tasks)."""


def main(arguments: list[str]) -> int:
    """Print the table; 1 if a record is left out. Raises UserError if no task has runs of all that can be compared."""
    command = parser("compare", EPILOG, ledger=True)
    command.add_argument("names", nargs="*", metavar="ENCODER", help="the names of encoders' columns: elmo glove")
    command.add_argument(
        "--encoder", action="append", nargs="+", default=[], metavar=("NAME", "KEY=VALUE"), help=CHANGED
    )
    command.add_argument("--suite", help="whose runs (default: the ledger's, if it has one)")
    command.add_argument("--size", help="of the heads: cpu or paper (default: the one that the runs have)")
    options = command.parse_intermixed_args(arguments)
    for name, change in ((name, change) for name, *changes in options.encoder for change in changes):
        if not (change.startswith("encoder.") and "=" in change):
            why = "takes encoder.KEY=VALUE alone. Runs with other changes are in the report's table of all runs."
            raise UserError(f"--encoder {name} {change}: {why}")
    encoders = [*options.names, *(", ".join([name, *sorted(changes)]) for name, *changes in options.encoder)]
    if len(set(encoders)) < max(2, len(encoders)):
        raise UserError(f"{' and '.join(encoders) or 'no encoder'}: give two or more different encoders.")
    check_exists(options.ledger)
    read = read_all(options.ledger, [options.suite] if options.suite else (), metrics=metric_of)
    selection = select(read.records)
    print_problems("compare", [*read.problems, *selection.unknown, *selection.notes])
    if options.suite and not read.records and (every := read_all(options.ledger).records):
        suites = ", ".join(sorted({record["spec"]["suite"] for record in every}))
        raise UserError(f"--suite {options.suite}: no run in {options.ledger}, which has {suites}")
    rows, where = [row for row in selection.rows if not row.variation], []
    if not rows:
        raise UserError(f"{options.ledger}: no run to compare. Runs that change an option are left out.")
    for option in ("suite", "size"):
        known = sorted({getattr(row.spec, option) for row in rows})
        if not getattr(options, option) and len(known) > 1:
            raise UserError(f"{options.ledger} has runs of --{option} {' and '.join(known)}. Give one of them.")
        value = getattr(options, option) or known[0]
        rows = [row for row in rows if getattr(row.spec, option) == value]
        where.append(f"{option} {value}")
    chosen = _chosen(rows, encoders)
    if not chosen:
        others = {row.encoder for row in rows if not row.basis.fraction}
        said = f"no task in {options.ledger} has comparable runs of {' and '.join(encoders)} on {', '.join(where)}"
        if others >= {*encoders}:
            raise UserError(f"{said}: theirs are of other tasks, or differ in data, task version or protocol.")
        named = ", ".join(sorted(others)) or "none"
        raise UserError(f"{said}. Encoders with runs on all of the data that change nothing else: {named}.")
    (_several if len(encoders) > 2 else _two)(chosen, gains_from(options.ledger), ", ".join(where))
    return int(bool(read.problems))


def _chosen(rows: Sequence[Row], encoders: Sequence[str]) -> dict[str, dict[str, Row]]:
    """By task, by encoder: the runs of all of them on one basis, on all of the data.

    A task has the newest of its bases; each label column of data of the user's own is a task.
    """
    by_name: dict[str, dict[str, Row]] = {}
    for group in sorted(groups(rows), key=lambda group: max(row.newest["created"] for row in group.rows)):
        own = {row.encoder: row for row in group.rows}
        if not group.fraction and own.keys() >= {*encoders}:
            name = group.name if reads_own_data(group.task) else group.task
            by_name[name] = {encoder: own[encoder] for encoder in encoders}
    order = in_paper_order({own[encoders[0]].spec.task for own in by_name.values()})
    return dict(sorted(by_name.items(), key=lambda item: (order.index(item[1][encoders[0]].spec.task), item[0])))


def _two(chosen: dict[str, dict[str, Row]], gain: Gains, where: str) -> None:
    """Print a line a task: the difference and its verdict."""
    gains = list(family_of([tuple(own.values()) for own in chosen.values()], gain).values())  # type: ignore[misc]
    lines: list[Line] = []
    for task, each in zip(chosen, gains, strict=True):
        sides = each.ours, each.theirs
        line = {"task": task, "seeds": " and ".join(str(len(row.seeds)) for row in sides)}
        line |= gain_cells(each, "") | {"n of the two": None}
        line["trained numbers"] = " and ".join(f"{row.newest['parameters']['trainable']:,}" for row in sides)
        line["minutes a run"] = " and ".join(f"{row.minutes:.1f}" for row in sides)
        lines.append(line)
    table = make_table("", "", lines)
    ours, theirs = next(iter(chosen.values()))
    body = fitted(table.columns, [[cell.text for cell in row] for row in table.rows])
    print(f"test scores of {ours} minus {theirs}, {where}:\n\n{body}")
    count = sum(each.p is not None for each in gains)
    family = [FAMILY.format("the test" if count == 1 else f"the {count} tests")] * bool(count)
    _print(table.notes + [SEEN] * any(each.shown != each.said for each in gains) + family, gains)


def _several(chosen: dict[str, dict[str, Row]], gain: Gains, where: str) -> None:
    """Print encoders x tasks, best mean rank first."""
    gains, ranks = standings(chosen, gain)
    body = []
    for name, rank in sorted(ranks.items(), key=lambda item: (item[1].mean, item[0])):
        scores = [f"{own[name].summary('test')} {own[name].mark}".strip() for own in chosen.values()]
        body.append([name, *scores, f"{rank.mean:.2f}", f"{rank.low:.2f} to {rank.high:.2f}"])
    print(f"test scores, {where}; intervals of ranks by the tests of all pairs on all tasks (Holm):\n")
    print(fitted(["encoder", *chosen, "mean rank", "95 % interval"], body))
    untested = Counter((each.ours.spec.task, each.untested) for each in gains if each.untested)
    notes = [f"{task}: {count} pair{'s' * (count > 1)} not tested ({why})" for (task, why), count in untested.items()]
    _print(notes, gains)


def _print(notes: Sequence[str], gains: Sequence[Gain]) -> None:
    marks = {row.mark for gain in gains for row in (gain.ours, gain.theirs)}
    convergence = [text for mark, text in ((DAGGER, NOT_CONVERGED), (NOT_CHECKED, UNCHECKED)) if mark in marks]
    own = [gain for gain in gains if reads_own_data(gain.ours.spec.task)]
    print("".join(f"\n{note}\n" for note in [*notes, *_power(own), *convergence]), end="")


def _power(gains: Sequence[Gain]) -> list[str]:
    """What data of the user's own can show, by the least certain of these differences, and what POINTS would take."""
    if not (tested := [own for gain in gains if (own := gain.difference) and own.error]):  # 0: nothing varied
        return []
    widest = max(tested, key=lambda each: each.detectable)
    items, times = round(widest.items.df) + 1, (widest.detectable / POINTS) ** 2
    more = f"about {items * times:,.0f} of them and {times:,.0f} times as many seeds would be needed."
    more = f"For {POINTS:g} points, {more}"
    more = f"So these data can show {POINTS:g} points." if times <= 1 else more
    found = f"four of five comparisons find a difference of {widest.detectable:.1f} points."
    return [f"With {items:,} test items and these seeds, {found} {more}"]
