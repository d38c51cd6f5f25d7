"""Selectivity: a probe's score on true labels less its score on control labels (Hewitt and Liang 2019)."""

from collections.abc import Iterable
from dataclasses import dataclass

from elmo_bench.base.json import canonical
from elmo_bench.reporting.groups import Group
from elmo_bench.reporting.rows import LABELS, Row
from elmo_bench.reporting.statistics import Summary, summarise


@dataclass(frozen=True)
class Controls:
    """Runs on control labels, found by everything else in their specs."""

    rows: dict[str, Row]

    @classmethod
    def of(cls, groups: Iterable[Group]) -> "Controls":
        return cls({_key(row): row for group in groups if group.basis.labels for row in group.rows})

    def control_of(self, row: Row) -> Row | None:
        """The same run on control labels; None for a run on control labels, and if it is missing."""
        return None if row.basis.labels else self.rows.get(_key(row))


def selectivity(row: Row, controls: Controls) -> Summary | None:
    """Over the seeds that both runs have, on test; None without a control or a common seed."""
    control = controls.control_of(row)
    if control is None:
        return None
    ours, theirs = row.scores("test"), control.scores("test")
    common = sorted(ours.keys() & theirs.keys())
    return summarise(ours[seed] - theirs[seed] for seed in common) if common else None


def _key(row: Row) -> str:
    spec = row.spec
    settings = {option: value for option, value in spec.settings.items() if option != LABELS}
    contents = {name: value for name, value in (spec.contents or {}).items() if name != "data"}
    return canonical([spec.suite, spec.task, spec.encoder, spec.size, settings, contents])
