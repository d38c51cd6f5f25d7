"""Valid records to build tests on."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from elmo_bench.base.json import digest
from elmo_bench.base.metric import scores_of
from elmo_bench.ledger import (
    SCHEMA,
    Holder,
    Record,
    RunPaths,
    Spec,
    digest_of,
    holders_of,
    joined,
    list_runs,
    run_hash,
    write_record,
)
from elmo_bench.ledger.costs import EncoderCost
from elmo_bench.spec.names import metric_of

OUTCOMES = {"correct": np.array([1, 0, 1], dtype=bool), "guessed": np.array([0, 3, 255])}


def make_content(
    *, suite: str = "open", task: str = "chunking", encoder: str = "elmo", seed: int = 0, test: float = 50.0,
    dev: float = 60.0, settings: Mapping[str, Any] = {}, weights: str = "w1",
    created: str = "2026-01-02T03:04:05+00:00", attempt: str | None = None, **changes,
) -> Any:  # fmt: skip
    """A complete record of a run, as JSON.

    `changes` replace top-level keys; different `settings` or `weights` give a different hash.
    """
    usual = {"task.version": 1, "task.training.epochs": 10, "task.training.patience": 1, "hidden": [8, 4]}
    spec = {
        "suite": suite, "task": task, "encoder": encoder, "size": "cpu", "settings": {**usual, **settings},
        "contents": {"weights": weights, "data": "d1"},
    }  # fmt: skip
    scores = {
        "dev": {"overall": {"f1": dev, "precision": 61.5}, "by_type": {"PER": {"f1": 70.0, "gold": 10}}},
        "test": {"overall": {"f1": test, "precision": 51.5}},
    }
    curves = {
        "dev": [dev - 5.0, dev, dev - 1.0], "train_loss": [2.5, 1.25, 1.0 / (1 + seed)], "lr": [1e-3, 1e-3, 1e-3],
        "seconds": [40.0, 41.5, 41.0], "steps": [107, 107, 107],
    }  # fmt: skip
    cost = {
        "seconds": 90.0, "cpu_seconds": 88.5, "train_seconds": 70.0, "train_cpu_seconds": 69.5, "encode_seconds": 3.5,
        "encode_cpu_seconds": 6.5, "tokens_per_second": 12345.6, "peak_memory_mib": 512.5,
    }  # fmt: skip
    environment = {
        "python": "3.11.7", "platform": "Linux", "cpu": "A processor", "device": "cpu", "threads": 2,
        "precision": "float32", "packages": {"torch": "2.13.0"}, "kernels": {"dropout": "c"}, "commit": "c" * 40,
        "dirty": False,
    }  # fmt: skip
    norms = [4.0, 2.0, 8.0]
    mixes = [
        {"weights": [0.5, 0.25, 0.25], "gamma": 1.0, "norms": norms},
        {"weights": [0.25, 0.5, 0.25], "gamma": 2.0, "norms": norms},
        {"weights": [0.5, 0.5, 0.0], "gamma": 2.5, "norms": norms},
    ]
    record: Any = {
        "schema": SCHEMA, "attempt": "", "spec": spec, "hash": hash_of(spec), "seed": seed, "metric": "f1",
        "formula": "made-up", "selected_on": "dev", "scores": scores,
        "layer_weights": [{"input": mix} for mix in mixes],
        "epochs": {"run": 3, "best": 2}, "curves": curves, "parameters": {"trainable": 123456, "frozen": 654321},
        "outcomes": digest_of(OUTCOMES),
        "data": {"counts": {"train": 3394, "dev": 10, "test": 10}, "notes": [], "checks": {}}, "cost": cost,
        "kept": {"file": f"seed{seed}/head.safetensors", "bytes": 1000}, "environment": environment,
        "created": created,
    }  # fmt: skip
    record |= changes
    record["attempt"] = attempt or digest([record["hash"], seed, created])[:32]
    return record


def make_record(**options: Any) -> Record:
    """The record of `make_content`."""
    return Record.read(make_content(**options), "record")


def holders_in(ledger: Path) -> list[Holder]:
    """Who works now on the runs of a ledger."""
    runs, _ = list_runs(ledger)
    return holders_of(runs)


def hash_of(spec: Any) -> str:
    """The hash of a run, from its spec as JSON."""
    return run_hash(Spec.read(spec, "spec"))


def changed(record: Record, changes: Mapping[str, Any]) -> Record:
    """The record with other values of these keys, such as `cost/seconds`; with the hash of its spec."""
    content = record.to_json()
    for path, value in changes.items():
        *parents, last = path.split("/")
        node = content
        for parent in parents:
            node = node[parent]
        node[last] = value
    if any(path.startswith("spec") for path in changes):
        content["hash"] = hash_of(content["spec"])
    return Record.read(content, "record")


def put(path: Path, record: Record) -> None:
    """Write a record to its file, whatever is wrong with it."""
    path.write_text(json.dumps(record.to_json()), encoding="utf-8")


def store_record(ledger: Path, **changes) -> RunPaths:
    """Write such a record, with outcomes, to where it belongs."""
    record = make_record(**changes)
    paths = RunPaths.of(ledger, record)
    write_record(paths, record, OUTCOMES)
    return paths


def write_true(paths: RunPaths, made: Record) -> None:
    """Write a record of the task ner whose scores follow from its outcomes: 10 items, F1 to a hundredth of a point."""
    metric, outcomes = metric_of("ner"), {}
    thousand = np.full(10, 1000)
    record = made.to_json()
    for split, scores in record["scores"].items():
        correct = round(100 * scores["overall"]["f1"])
        counts = {"correct": np.diff(np.arange(11) * correct // 10), "guessed": thousand, "gold": thousand}
        counts |= {"same_tags": counts["correct"], "tokens": 2 * thousand}
        record["scores"][split] = scores_of(metric, counts)
        outcomes[split] = counts
    stored = joined(outcomes)
    write_record(
        paths,
        changed(
            made,
            {"scores": record["scores"], "formula": metric.formula, "outcomes": digest_of(stored)},
        ),
        stored,
    )


def make_cost(
    encoder: str = "glove",
    *,
    settings: dict[str, Any] | None = None,
    contents: dict[str, Any] | None = None,
    rates: dict[str, list[float]] | None = None,
) -> EncoderCost:
    """What `elmo-bench cost` writes; tokens a second by batch, one for each pass."""
    rates = rates or {"1": [1000.0, 1100.0, 900.0], "32": [4000.0, 4400.0, 3600.0]}
    content = {
        "schema": 2, "encoder": encoder, "text": "0" * 12, "tokens": 15166, "load_seconds": 0.2, "memory_mib": 51.0,
        "parameters": 15_360_000, "created": "2026-11-23T01:35:47+00:00",
        "settings": settings or {"encoder.words": "static", "encoder.vectors": "v", "encoder.contextual": None},
        "contents": contents or {"vectors": "a" * 64},
        "environment": make_content()["environment"] | {"cpu": "Some CPU (X 2)"},
        "tokens_per_second": {size: [1.0] for size in ("1", "8", "32", "128")} | rates,
    }  # fmt: skip
    return EncoderCost.read(content, "cost")
