"""The ledger as a data frame of runs, one row a record, and as one of systems, one row
for all seeds of a run.

Tables select from these two frames, and `comparisons` tests pairs of systems.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from math import inf, isnan, nan
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import pandas as pd

from elmo_bench.base.errors import UserError
from elmo_bench.ledger import Record, RunPaths
from elmo_bench.ledger.record import MixWeights
from elmo_bench.reporting.cards import trained_on
from elmo_bench.reporting.columns import Run, run_of
from elmo_bench.reporting.comparable import with_groups
from elmo_bench.reporting.names import (
    DAGGER,
    NOT_CHECKED,
    SEEN,
    distinct_name,
    is_checked,
)
from elmo_bench.reporting.published import processor
from elmo_bench.reporting.rows import (
    rows_of,
    with_plain_texts,
    with_texts_of_python,
    with_types,
)
from elmo_bench.reporting.significance import Summary, summarise
from elmo_bench.spec.experiments import FRACTION
from elmo_bench.spec.options import is_of_encoder_or_head
from elmo_bench.spec.run_spec import RunSpec
from elmo_bench.spec.settings import invented
from elmo_bench.spec.tuning import TUNE, TUNED_RATE, tuned_name

NOT_INCLUDED = (
    "the yaml of its task, its encoder or its suite is not included. "
    "Give its folder: --include FOLDER"
)


def runs(ledger: Path, records: Iterable[Record]) -> pd.DataFrame:
    """The records of a ledger as a frame, see `runs_at`."""
    return runs_at((RunPaths.of(ledger, record), record) for record in records)


@with_texts_of_python
def runs_at(found: Iterable[tuple[RunPaths, Record]]) -> pd.DataFrame:
    """These records: the columns of `Run`, `checked`, and three that depend on the
    other runs.

    `checked` is whether the scores were computed again from the outcomes: the task is
    installed. `left_out` is why no table shows the run, and empty if tables show it.
    `replaced_by` is the hash of a newer run with equal settings that has other contents
    (data, weights, vectors) or versions (task, encoder, protocol), and empty without
    one: newer by its protocol, else by the task's version, else by its time; then
    `current` is true.
    """
    specs: dict[str, RunSpec] = {}
    rows = []
    for paths, record in found:
        spec = specs.setdefault(record.hash, RunSpec.of_record(record))
        rows.append(run_of(paths, record, spec))
    reasons = {run_hash: _why_left_out(spec) for run_hash, spec in specs.items()}
    # Texts stay objects, which are one block of the frame: it is selected from faster.
    numbers = {
        name: hint
        for name, hint in Run.__annotations__.items()
        if hint in (int, float, bool)
    }
    objects = pd.DataFrame(rows, columns=Run._fields, dtype=object)
    frame = with_types(objects, numbers)
    frame["left_out"] = frame.hash.map(reasons)
    checked = {task: is_checked(task) for task in set(frame.task)}
    frame["checked"] = frame.task.map(checked).astype(bool)
    _name_encoders(frame)
    _mark_replaced(frame)
    return with_plain_texts(frame)


def shown(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs that tables show: current ones whose task, encoder and suite are known
    here.
    """
    return runs[runs.current & (runs.left_out == "")]


def rows_where(table: pd.DataFrame, conditions: Iterable[bool]) -> pd.DataFrame:
    """The rows whose condition holds; none of a table without rows, where a list would
    choose columns.
    """
    return table[pd.Series(list(conditions), table.index, dtype=bool)]


def _why_left_out(spec: RunSpec) -> str:
    try:
        _ = spec.base_options
    except UserError:
        return NOT_INCLUDED
    setting = invented(spec.settings)
    return f"no run has {setting}" if setting else ""


