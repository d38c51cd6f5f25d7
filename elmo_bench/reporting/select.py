"""From records to rows: the seeds of one run together, the newest where weights or data have changed since."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from elmo_bench.ledger import Record, canonical
from elmo_bench.reporting.differences import PART, changes, settings_apart
from elmo_bench.reporting.statistics import Summary, summarise

BASELINE = "glove"  # static vectors: what an encoder has to beat
# What the baseline has not: changes in it are the encoder's alone.
CONTEXTUAL = ("mix", "place", "store", "encoder.weights", "encoder.precision", "encoder.contextual")


@dataclass(frozen=True)
class Row:
    """All seeds of one run, by seed."""

    label: str
    records: tuple[Record, ...]
    apart: str = ""  # what sets it apart from others of its column, where unlike rows were asked for

    @cached_property
    def newest(self) -> Record:
        """The record that speaks for the others where they agree by construction."""
        return max(self.records, key=lambda record: (record["created"], record["seed"]))

    @cached_property
    def changes(self) -> dict[str, str]:
        """What sets it apart from the plain run, see `differences.py`."""
        return changes(self.newest)

    @cached_property
    def encoder(self) -> str:
        """The encoder with what was changed of it: what a column of encoders is headed with."""
        own = [f"{key}={value}" for key, value in self.changes.items() if key.startswith("encoder.")]
        return ", ".join([self.newest["encoder"], *own])

    @cached_property
    def variation(self) -> dict[str, str]:
        """The changes that are not the encoder's; empty for the run that compares encoders."""
        return {key: value for key, value in self.changes.items() if not key.startswith("encoder.")}

    @property
    def partial(self) -> bool:
        """Whether it was trained on part of the training split."""
        return any(key in self.changes for key in PART)

    @property
    def place(self) -> tuple[str, str]:
        """(suite, task): the table that the row belongs to."""
        return self.newest["suite"], self.newest["task"]

    @property
    def anchor(self) -> str:
        """Names the run on a page."""
        return "-".join(["run", *self.place, self.newest["encoder"], self.newest["hash"]])

    @property
    def seeds(self) -> list[int]:
        return [record["seed"] for record in self.records]

    def scores(self, split: str) -> dict[int, float]:
        """The main score by seed; split is dev or test."""
        return {r["seed"]: r["scores"][split]["overall"][r["metric"]] for r in self.records}  # type: ignore[literal-required]

    def like(self, other: "Row") -> bool:
        """Whether the two were made at one size, by one version of the task, on the same data."""
        ours, theirs = (
            (identity["settings"].get("size"), identity["contents"].get("task_version"), record["data"]["fingerprint"])
            for record in (self.newest, other.newest)
            for identity in [record["identity"]]
        )
        return ours == theirs

    def summary(self, split: str) -> Summary:
        """The main score over seeds."""
        return summarise(self.scores(split).values())

    def cost(self, key: str) -> float:
        """Mean over seeds of one figure of the records' cost."""
        return summarise(record["cost"][key] for record in self.records).mean  # type: ignore[literal-required]


@dataclass(frozen=True)
class Selection:
    """What a report shows: current rows, best test score first, and (superseded row, the row that replaced it)."""

    rows: list[Row]
    stale: list[tuple[Row, Row]]

    def tables(self) -> dict[tuple[str, str], list[Row]]:
        """Current rows by (suite, task), both in alphabetic order."""
        tables: dict[tuple[str, str], list[Row]] = defaultdict(list)
        for row in self.rows:
            tables[row.place].append(row)
        return dict(sorted(tables.items()))


def select(records: Iterable[Record], *, prefer: str | None = None) -> Selection:
    """Group by suite, task, encoder, settings and the data that were chosen; where contents differ all the same, the
    newest (or `prefer`red) hash is current."""
    groups: dict[tuple[str, ...], dict[str, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        settings = canonical(record["identity"]["settings"])
        data = [override for override in record["overrides"] if override.startswith("task.data.")]
        groups[record["suite"], record["task"], record["encoder"], settings, *data][record["hash"]].append(record)
    rows, stale = [], []
    for group in groups.values():
        by_age = sorted((_row(group[name]) for name in group), key=lambda row: _age(row, prefer))
        rows.append(by_age[-1])
        stale += [(older, by_age[-1]) for older in by_age[:-1]]
    rows.sort(key=lambda row: (row.place, -row.summary("test").mean, row.label, row.newest["hash"]))
    stale.sort(key=lambda pair: (pair[0].place, pair[0].label, pair[0].newest["hash"]))
    return Selection(_unambiguous(rows), stale)


def baseline_of(row: Row, rows: Sequence[Row]) -> Row | None:
    """The baseline's row on the same data, of the same version and size, with the same changes as far as they concern
    it; None for itself, and where there is no such row: with and without differ in the encoder alone."""
    if row.newest["encoder"] == BASELINE:
        return None
    wanted = {key: value for key, value in row.changes.items() if not key.startswith(CONTEXTUAL)}
    found = [other for other in rows if other.newest["encoder"] == BASELINE and other.place == row.place]
    return next((other for other in found if other.changes == wanted and row.like(other)), None)


def _row(records: list[Record]) -> Row:
    newest = max(records, key=lambda record: record["created"])
    label = ", ".join([newest["encoder"], *(f"{key}={value}" for key, value in changes(newest).items())])
    return Row(label, tuple(sorted(records, key=lambda record: record["seed"])))


def _age(row: Row, prefer: str | None) -> tuple[bool, str, str]:
    return row.newest["hash"] == prefer, row.newest["created"], row.newest["hash"]


def _unambiguous(rows: list[Row]) -> list[Row]:
    """Rows of one table that share a label get what sets them apart: size, one or two settings, or the hash."""
    twins: dict[tuple[tuple[str, str], str], list[Row]] = defaultdict(list)
    for row in rows:
        twins[row.place, row.label].append(row)
    named: dict[int, Row] = {}
    for (_, label), same in twins.items():
        apart = settings_apart([row.newest for row in same])
        told = [[f"size={one['size']}"] if "size" in one else [f"{k}={v}" for k, v in one.items()] for one in apart]
        clear = len({tuple(one) for one in told}) == len(same) and len(told[0]) <= 2
        for row, own in zip(same, told, strict=True):
            longer = ", ".join([label, *own]) if clear else f"{label} #{row.newest['hash'][:6]}"
            named[id(row)] = row if len(same) == 1 else replace(row, label=longer)
    return [named[id(row)] for row in rows]
