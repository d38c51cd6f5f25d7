"""From records to rows: the seeds of one run together, the newest where weights or data have changed since."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from elmo_bench.ledger import Record, canonical
from elmo_bench.reporting.statistics import Summary, summarise

BASELINE = "glove"  # static vectors: what an encoder has to beat


@dataclass(frozen=True)
class Row:
    """All seeds of one run, by seed."""

    label: str
    records: tuple[Record, ...]

    @property
    def newest(self) -> Record:
        """The record that speaks for the others where they agree by construction."""
        return max(self.records, key=lambda record: (record["created"], record["seed"]))

    @property
    def place(self) -> tuple[str, str]:
        """(suite, task): the table that the row belongs to."""
        return self.newest["suite"], self.newest["task"]

    @property
    def seeds(self) -> list[int]:
        return [record["seed"] for record in self.records]

    def scores(self, split: str) -> dict[int, float]:
        """The main score by seed; split is dev or test."""
        return {r["seed"]: r["scores"][split]["overall"][r["metric"]] for r in self.records}  # type: ignore[literal-required]

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
    """Group by suite, task, encoder and settings; where contents differ the newest (or `prefer`red) hash is current."""
    groups: dict[tuple[str, ...], dict[str, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        settings = canonical(record["identity"]["settings"])
        groups[record["suite"], record["task"], record["encoder"], settings][record["hash"]].append(record)
    rows, stale = [], []
    for group in groups.values():
        by_age = sorted((_row(group[name]) for name in group), key=lambda row: _age(row, prefer))
        rows.append(by_age[-1])
        stale += [(older, by_age[-1]) for older in by_age[:-1]]
    rows.sort(key=lambda row: (row.place, -row.summary("test").mean, row.label, row.newest["hash"]))
    stale.sort(key=lambda pair: (pair[0].place, pair[0].label, pair[0].newest["hash"]))
    return Selection(_unambiguous(rows), stale)


def baseline_of(row: Row, rows: Sequence[Row]) -> Row | None:
    """The baseline's row with the same overrides, else the one without any; None for the baseline itself."""
    if row.newest["encoder"] == BASELINE:
        return None
    candidates = [other for other in rows if other.newest["encoder"] == BASELINE and other.place == row.place]
    for overrides in (sorted(row.newest["overrides"]), []):
        for other in candidates:
            if sorted(other.newest["overrides"]) == overrides:
                return other
    return None


def _row(records: list[Record]) -> Row:
    newest = max(records, key=lambda record: record["created"])
    label = ", ".join([newest["encoder"], *sorted(newest["overrides"])])
    return Row(label, tuple(sorted(records, key=lambda record: record["seed"])))


def _age(row: Row, prefer: str | None) -> tuple[bool, str, str]:
    return row.newest["hash"] == prefer, row.newest["created"], row.newest["hash"]


def _unambiguous(rows: list[Row]) -> list[Row]:
    """Rows of one table that share a label (settings differ by more than overrides say) get their hash beside it."""
    uses = Counter((row.place, row.label) for row in rows)
    return [
        row if uses[row.place, row.label] == 1 else Row(f"{row.label} #{row.newest['hash'][:6]}", row.records)
        for row in rows
    ]
