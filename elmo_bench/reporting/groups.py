"""Rows that are comparable, how each group of them is called, and what tables call a task. Imports no pandas."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from re import findall

from elmo_bench.reporting.rows import Basis, Row
from elmo_bench.spec.config import task_yaml
from elmo_bench.spec.experiments import FRACTION, MAIN, Experiment

OTHER = "other data"


@dataclass(frozen=True)
class TaskInfo:
    """The `report` node of a task's yaml on one suite; a task without one is called by its name."""

    title: str
    unit: str = "examples"
    data: str = ""  # of this suite
    same: str = OTHER  # what the suite's data has in common with the paper's; empty if it is the paper's
    chance: tuple[float, str] | None = None  # a test score without an encoder, and of what
    probe: bool = False  # shown by experiments alone that sweep it, so that no table mixes it with other tasks

    def beside_paper(self, text: str) -> str:
        """Something of the paper, marked if the suite's data is not the paper's."""
        return f"{text} ({self.same})" if self.same else text


def task_info(task: str, suite: str) -> TaskInfo:
    """What tables call a task on this suite. Nothing of it enters a run."""
    known = task_yaml(task).get("report", {})
    same = "" if suite == "paper" else known.get("same", {}).get(suite, OTHER)
    more = {key: known[key] for key in ("unit", "probe", "chance") if key in known}
    return TaskInfo(known.get("title", task), data=known.get("data", {}).get(suite, ""), same=same, **more)


def in_paper_order(tasks: Iterable[str]) -> list[str]:
    """The tasks of table 1 in the paper's order, then the others by name."""
    order = list(Experiment.load(MAIN).paper)
    return sorted(tasks, key=lambda task: (order.index(task) if task in order else len(order), task))


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
    def checked(self) -> bool:
        """Whether its scores follow from the outcomes: the task is installed."""
        return self.rows[0].checked

    @property
    def info(self) -> TaskInfo:
        return task_info(self.task, self.suite)

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
        return "/".join(sorted({row.measure for row in self.rows}))

    @property
    def measure(self) -> str:
        """The metric in English, such as `average F1`."""
        return self.metric.replace("_", " ").replace("f1", "F1")

    @cached_property
    def chance(self) -> tuple[float | None, str]:
        """The test score without reading, and what it is of; None if it is not known.

        By the task's `report.chance`, else of the most frequent gold label, else 0 of a figure that no answer gets.
        """
        if self.info.chance:
            return self.info.chance
        if self.metric == "accuracy":
            by_type = self.rows[0].newest["scores"]["test"].get("by_type", {})
            gold = {name: int(own.get("gold", 0)) for name, own in by_type.items()}
            top = max(gold, key=gold.__getitem__, default="")
            return (100 * gold[top] / sum(gold.values()), f"always “{top}”") if sum(gold.values()) else (None, "")
        return (0.0, "no answer") if self.metric.endswith("f1") else (None, "")

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
        title = self.info.title
        return self.name if title == self.task else f"{title} ({self.name})"

    def titles(self, experiment: Experiment) -> tuple[str, str]:
        """The stem and the title of its table and figure in an experiment."""
        return f"{self.stem}-{experiment.name}", f"{experiment.caption}: {self.heading}, suite {self.suite}"

    def label(self, between: str = ", ") -> str:
        """The task in words, and what sets the group apart."""
        return between.join(filter(None, [self.info.title, self.note]))


def groups(rows: Sequence[Row]) -> list[Group]:
    """Comparable rows together; within a suite and task the groups on all of the data and with most encoders first."""
    by_task: dict[tuple[str, str, str], dict[Basis, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        by_task[row.spec.suite, row.spec.task, row.basis.labels][row.basis].append(row)
    return [group for _, by_basis in sorted(by_task.items()) for group in _named(by_basis)]


def _named(by_basis: Mapping[Basis, Sequence[Row]]) -> list[Group]:
    """A group for each basis of one suite and task."""
    wholes = {replace(basis, fraction=()): rows[0].train for basis, rows in by_basis.items() if not basis.fraction}
    homes = {basis: replace(basis, fraction=()) for basis in by_basis}
    keys = [key for key in ("version", "size", "data") if len({getattr(home, key) for home in homes.values()}) > 1]
    sizes = {home: wholes.get(home) for home in homes.values()}
    counted = None not in sizes.values() and len(set(sizes.values())) == len(sizes)
    options = {home: _data_options(by_basis[basis][0]) for basis, home in homes.items()}
    common = set.intersection(*options.values())
    own = {home: ", ".join(sorted(each - common)) for home, each in options.items()}
    named = []
    for basis, rows in by_basis.items():
        words = {key: f"{key}={getattr(basis, key)}" for key in keys}
        if "data" in words and len(set(own.values())) == len(own):
            words["data"] = own[homes[basis]]
        elif "data" in words and counted:
            words["data"] = f"{sizes[homes[basis]]:,} examples"
        differs = ", ".join(filter(None, words.values()))
        named.append(Group(basis, tuple(rows), differs, sizes[homes[basis]]))
    named.sort(key=lambda group: (bool(group.basis.fraction), -len({row.encoder for row in group.rows}), group.basis))
    return named


def _data_options(row: Row) -> set[str]:
    """The options that say which data of the user's own a run reads, such as the column of the label."""
    given = (
        (key, value) for key, value in row.spec.settings.items() if key.startswith("data.") and key not in FRACTION
    )
    return {f"{key}={value}" for key, value in given if value is not None}


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