def _name_encoders(frame: pd.DataFrame) -> None:
    """Distinguish encoders of one name that were read from several places, and fill in
    the labels.

    A spec has the last component of a path alone; the record of a run has more of it.
    """
    source_of: dict[str, str | None] = {}
    sources: dict[str, set[str]] = defaultdict(set)
    for run in rows_of(newest(frame)):
        source = run.environment.source
        source_of[run.hash] = source
        if run.left_out == "" and source:
            sources[run.encoder].add(source)
    frame["encoder"] = [
        distinct_name(encoder, source_of[run_hash], sources[encoder])
        for encoder, run_hash in zip(frame.encoder, frame.hash, strict=True)
    ]
    encoder_labels, run_labels = [], []
    for encoder, spec in zip(frame.encoder, frame.spec, strict=True):
        name = tuned_name(encoder, spec.settings)
        changes = [
            f"{key}={value}"
            for key, value in spec.changes.items()
            if key not in (*FRACTION, TUNE, TUNED_RATE)
        ]
        of_encoder = [
            change
            for change in changes
            if is_of_encoder_or_head(change.partition("=")[0])
        ]
        encoder_labels.append(", ".join([name, *of_encoder]))
        run_labels.append(", ".join([name, *changes]))
    frame["encoder_label"] = encoder_labels
    frame["run_label"] = run_labels


def _mark_replaced(frame: pd.DataFrame) -> None:
    """Of systems with equal settings the newest is current: an older installation may
    have made the last record.
    """
    latest: dict[tuple[str, str], str] = {}
    included = rows_of(frame[frame.left_out == ""])
    for run in sorted(included, key=_version_and_time):
        latest[run.encoder, run.spec.identity] = run.hash
    replaced_by = []
    for run in rows_of(frame):
        newer = latest.get((run.encoder, run.spec.identity), run.hash)
        replaced_by.append("" if run.left_out or newer == run.hash else newer)
    frame["replaced_by"] = replaced_by
    frame["current"] = frame.replaced_by == ""


def _version_and_time(run: Any) -> tuple[int, float, str, str]:
    """The key by which runs are sorted, newest last."""
    version = run.task_version
    number = version if isinstance(version, int | float) else -inf
    return run.protocol, number, run.created, run.hash


def newest(runs: pd.DataFrame) -> pd.DataFrame:
    """One run of each system: the newest, which represents the others in what does not
    depend on the seed.
    """
    return runs.sort_values(["created", "seed"]).drop_duplicates("hash", keep="last")


@with_texts_of_python
def systems(runs: pd.DataFrame) -> pd.DataFrame:
    """A row for all seeds of a run, by hash: comparable ones together, best test score
    first.

    In addition to the columns of the newest run and of `comparable.with_groups`, it
    has:

    - `seeds`, and `seed_list`, the same as a text; `n`, how many
    - of each seed, in this order: `dev_scores`, `test_scores`, `macro_f1_scores`,
      `seed_curves`, `seed_steps`, `seed_mixes`, `seed_corrected`, and `seed_epochs`,
      such as `3 of 10`
    - `dev_mean` and `dev_sd`, the mean and the sample standard deviation; the same of
      `test` and `macro_f1`.
      A system in which nothing is drawn (`RunSpec.deterministic`) has no deviation
    - `converged`, how many seeds are
    - `processors`, or GPUs: the kinds that the seeds were made on
    - `mark`: why its gains have no verdict: its scores are not checked, or a seed did
      not converge (a dagger)
    - `seen`: a double dagger if the encoder's weights were trained on examples of the
      task
    - the mean of `work_minutes` (of the newest run's device), of `peak_memory_mib`, of
      `ship_mib` and of `text_ms`
    """
    by_hash: dict[str, list[Any]] = defaultdict(list)
    for run in rows_of(runs.sort_values("seed")):
        by_hash[run.hash].append(run)
    table = newest(runs).set_index("hash", drop=False).rename_axis(None)
    over_seeds = pd.DataFrame(
        [_over_seeds(by_hash[run_hash]) for run_hash in table.hash],
        table.index,
        OverSeeds._fields,
    )
    replaced = [name for name in OverSeeds._fields if name in table]
    table = pd.concat([table.drop(columns=["attempt", *replaced]), over_seeds], axis=1)
    table["mark"] = [_mark(row) for row in rows_of(table)]
    table["seen"] = [_seen(spec) for spec in table.spec]
    return with_plain_texts(with_groups(table))


