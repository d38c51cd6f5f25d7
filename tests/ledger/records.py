"""Valid records to build tests on."""

from pathlib import Path

import numpy as np

from elmo_bench.ledger import SCHEMA, Identity, Record, RunPaths, run_hash, write_record

OUTCOMES = {"correct": np.array([1, 0, 1], dtype=bool), "guessed": np.array([0, 3, 255])}


def make_record(
    *,
    suite: str = "open",
    task: str = "tagging",
    encoder: str = "elmo",
    seed: int = 0,
    test: float = 50.0,
    dev: float = 60.0,
    overrides: tuple[str, ...] = (),
    weights: str = "w1",
    created: str = "2026-01-02T03:04:05+00:00",
    **changes,
) -> Record:
    """A whole record; `changes` replace top-level keys as they are; other `weights` give another hash."""
    identity = Identity(
        settings={"task": task, "encoder": encoder, "suite": suite, "overrides": list(overrides), "rate": 1e-3},
        contents={"weights": weights, "data": "d1", "version": 1},
    )
    record = Record(
        schema=SCHEMA,
        suite=suite,
        task=task,
        encoder=encoder,
        seed=seed,
        hash=run_hash(identity),
        identity=identity,
        overrides=list(overrides),
        config={"seed": seed, "nested": {"list": [1, 2.5, None, True, "x"]}},
        metric="f1",
        selected_on="dev",
        scores={
            "dev": {"overall": {"f1": dev, "precision": 61.5}, "by_type": {"PER": {"f1": 70.0, "gold": 10}}},
            "test": {"overall": {"f1": test, "precision": 51.5}},
        },
        layer_weights=[
            {"input": {"weights": [0.5, 0.25, 0.25], "gamma": 1.0}},
            {"input": {"weights": [0.25, 0.5, 0.25], "gamma": 2.0}},
        ],
        epochs={"run": 2, "best": 2},
        parameters={"trainable": 123456, "frozen": 654321},
        data={"fingerprint": "f" * 64, "counts": {"train": 3394, "dev": 1009, "test": 1287}},
        checksums={"weights": "a" * 64, "vectors": "b" * 64},
        cost={"seconds": 90.0, "tokens_per_second": 12345.6, "peak_memory_mib": 512.5, "encode_seconds": 3.5},
        kept={"file": f"seed{seed}/head.safetensors", "bytes": 1000},
        environment={
            "python": "3.11.7",
            "platform": "Linux",
            "cpu": "A processor",
            "device": "cpu",
            "threads": 2,
            "precision": "float32",
            "packages": {"torch": "2.13.0"},
            "commit": "c" * 40,
            "dirty": False,
        },
        created=created,
    )
    return record | changes  # type: ignore[return-value, operator]


def store_record(ledger: Path, **changes) -> RunPaths:
    """Write such a record, with outcomes, to where it belongs."""
    record = make_record(**changes)
    paths = RunPaths.of(ledger, record)
    write_record(paths, record, OUTCOMES)
    return paths
