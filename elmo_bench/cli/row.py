"""`sweep experiment=row encoder=NAME`: where an encoder is among the published ones.

After each task a table has the mean test scores of the sweep's encoders and of the
published runs on the same data, best first. A line then says which of these have
records in the ledger, so that a difference can be tested, and which are numbers only.
"""

import shlex
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from elmo_bench.base import include
from elmo_bench.base.errors import UserError
from elmo_bench.ledger import Record, read_all, score_of
from elmo_bench.reporting.console import fitted
from elmo_bench.reporting.published import published
from elmo_bench.reporting.significance import summarise
from elmo_bench.runner.states import RunState
from elmo_bench.spec.describe import label_of
from elmo_bench.spec.run_spec import RunSpec
from elmo_bench.spec.sweeps import LEDGER
from elmo_bench.spec.tuning import check_frozen

NAME = "row"
LEAST_SEEDS = 2  # of a test


class _Key(NamedTuple):
    """What the scores of a table have in common."""

    suite: str
    task: str
    size: str
    data: str  # the digest of all examples


class _Line(NamedTuple):
    """One encoder in a table."""

    encoder: str
    mean: float
    score: str
    seeds: int
    where: str


def is_row(options: Sequence[str]) -> bool:
    return f"experiment={NAME}" in options


def check(options: Sequence[str]) -> None:
    """Raise UserError without an encoder, as the default one is published, and for
    one that is tuned: the ranking is of frozen encoders.
    """
    check_frozen(options, f"experiment={NAME}")
    if not any(option.startswith("encoder=") for option in options):
        raise UserError(f"experiment={NAME}: which encoder? Give encoder=NAME.")


def standing(results: Sequence[RunState], ledger: Path) -> Iterator[str]:
    """The table of a task whose runs have ended, and which differences can be tested.

    results: of all runs of one task. Nothing if none of them has a record.
    """
    records = [result.record for result in results if result.record is not None]
    by_key: dict[_Key, dict[str, list[Record]]] = {}
    for record in records:
        spec = RunSpec.of_record(record)
        label = label_of(spec)
        name = f"{spec.encoder}, {label}" if label else spec.encoder
        encoders = by_key.setdefault(_key_of(record), {})
        encoders.setdefault(name, []).append(record)
    for key, encoders in by_key.items():
        yield _table(key, encoders)
        yield _tests(key, list(encoders), ledger)


def _key_of(record: Record) -> _Key:
    spec = record.spec
    data = (spec.contents or {}).get("data", "")
    return _Key(spec.suite, spec.task, spec.size, data)


def _table(key: _Key, encoders: dict[str, list[Record]]) -> str:
    """Encoders by their mean test score, best first."""
    lines = [*_own_lines(encoders), *_published_lines(key, encoders)]
    lines.sort(key=lambda line: -line.mean)
    body = []
    for rank, line in enumerate(lines, start=1):
        cells = [str(rank), line.encoder, line.score, str(line.seeds), line.where]
        body.append(cells)
    [first, *_] = encoders.values()
    metric = first[0].metric
    header = ["", "encoder", f"test {metric}", "seeds", ""]
    words = [False, True, False, False, True]
    return f"{key.task} so far:\n\n{fitted(header, body, words=words)}\n"


def _own_lines(encoders: dict[str, list[Record]]) -> Iterator[_Line]:
    for encoder, records in encoders.items():
        summary = summarise([score_of(record, "test") for record in records])
        yield _Line(encoder, summary.mean, str(summary), len(records), "this sweep")


def _published_lines(key: _Key, without: Collection[str]) -> Iterator[_Line]:
    """The published default runs on the same data, but for these encoders."""
    for row in published().values():
        row_key = _Key(row.suite, row.task, row.size, row.data)
        if row.label or row_key != key or row.encoder in without:
            continue
        scores = [seed["test"] for seed in row.seeds.values()]
        yield _Line(
            row.encoder, row.mean, str(summarise(scores)), len(scores), "published"
        )


def _tests(key: _Key, encoders: Sequence[str], ledger: Path) -> str:
    """Which published encoders have records here, and which are numbers only."""
    # `compare` leaves out runs that change an option.
    default = [encoder for encoder in encoders if ", " not in encoder]
    here = []
    numbers = []
    for line in _published_lines(key, encoders):
        seeds = _seeds_in(ledger, key, line.encoder)
        if default and len(seeds) >= LEAST_SEEDS:
            here.append(line.encoder)
        else:
            numbers.append(line.encoder)
    parts = []
    if here:
        command = ["elmo-bench", *include.options(), "compare", default[0], here[0]]
        command += ["--suite", key.suite]
        if ledger != LEDGER:
            command += ["--ledger", str(ledger)]
        names = ", ".join(here)
        parts.append(
            f"differences to {names} can be tested (records in {ledger}): "
            f"{shlex.join(command)}"
        )
    if numbers:
        parts.append(f"of {', '.join(numbers)} there are numbers only, and no test")
    return f"{'; '.join(parts) or 'nothing is published on these data'}.\n"


def _seeds_in(ledger: Path, key: _Key, encoder: str) -> set[int]:
    """The seeds of an encoder's default run on these data in a ledger."""
    seeds = set()
    for record in read_all(ledger, (key.suite, key.task, encoder)).records:
        is_default = not label_of(RunSpec.of_record(record))
        if is_default and _key_of(record) == key:
            seeds.add(record.seed)
    return seeds
