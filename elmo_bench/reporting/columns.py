"""The columns of the frame of runs, from a record."""

from collections.abc import Mapping
from math import nan
from typing import Any, NamedTuple

from elmo_bench.base.metric import MACRO_F1, measure
from elmo_bench.ledger import (
    Record,
    RunPaths,
    Scores,
    learned,
    score_of,
    work_minutes_of,
)
from elmo_bench.ledger.record import Environment, MixWeights
from elmo_bench.spec.budget import converged
from elmo_bench.spec.describe import label_of
from elmo_bench.spec.experiments import FRACTION
from elmo_bench.spec.options import is_of_encoder_or_head
from elmo_bench.spec.run_spec import DRAWN, RunSpec

# which labels a run was trained and scored on, unless it is the true ones
LABELS = "task.data.labels"


class Run(NamedTuple):
    """The columns of a frame of runs.

    `runs` adds a few that depend on the other runs.
    """

    suite: str
    task: str
    encoder: str  # its name or, where two paths end in the same name, more of its path
    size: str
    hash: str
    seed: int
    label: str  # the options that differ from the default run; empty for the default
    metric: str
    dev: float  # the main score at the best epoch, in percent
    test: float
    epochs: int
    best_epoch: int  # from 1
    converged: bool
    train: int  # examples
    dev_items: int
    test_items: int
    minutes: float  # wall time
    cpu_seconds: float
    tokens_per_second: float
    peak_memory_mib: float
    trainable: int  # numbers of the model
    frozen: int
    task_version: Any
    protocol: int  # of training
    data: str  # digest of all examples, 12 digits
    cpu: str
    device: str
    threads: int
    precision: str
    commit: str | None
    torch: str | None
    created: str  # UTC
    # What comparable runs have in common. `basis` is all of it, and `home` the same for
    # all of the training data.
    version: str  # of the task and of the training protocol
    fraction: (
        str  # options that take a fraction of the training data; empty for all of it
    )
    labels: str  # `control` for control labels
    basis: str
    home: str
    # How tables call it, and what they ask about it.
    anchor: str  # its address on a page
    drawn: bool  # whether the seed draws the training data
    encoder_label: (
        str  # the encoder with its changes, and with a head that is not the task's own
    )
    run_label: str  # the encoder with all changes but the amount of data
    variation: str  # the changes to neither encoder, head nor amount of data
    measure: str  # what the main score is called
    macro_f1: float  # on test; NaN if the metric lacks it
    # MiB of the files to use it: the head and all that is frozen; NaN if unknown
    ship_mib: float
    text_ms: float  # processor time to encode and predict an example; NaN if unknown
    work_minutes: float  # processor time of all threads; on a GPU wall time
    # Parts of the record.
    spec: RunSpec
    paths: RunPaths
    attempt: str
    scores: Scores
    curve: list[float]  # dev score by epoch
    steps: list[int]  # by epoch
    mixes: dict[str, MixWeights]  # weights of the layers at the best epoch, by place
    notes: list[str]  # on the data
    corrected: dict[str, str]  # why keys of the record were changed after the run
    environment: Environment


def run_of(paths: RunPaths, record: Record, spec: RunSpec) -> Run:
    counts = record.data.counts
    cost = record.cost
    where = record.environment
    test_scores = record.scores.test.overall
    best = record.epochs.best
    weights = record.layer_weights
    task_version = spec.settings.get("task.version", "")
    protocol = spec.settings.get("protocol", "")
    version = f"{task_version}, protocol {protocol}"
    data = str((spec.contents or {}).get("data", ""))[:12]
    labels = str(spec.settings.get(LABELS, ""))
    fraction = fraction_of(spec)
    parts = [spec.suite, spec.task, version, spec.size, data, labels]
    if spec.metric is not None:
        parts.append(spec.metric)
    home = "/".join(parts)
    options = _spelled(fraction)
    return Run(
        suite=spec.suite,
        task=spec.task,
        encoder=spec.encoder,
        size=spec.size,
        hash=record.hash,
        seed=record.seed,
        label=label_of(spec),
        metric=record.metric,
        dev=score_of(record, "dev"),
        test=score_of(record, "test"),
        epochs=record.epochs.run,
        best_epoch=best,
        converged=converged(spec, learned=learned(record)),
        train=counts.train,
        dev_items=counts.dev,
        test_items=counts.test,
        minutes=cost.seconds / 60,
        cpu_seconds=cost.cpu_seconds,
        tokens_per_second=cost.tokens_per_second,
        peak_memory_mib=cost.peak_memory_mib,
        trainable=record.parameters.trainable,
        frozen=record.parameters.frozen,
        task_version=spec.settings.get("task.version"),
        protocol=spec.protocol,
        data=data,
        cpu=where.cpu,
        device=where.device,
        threads=where.threads,
        precision=where.precision,
        commit=where.commit,
        torch=where.packages.get("torch"),
        created=record.created,
        version=version,
        fraction=options,
        labels=labels,
        basis=f"{home}/{options}",
        home=home,
        anchor="-".join(["run", spec.suite, spec.task, spec.encoder, record.hash]),
        drawn=not DRAWN.isdisjoint(fraction),
        encoder_label="",  # `_name_encoders` fills in both
        run_label="",
        variation=_spelled(variation_of(spec)),
        measure=measure(record.metric, test_scores),
        macro_f1=test_scores.get(MACRO_F1, nan),
        ship_mib=_ship_mib(record),
        text_ms=_text_ms(record),
        work_minutes=work_minutes_of(record),
        spec=spec,
        paths=paths,
        attempt=record.attempt,
        scores=record.scores,
        curve=record.curves.dev,
        steps=record.curves.steps,
        mixes=weights[best - 1] if weights else {},
        notes=record.data.notes,
        corrected=record.corrected,
        environment=where,
    )


def _ship_mib(record: Record) -> float:
    if record.serving is None:
        return nan
    return (record.serving.frozen_bytes + record.kept.bytes) / 2**20


def _text_ms(record: Record) -> float:
    if record.serving is None or record.serving.text_ms is None:
        return nan
    return record.serving.text_ms


def fraction_of(spec: RunSpec) -> dict[str, str]:
    """The changes that take a fraction of the training data; empty for all of it."""
    return {
        key: spec.changes[key]
        for key in FRACTION
        if spec.changes.get(key, "null") != "null"
    }


def variation_of(spec: RunSpec) -> dict[str, str]:
    """The changes to neither encoder, head nor amount of data; empty for a run that
    compares encoders.
    """
    return {
        key: value
        for key, value in spec.changes.items()
        if not is_of_encoder_or_head(key) and key not in FRACTION
    }


def _spelled(options: Mapping[str, str]) -> str:
    return ", ".join(f"{key}={value}" for key, value in options.items())
