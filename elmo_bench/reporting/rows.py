"""From records to rows: the seeds of one run together, the newest contents of equal settings. Imports no pandas."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isnan, nan
from statistics import fmean
from typing import NamedTuple

from elmo_bench.base.errors import UserError
from elmo_bench.base.metric import measure
from elmo_bench.ledger import Record, minutes_of
from elmo_bench.reporting.significance import Summary, summarise
from elmo_bench.spec.config import reads_own_data
from elmo_bench.spec.experiments import FRACTION
from elmo_bench.spec.names import metric_of
from elmo_bench.spec.run_spec import RunSpec, converged
from elmo_bench.spec.settings import invented

NOT_CHECKED = "not checked"
UNCHECKED = (
    f"{NOT_CHECKED}: the task is not installed, so nothing here computes its scores again from the outcomes. "
    "Give its folder: --include FOLDER."
)
LABELS = "task.data.labels"  # which labels a run was trained and scored on, unless it is the true ones
BASELINE = "glove"  # static vectors: what an encoder is compared with
DAGGER = "†"
NOT_CONVERGED = (
    f"{DAGGER} not converged: a seed had fewer epochs than the task's budget, the task has no measured budget, or a "
    "seed learned nothing (0 on dev, or one answer to everything after every epoch). Its gains have no verdict. To "
    "measure a budget, run the baseline and an encoder at twice the epochs, three seeds: if neither gains more than "
    "one point and more than twice its standard error, write the epochs to report.budget in the task's yaml."
)
NOT_INCLUDED = "the yaml of its task, its encoder or its suite is not included. Give its folder: --include FOLDER"


@dataclass(frozen=True, order=True)
class Basis:
    """What comparable runs have in common. Two runs are compared only if this is equal."""

    suite: str
    task: str
    version: str  # of the task and of the training protocol
    size: str
    data: str  # digest of all examples, 12 digits
    fraction: tuple[tuple[str, str], ...]  # options that take a fraction of the training split; empty: all of it
    labels: str = ""  # `control` for a run on control labels


@dataclass(frozen=True)
class Row:
    """All seeds of one run, by seed."""

    spec: RunSpec
    records: tuple[Record, ...]
    name: str  # of the encoder: as in the spec, or more of its path where two paths end in the same name

    @cached_property
    def newest(self) -> Record:
        """The record that represents the others in what does not depend on the seed."""
        return max(self.records, key=lambda record: (record["created"], record["seed"]))

    @property
    def changes(self) -> dict[str, str]:
        """{option: value} that differs from the default run of this encoder."""
        return self.spec.changes

    @cached_property
    def basis(self) -> Basis:
        spec, settings, contents = self.spec, self.spec.settings, self.spec.contents or {}
        version = f"{settings.get('task.version', '')}, protocol {settings.get('protocol', '')}"
        fraction = tuple((key, self.changes[key]) for key in FRACTION if self.changes.get(key, "null") != "null")
        data, labels = str(contents.get("data", ""))[:12], str(settings.get(LABELS, ""))
        return Basis(spec.suite, spec.task, version, spec.size, data, fraction, labels)

    @cached_property
    def encoder(self) -> str:
        """The encoder and the changes to it: the name of its column in a table of encoders."""
        own = [f"{key}={value}" for key, value in self.changes.items() if key.startswith("encoder.")]
        return ", ".join([self.name, *own])

    @cached_property
    def variation(self) -> dict[str, str]:
        """The changes to neither the encoder nor the amount of data; empty for a run that compares encoders."""
        return {k: v for k, v in self.changes.items() if not k.startswith("encoder.") and k not in FRACTION}

    @cached_property
    def label(self) -> str:
        """The row's name in a table of one basis."""
        changes = [f"{key}={value}" for key, value in self.changes.items() if key not in FRACTION]
        return ", ".join([self.name, *changes])

    @property
    def anchor(self) -> str:
        """The run's address on a page."""
        return "-".join(["run", self.spec.suite, self.spec.task, self.spec.encoder, self.newest["hash"]])

    @property
    def train(self) -> int:
        """How many examples it was trained on."""
        return self.newest["data"]["counts"]["train"]

    @property
    def seeds(self) -> list[int]:
        return [record["seed"] for record in self.records]

    @cached_property
    def converged(self) -> int:
        """How many of its seeds converged."""
        return sum(map(converged, self.records))

    @cached_property
    def checked(self) -> bool:
        """Whether its scores follow from its outcomes; nobody knows if its task is not installed."""
        return is_checked(self.spec.task)

    @property
    def mark(self) -> str:
        """Why its gains have no verdict: its scores are not checked, or a seed did not converge (a dagger)."""
        if not self.checked:
            return NOT_CHECKED
        return "" if self.converged == len(self.records) else DAGGER

    @property
    def deterministic(self) -> bool:
        """Whether all of its seeds have one score; see `RunSpec.deterministic`."""
        return self.spec.deterministic

    def scores(self, split: str) -> dict[int, float]:
        """The main score by seed; `split` is dev or test."""
        return {record["seed"]: score_of(record, split) for record in self.records}

    def summary(self, split: str) -> Summary:
        """The main score over seeds, without a deviation if nothing in the run is drawn."""
        summary = summarise(self.scores(split).values())
        return replace(summary, sd=None) if self.deterministic else summary

    @property
    def measure(self) -> str:
        """What its main score is called."""
        return measure(self.newest["metric"], self.newest["scores"]["test"]["overall"])

    @property
    def macro_f1(self) -> Summary | None:
        """On test, over seeds; None if its metric has none."""
        own = [record["scores"]["test"]["overall"].get("macro_f1", nan) for record in self.records]
        return None if any(map(isnan, own)) else summarise(own)

    @property
    def minutes(self) -> float:
        """What one of its runs takes, the mean."""
        return fmean(map(minutes_of, self.records))

    def cost(self, key: str) -> float:
        """Mean over seeds of one entry of `cost`."""
        return summarise(record["cost"][key] for record in self.records).mean  # type: ignore[literal-required]