class OverSeeds(NamedTuple):
    """The columns of a system that depend on all of its seeds: see `systems`."""

    seeds: tuple[int, ...]
    seed_list: str
    n: int
    dev_scores: tuple[float, ...]
    dev_mean: float
    dev_sd: float
    test_scores: tuple[float, ...]
    test_mean: float
    test_sd: float
    macro_f1_scores: tuple[float, ...]
    macro_f1_mean: float
    macro_f1_sd: float
    seed_curves: tuple[list[float], ...]
    seed_steps: tuple[list[int], ...]
    seed_mixes: tuple[dict[str, MixWeights], ...]
    seed_corrected: tuple[dict[str, str], ...]
    seed_epochs: tuple[str, ...]
    converged: int
    processors: tuple[str, ...]
    work_minutes: float
    peak_memory_mib: float
    ship_mib: float
    text_ms: float


def _over_seeds(runs: Sequence[Any]) -> OverSeeds:
    """Of the runs of one hash, by seed."""
    dev = tuple(run.dev for run in runs)
    test = tuple(run.test for run in runs)
    macro_f1 = tuple(run.macro_f1 for run in runs)
    is_drawn = not runs[0].spec.deterministic
    return OverSeeds(
        seeds=tuple(run.seed for run in runs),
        seed_list=", ".join(str(run.seed) for run in runs),
        n=len(runs),
        dev_scores=dev,
        dev_mean=fmean(dev),
        dev_sd=_deviation(dev) if is_drawn else nan,
        test_scores=test,
        test_mean=fmean(test),
        test_sd=_deviation(test) if is_drawn else nan,
        macro_f1_scores=macro_f1,
        macro_f1_mean=fmean(macro_f1),
        macro_f1_sd=_deviation(macro_f1) if is_drawn else nan,
        seed_curves=tuple(run.curve for run in runs),
        seed_steps=tuple(run.steps for run in runs),
        seed_mixes=tuple(run.mixes for run in runs),
        seed_corrected=tuple(run.corrected for run in runs),
        seed_epochs=tuple(f"{run.best_epoch} of {run.epochs}" for run in runs),
        converged=sum(run.converged for run in runs),
        processors=tuple(dict.fromkeys(processor(run.environment) for run in runs)),
        work_minutes=_minutes(runs),
        peak_memory_mib=fmean(run.peak_memory_mib for run in runs),
        ship_mib=fmean(run.ship_mib for run in runs),
        text_ms=fmean(run.text_ms for run in runs),
    )


def _minutes(runs: Sequence[Any]) -> float:
    """The mean minutes of the runs on the device of the newest one: on a CPU they are
    of processor time, on a GPU of wall time.
    """
    device = max(runs, key=lambda run: (run.created, run.seed)).device
    return fmean(run.work_minutes for run in runs if run.device == device)


def summary(system: Any) -> Summary:
    """The main score of a system on test, over its seeds."""
    deviation = None if isnan(system.test_sd) else system.test_sd
    return Summary(system.n, system.test_mean, deviation)


def _mark(system: Any) -> str:
    if not system.checked:
        return NOT_CHECKED
    return "" if system.converged == system.n else DAGGER


def _seen(spec: RunSpec) -> str:
    return SEEN if spec.task in trained_on(spec) else ""


def _deviation(scores: Sequence[float]) -> float:
    """Their sample standard deviation; NaN for a single score."""
    if any(map(isnan, scores)):
        return nan
    deviation = summarise(scores).sd
    return nan if deviation is None else deviation
