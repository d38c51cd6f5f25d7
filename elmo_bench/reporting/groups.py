"""Rows that are comparable, and how each group of them is called."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from re import findall

from elmo_bench.reporting.rows import Basis, Row
from elmo_bench.reporting.tasks import task_info


@dataclass(frozen=True, eq=False)
class Group:
    """Comparable rows, best test score first."""

    basis: Basis
    rows: tuple[Row, ...]
    differs: str  # how its basis differs from the other groups of its suite and task; may be empty
    whole: int | None  # examples in the whole training split, if a run on all of it is known

    @property
    def suite(self) -> str:
        return self.basis.suite

    @property
    def task(self) -> str:
        return self.basis.task

    @property
    def fraction(self) -> str:
        """The amount of training data in words; empty for all of it."""
        return ", ".join(_in_words(option, value) for option, value in self.basis.fraction)

    @property
    def name(self) -> str:
        """The task and the note."""
        return ", ".join(filter(None, [self.task, self.note]))

    @property
    def note(self) -> str:
        """How the group differs from others, and on which labels and how much of the data it was trained."""
        labels = f"{self.basis.labels} labels" if self.basis.labels else ""
        return ", ".join(filter(None, [self.differs, labels, self.fraction]))

    @property
    def metric(self) -> str:
        return "/".join(sorted({row.newest["metric"] for row in self.rows}))

    def share(self, row: Row) -> float | None:
        """The share of the training split that a row was trained on; None if the whole is not known."""
        if not row.basis.fraction:
            return 1.0
        if self.whole:
            return row.train / self.whole
        fraction = dict(row.basis.fraction)
        return float(fraction["data.train_fraction"]) if "data.max_train" not in fraction else None

    @property
    def any_amount(self) -> "Group":
        """The same group, called as for any amount of training data."""
        return replace(self, basis=replace(self.basis, fraction=()))

    @property
    def stem(self) -> str:
        """The start of its file names."""
        words = self.note.replace("=", " ").replace(",", "")
        return "-".join([self.suite, self.task, *findall(r"[\w.]+", words)])

    @property
    def heading(self) -> str:
        """The task in words and by name, with what sets the group apart."""
        title = task_info(self.task, self.suite).title
        return self.name if title == self.task else f"{title} ({self.name})"


def groups(rows: Sequence[Row], *, combine: bool = False) -> list[Group]:
    """Comparable rows together; within a suite and task the groups on all of the data and with most encoders first.

    `combine`: rows on other data, of another version or size are in one group too, each labelled with how its basis
    differs. They are still compared only with rows on the same basis.
    """
    by_task: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
    for row in rows:
        by_task[row.spec.suite, row.spec.task, row.basis.labels].append(row)
    found: list[Group] = []
    for _, members in sorted(by_task.items()):
        by_basis: dict[Basis, list[Row]] = defaultdict(list)
        for row in members:
            by_basis[row.basis].append(row)
        own = _named(by_basis)
        found += _combined(own) if combine else own
    return found


def _combined(own: Sequence[Group]) -> list[Group]:
    """The groups of one suite and task, joined where they are trained on the same fraction."""
    by_fraction: dict[object, list[Group]] = defaultdict(list)
    for group in own:
        by_fraction[group.basis.fraction].append(group)
    joined = []
    for same in by_fraction.values():
        rows = [replace(row, note=group.differs) for group in same for row in group.rows]
        rows.sort(key=lambda row: -row.summary("test").mean)
        joined.append(Group(same[0].basis, tuple(rows), "", same[0].whole))
    return joined


def _named(by_basis: Mapping[Basis, Sequence[Row]]) -> list[Group]:
    """A group for each basis of one suite and task."""
    wholes = {replace(basis, fraction=()): rows[0].train for basis, rows in by_basis.items() if not basis.fraction}
    homes = {basis: replace(basis, fraction=()) for basis in by_basis}
    keys = [key for key in ("version", "size", "data") if len({getattr(home, key) for home in homes.values()}) > 1]
    sizes = {home: wholes.get(home) for home in homes.values()}
    counted = None not in sizes.values() and len(set(sizes.values())) == len(sizes)
    found = []
    for basis, rows in by_basis.items():
        home = homes[basis]
        words = {key: f"{key}={getattr(home, key)}" for key in keys}
        if counted and "data" in words:
            words["data"] = f"{sizes[home]:,} examples"
        found.append(Group(basis, tuple(rows), ", ".join(words.values()), sizes[home]))
    found.sort(key=lambda group: (bool(group.basis.fraction), -len({row.encoder for row in group.rows}), group.basis))
    return found


def _in_words(option: str, value: str) -> str:
    """`data.train_fraction=0.3` as `30 % of the training data`."""
    if option == "data.train_fraction":
        return f"{percent(float(value))} of the training data"
    if option == "data.max_train":
        return f"at most {int(value):,} training examples"
    return f"at least {value} steps an epoch"


def percent(share: float) -> str:
    """Two digits are enough: 0.1 % to 100 %."""
    return f"{100 * share:.3g} %" if share >= 0.1 else f"{100 * share:.2g} %"