class Selection(NamedTuple):
    """What a report shows: current rows, best test score first, and the runs that they replaced."""

    rows: list[Row]
    superseded: list[tuple[Row, Row]]  # (old, new)
    unknown: list[str]  # a line for each task and encoder of which runs are left out, and why
    notes: list[str]  # lines on runs that do not compare: on another file of the same name, and `mixed_code`


def is_checked(task: str) -> bool:
    """Whether the task is installed, so that its records were checked when they were read."""
    return metric_of(task) is not None


def score_of(record: Record, split: str) -> float:
    """The main score of a record on dev or test."""
    return record["scores"][split]["overall"][record["metric"]]  # type: ignore[literal-required]


def select(records: Iterable[Record]) -> Selection:
    """Collect the seeds of each run. Of runs with equal settings the newest is current.

    Such runs differ in contents (data, weights, vectors) or in the version of a task, an encoder or the protocol. Runs
    of a task or an encoder whose yaml is in no included folder are left out.
    """
    by_hash: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        by_hash[record["hash"]].append(record)
    every, unknown = list[Row](), Counter[tuple[str, str, str]]()
    for seeds in by_hash.values():
        spec = RunSpec(**seeds[0]["spec"])
        try:
            spec.default()
            why = f"no run has {setting}" if (setting := invented(spec.settings)) else ""
        except UserError:
            why = NOT_INCLUDED
        if why:
            unknown[spec.task, spec.encoder, why] += len(seeds)
        else:
            every.append(Row(spec, tuple(sorted(seeds, key=lambda record: record["seed"])), spec.encoder))
    by_settings: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in _told_apart(every):
        by_settings[row.name, row.spec.identity].append(row)
    rows, older = list[Row](), list[tuple[Row, Row]]()
    for same in by_settings.values():
        same.sort(key=lambda row: (row.newest["created"], row.newest["hash"]))
        rows.append(same[-1])
        older += [(row, same[-1]) for row in same[:-1]]
    rows.sort(key=lambda row: (row.spec.suite, row.spec.task, -row.summary("test").mean, row.label, row.newest["hash"]))
    older.sort(key=lambda pair: (pair[0].spec.suite, pair[0].spec.task, pair[0].label, pair[0].newest["hash"]))
    replaced = {
        f"{row.spec.task} on suite {row.spec.suite}: runs on an earlier file of this name are left out. If it is "
        "another file, and no older version, make its runs with a name of their own: suite.name=NAME."
        for row, newer in older
        if reads_own_data(row.spec.task) and row.basis.data != newer.basis.data
    }
    left_out = [
        f"task {task}, encoder {encoder}: {count} run{'s' * (count > 1)} left out, since {why}."
        for (task, encoder, why), count in sorted(unknown.items())
    ]
    return Selection(rows, older, left_out, [*sorted(replaced), *mixed_code(rows)])


def mixed_code(rows: Iterable[Row]) -> list[str]:
    """A line for each run, and for each task of comparable runs, that different code in an included folder made."""
    made: defaultdict[tuple[object, str, str], set[str]] = defaultdict(set)
    for row in rows:
        whole = row.basis, "task", f"{row.spec.task} on suite {row.spec.suite}"
        for key in (whole, (row.anchor, "encoder", f"{row.spec.task} {row.label}")):
            digests = (record["environment"].get("code", {}).get(key[1]) for record in row.records)
            made[key].update(filter(None, digests))
    return [
        f"{name}: the code of the {part} changed between these runs, so their scores do not compare. "
        "Make the older ones again: overwrite=true."
        for (_, part, name), digests in made.items()
        if len(digests) > 1
    ]


def _told_apart(rows: Sequence[Row]) -> list[Row]:
    """The rows; encoders of one name from several places are called by the shortest ends of these that differ.

    A record has the place beside its spec, which has the last part alone.
    """
    places: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        if place := row.newest["environment"].get("source"):
            places[row.encoder].add(place)
    named = []
    for row in rows:
        name = told_apart(row.name, row.newest["environment"].get("source"), places[row.encoder])
        named.append(replace(row, name=name))
    return named


def told_apart(name: str, place: str | None, known: Collection[str]) -> str:
    """The name of an encoder from one of several `known` places: the shortest end of the place that no other has."""
    if not place or len(known) < 2:
        return name
    ends = ["/".join(place.split("/")[-k:]) for k in range(1, place.count("/") + 2)]
    end = next((end for end in ends if sum(f"/{other}".endswith(f"/{end}") for other in known) == 1), place)
    return end if end.endswith(name) else f"{name} ({end})"


def of_newest_protocol(rows: Sequence[Row]) -> list[Row]:
    """The rows of the newest training protocol among them: rows of two protocols are not comparable."""
    newest = max((row.spec.protocol for row in rows), default=0)
    return [row for row in rows if row.spec.protocol == newest]
