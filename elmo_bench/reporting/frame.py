"""The ledger as a data frame of runs, one row a record, and as one of systems, one row
for all seeds of a run.

Tables select from these two frames, and `comparisons` tests pairs of systems.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from math import isnan, nan
from pathlib import Path
from statistics import fmean
from typing import Any

import pandas as pd

from elmo_bench.base.errors import UserError
from elmo_bench.ledger import Record, RunPaths
from elmo_bench.reporting.columns import Run, run_of
from elmo_bench.reporting.comparable import with_groups
from elmo_bench.reporting.names import DAGGER, NOT_CHECKED, distinct_name, is_checked
from elmo_bench.reporting.rows import rows_of, with_plain_texts
from elmo_bench.reporting.significance import Summary, summarise
from elmo_bench.spec.experiments import FRACTION
from elmo_bench.spec.run_spec import RunSpec
from elmo_bench.spec.settings import invented
from elmo_bench.spec.task_files import of_system
from elmo_bench.spec.tuning import TUNE, TUNED_RATE

NOT_INCLUDED = (
    "the yaml of its task, its encoder or its suite is not included. "
    "Give its folder: --include FOLDER"
)


def runs(ledger: Path, records: Iterable[Record]) -> pd.DataFrame:
    """The records of a ledger, as `runs_at` has them."""
    return runs_at((RunPaths.of(ledger, record), record) for record in records)


def runs_at(found: Iterable[tuple[RunPaths, Record]]) -> pd.DataFrame:
    """These records: the columns of `Run`, `checked`, and three that depend on the
    other runs.

    `checked` is whether the scores were computed again from the outcomes: the task is
    installed. `left_out` is why no table shows the run, and empty if tables show it.
    `replaced_by` is the hash of a newer run with equal settings that has other contents
    (data, weights, vectors) or versions (task, encoder, protocol), and empty without
    one; then `current` is true.
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
    frame = pd.DataFrame(rows, columns=Run._fields, dtype=object).astype(numbers)
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
        name = _with_tuning(encoder, spec)
        changes = [
            f"{key}={value}"
            for key, value in spec.changes.items()
            if key not in (*FRACTION, TUNE, TUNED_RATE)
        ]
        of_encoder = [
            change for change in changes if of_system(change.partition("=")[0])
        ]
        encoder_labels.append(", ".join([name, *of_encoder]))
        run_labels.append(", ".join([name, *changes]))
    frame["encoder_label"] = encoder_labels
    frame["run_label"] = run_labels


def _with_tuning(encoder: str, spec: RunSpec) -> str:
    """The name of an encoder, which says so if it is not frozen.

    Such as `minilm, tuned (lora, 0.0003)`.
    """
    if TUNE not in spec.settings:
        return encoder
    return f"{encoder}, tuned ({spec.settings[TUNE]}, {spec.settings.get(TUNED_RATE)})"


def _mark_replaced(frame: pd.DataFrame) -> None:
    """Of systems with equal settings the newest is current."""
    latest: dict[tuple[str, str], str] = {}
    included = frame[frame.left_out == ""]
    for run in rows_of(included.sort_values(["created", "hash"])):
        latest[run.encoder, run.spec.identity] = run.hash
    replaced_by = []
    for run in rows_of(frame):
        newer = latest.get((run.encoder, run.spec.identity), run.hash)
        replaced_by.append("" if run.left_out or newer == run.hash else newer)
    frame["replaced_by"] = replaced_by
    frame["current"] = frame.replaced_by == ""


def newest(runs: pd.DataFrame) -> pd.DataFrame:
    """One run of each system: the newest, which represents the others in what does not
    depend on the seed.
    """
    return runs.sort_values(["created", "seed"]).drop_duplicates("hash", keep="last")


def systems(runs: pd.DataFrame) -> pd.DataFrame:
    """A row for all seeds of a run, by hash: comparable ones together, best test score
    first.

    Besides the columns of the newest run, and those of `comparable.with_groups`, it
    has:

    - `seeds`, and `seed_list`, the same as a text; `n`, how many
    - of each seed, in this order: `dev_scores`, `test_scores`, `macro_f1_scores`,
      `seed_curves`, `seed_steps`, `seed_mixes`, `seed_corrected`, and `seed_epochs`,
      such as `3 of 10`
    - `dev_mean` and `dev_sd`, the mean and the sample standard deviation; the same of
      `test` and `macro_f1`.
      A system in which nothing is drawn (`RunSpec.deterministic`) has no deviation
    - `converged`, how many seeds are
    - `mark`: why its gains have no verdict: its scores are not checked, or a seed did
      not converge (a dagger)
    - the mean of `work_minutes`, of `peak_memory_mib`, of `ship_mib` and of `text_ms`
    """
    runs = runs.sort_values("seed")
    by_hash = runs.groupby("hash", sort=False)
    table = newest(runs).drop(columns="attempt")
    table = table.set_index("hash", drop=False).rename_axis(None)
    table["seeds"] = by_hash.seed.agg(tuple)
    table["seed_list"] = [", ".join(map(str, seeds)) for seeds in table.seeds]
    table["n"] = by_hash.size()
    deterministic = pd.Series(
        [spec.deterministic for spec in table.spec], table.index, bool
    )
    for name in ("dev", "test", "macro_f1"):
        scores = by_hash[name].agg(tuple)
        table[f"{name}_scores"] = scores
        table[f"{name}_mean"] = scores.map(fmean)
        table[f"{name}_sd"] = scores.map(_deviation).where(~deterministic)
    table["seed_curves"] = by_hash.curve.agg(tuple)
    table["seed_steps"] = by_hash.steps.agg(tuple)
    table["seed_mixes"] = by_hash.mixes.agg(tuple)
    table["seed_corrected"] = by_hash.corrected.agg(tuple)
    best = runs.best_epoch.astype(str) + " of " + runs.epochs.astype(str)
    table["seed_epochs"] = best.groupby(runs.hash).agg(tuple)
    table["converged"] = by_hash.converged.sum()
    table["mark"] = [_mark(row) for row in rows_of(table)]
    for name in ("work_minutes", "peak_memory_mib", "ship_mib", "text_ms"):
        table[name] = by_hash[name].agg(tuple).map(fmean)
    return with_plain_texts(with_groups(table))


def summary(system: Any, split: str) -> Summary:
    """The main score of a system on dev or test, over its seeds."""
    deviation = getattr(system, f"{split}_sd")
    mean = getattr(system, f"{split}_mean")
    return Summary(system.n, mean, None if isnan(deviation) else deviation)


def _mark(system: Any) -> str:
    if not system.checked:
        return NOT_CHECKED
    return "" if system.converged == system.n else DAGGER


def _deviation(scores: Sequence[float]) -> float:
    """Their sample standard deviation; NaN for a single score."""
    if any(map(isnan, scores)):
        return nan
    deviation = summarise(scores).sd
    return nan if deviation is None else deviation
