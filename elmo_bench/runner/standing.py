"""Where a plan stands: which of its runs are done, running, failed, stale or missing. Reads the ledger; no torch."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from elmo_bench.ledger import Record, is_held, read_failures, read_lease, read_ledger, runs_in
from elmo_bench.runner.plan import Planned, place_of

STATES = ("done", "running", "failed", "stale", "missing")
Place = tuple[str, str, str, str]  # suite, task, encoder, settings


@dataclass(frozen=True)
class Standing:
    """A planned run and its state.

    stale: its record is of an older version of the task, or other seeds have since been run on other data or weights.
    """

    run: Planned
    state: str
    note: str = ""  # of a failed run the error's last line, of a running one where it runs


@dataclass
class _Seen:
    """What one ledger holds, by place and seed."""

    records: dict[Place, dict[int, Record]] = field(default_factory=lambda: defaultdict(dict))
    failed: dict[tuple[Place, int], str] = field(default_factory=dict)
    running: dict[tuple[Place, int], str] = field(default_factory=dict)


def standings(plan: Sequence[Planned]) -> list[Standing]:
    """The state of every planned run, in the plan's order. Raises UserError for a damaged ledger."""
    ledgers = {ledger: _seen(ledger) for ledger in {run.ledger for run in plan}}
    return [_standing(run, ledgers[run.ledger]) for run in plan]


def seconds_left(found: Iterable[Standing]) -> tuple[float, int]:
    """(what the runs that are not done will take, one after the other; how many of them nothing is known of).

    A run takes as long as the like did: other seeds of it, else runs of its task and encoder, else of its task.
    """
    found = list(found)
    costs: dict[tuple, list[float]] = defaultdict(list)
    ledgers = {ledger: _seen(ledger).records for ledger in {each.run.ledger for each in found}}
    for records in ledgers.values():
        for place, seeds in records.items():
            for like in (place, place[:3], place[:2]):
                costs[like] += [record["cost"]["seconds"] for record in seeds.values()]
    total, unknown = 0.0, 0
    for each in found:
        if each.state != "done":
            place = _place(each.run)
            known = next((costs[key] for key in (place, place[:3], place[:2]) if key in costs), None)
            total += fmean(known) if known else 0.0
            unknown += known is None
    return total, unknown


def _place(run: Planned) -> Place:
    return run.suite, run.task, run.encoder, run.settings


def _place_of(config: dict[str, Any]) -> Place | None:
    """None for the config of another version of this project: no run of today has its settings."""
    try:
        return place_of(config)
    except (KeyError, TypeError, AttributeError):
        return None


def _seen(ledger: Path) -> _Seen:
    seen = _Seen()
    for record in sorted(read_ledger(ledger), key=lambda record: record["created"]):  # the newest stays
        if place := _place_of(record["config"]):
            seen.records[place][record["seed"]] = record
    for run, failure in read_failures(ledger):
        if place := _place_of(failure["config"]):
            seen.failed[place, run.seed] = (failure["traceback"].strip().splitlines() or [""])[-1]
    for run in runs_in(ledger):
        lease = read_lease(run.lease)
        if lease is not None and (place := _place_of(lease["config"])) and is_held(run):
            seen.running[place, run.seed] = f"{lease['machine'].split()[0]}, process {lease['pid']}"
    return seen


def _standing(run: Planned, seen: _Seen) -> Standing:
    place = _place(run)
    if where := seen.running.get((place, run.seed)):
        return Standing(run, "running", where)
    seeds = seen.records.get(place, {})
    record = seeds.get(run.seed)
    if record is not None:
        newest = max(seeds.values(), key=lambda record: record["created"])
        current = record["identity"]["contents"] == newest["identity"]["contents"]
        if current and record["identity"]["contents"].get("task_version") == run.version:
            return Standing(run, "done")
    if line := seen.failed.get((place, run.seed)):
        return Standing(run, "failed", line)
    return Standing(run, "missing" if record is None else "stale")
