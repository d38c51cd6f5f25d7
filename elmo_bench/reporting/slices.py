"""Slices of test: each encoder on words that training or the static vectors lack, from the outcomes of its records."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import fmean

from elmo_bench.base.errors import UserError
from elmo_bench.base.metric import Counts, columns, main_figure, units_of
from elmo_bench.ledger import RunPaths, of_split, read_outcomes, slices_of
from elmo_bench.reporting.gains import metric_for, over_baseline, tested
from elmo_bench.reporting.groups import Group
from elmo_bench.reporting.rows import BASELINE, Row
from elmo_bench.reporting.significance import over_seeds, summarise
from elmo_bench.reporting.table import ROW, Cell, Line, Table, interval, make_table, number, seeds, spread
from elmo_bench.spec.experiments import MAIN, Experiment
from elmo_bench.spec.settings import VECTORS

WHOLE = "all of test"
FEWEST = 10  # decisions or gold units of a slice with an interval
TITLES = {
    WHOLE: WHOLE,
    "unseen": "a word unseen in training",
    "seen": "no word unseen in training",
    "novector": "a word without a static vector",
    "vector": "every word has a static vector",
}

Slices = dict[str, dict[str, Counts]]  # of a row: by slice, by run


def made(suite: str, groups: Sequence[Group], ledger: Path) -> list[Table]:
    """A row for each task, slice and encoder; none without slices.

    Only runs that compare encoders on all of the data. A note names each file that cannot be read.
    """
    notes: list[str] = []
    comparing = [group for group in groups if not group.basis.fraction and not group.basis.labels]
    sliced = [(group, own) for group in comparing if (own := _sliced(group, ledger, notes))]
    lines = [line for group, own in sliced for name in TITLES for line in _lines(group, own, name)]
    return [make_table(f"{suite}-slices", f"Slices of test, suite {suite}", lines, notes=notes)] if lines else []


def _sliced(group: Group, ledger: Path, notes: list[str]) -> list[tuple[Row, Slices]]:
    """The rows of a group that have slices, in the main experiment's order."""
    rows = [row for row in group.rows if not row.variation and VECTORS not in row.changes]
    rows.sort(key=lambda row: Experiment.load(MAIN).position(row.encoder))
    sliced = []
    for row in rows:
        slices = Slices()
        try:
            metric = metric_for(row)
            for path in (RunPaths.of(ledger, record) for record in row.records):
                stored = read_outcomes(path)
                own = {name: part for name, part in slices_of(stored, "test").items() if units_of(metric, part)}
                for name, part in (own | ({WHOLE: of_split(stored, "test")} if own else {})).items():
                    slices.setdefault(name, {})[str(path.record)] = part
        except UserError as error:
            notes.append(f"Left out: {str(error).replace(f'{ledger}/', '')}")
        else:
            sliced += [(row, slices)] if slices else []
    return sliced


def _lines(group: Group, sliced: Sequence[tuple[Row, Slices]], name: str) -> Iterator[Line]:
    """One for each row that has this slice."""
    slices, metric = {row.anchor: own for row, own in sliced}, metric_for(sliced[0][0])
    score = main_figure(metric)
    for row, baseline in over_baseline([row for row, own in sliced if name in own]):
        ours, theirs = slices[row.anchor][name], slices[baseline.anchor][name] if baseline else {}
        scores, other = (
            [float(score(columns(metric, counts).sum(axis=0))) for counts in arm.values()] for arm in (ours, theirs)
        )
        varied = [over_seeds(scores), over_seeds(other)]
        gold, whole = (units_of(metric, next(iter(slices[row.anchor][part].values()))) for part in (name, WHOLE))
        bounds = Cell("too few") if theirs and gold < FEWEST else None
        with suppress(UserError):  # a single seed, other units, too few of them
            bounds = bounds or (interval(tested(ours, theirs, metric, varied).interval) if theirs else None)
        yield {
            ROW: row,
            "task": group.heading,
            "slice": TITLES[name],
            "share": number(100 * gold / whole if whole else None, ".1f", suffix=" %"),
            "encoder": row.label,
            "seeds": seeds(row),
            "score": spread(summarise(scores), mark=row.mark),
            f"gain over {BASELINE}": number(fmean(scores) - fmean(other) if other else None, "+.2f"),
            "95 %": bounds,
        }
