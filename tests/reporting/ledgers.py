"""A made-up ledger as real runs would leave it: six tasks, the paper's experiments, outcomes that fit the scores."""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from elmo_bench.ledger import Identity, Record, RunPaths, run_hash, write_record
from tests.ledger.records import make_record


@dataclass(frozen=True)
class Made:
    """A made-up task."""

    items: int  # in test
    train: int  # examples
    right: float  # share of items that the baseline has right
    penalty: float  # λ of its yaml
    place: str


TASKS = {
    "ner": Made(1287, 3394, 0.45, 0.1, "input"),
    "sst5": Made(2210, 93567, 0.40, 0.001, "both"),
    "snli": Made(3000, 8842, 0.52, 0.001, "both"),
    "srl": Made(1200, 40435, 0.55, 0.001, "input"),
    "coref": Made(30, 177, 0.40, 0.0, "input"),
    "squad": Made(1500, 10963, 0.38, 0.0, "both"),
}
LIGHT = ("ner", "snli", "srl")
LIFT = {"none": -0.08, "glove": 0.0, "elmo": 0.05, "elmo_only": 0.03, "elmo_characters": 0.0, "mybert": 0.07}
MIXED = ("elmo", "elmo_only", "elmo_characters", "mybert")


def add(
    ledger: Path, task: str, encoder: str, seed: int, *, lift: float = 0.0, suite: str = "open", **options: Any
) -> Record:
    """Write one run; `lift` is how much more it has right. The same arguments write the same bytes.

    `options`: train_fraction, max_train, kind, penalty, place, gamma, size, version, weights, data.
    """
    made = TASKS[task]
    record = _record(task, encoder, seed, suite=suite, **options)
    fraction = options.get("train_fraction", 1.0)
    right = made.right + LIFT[encoder] + lift + 0.06 * np.log10(fraction) * (1 - 0.4 * (encoder == "elmo"))
    outcomes, score = _outcomes(task, right, record)
    for split, shown in (("dev", score + 1.5), ("test", score)):
        record["scores"][split] = {"overall": {record["metric"]: shown}}
    write_record(RunPaths.of(ledger, record), record, outcomes)
    return record


def full(ledger: Path, *, tasks: Sequence[str] = tuple(TASKS), light: Sequence[str] = LIGHT, seeds: int = 3) -> None:
    """All of the paper's tables and figures; those on variations for the `light` tasks alone."""
    for seed in range(seeds):
        for task in tasks:
            for encoder in ("none", "glove", "elmo"):
                add(ledger, task, encoder, seed)
        for task in light:
            add(ledger, task, "mybert", seed)
            for fraction in (0.01, 0.03, 0.1, 0.3):
                for encoder in ("glove", "elmo"):
                    add(ledger, task, encoder, seed, train_fraction=fraction)
            add(ledger, task, "elmo", seed, kind="last", lift=-0.02)
            for penalty in (10.0, 1.0, 0.1, 0.01, 0.001, 0.0001):
                if penalty != TASKS[task].penalty:
                    add(ledger, task, "elmo", seed, penalty=penalty, lift=-0.01 * (penalty > 0.01))
            for place in ("input", "output", "both"):
                if place != TASKS[task].place:
                    add(ledger, task, "elmo", seed, place=place, lift=-0.01)
            add(ledger, task, "elmo_only", seed)
            add(ledger, task, "elmo_characters", seed, lift=-0.03)
            add(ledger, task, "elmo", seed, gamma=False, lift=-0.03)
            add(ledger, task, "elmo", seed, kind="last", gamma=False, lift=-0.05)


def _record(task: str, encoder: str, seed: int, *, suite: str, **options: Any) -> Record:
    made, mixed = TASKS[task], encoder in MIXED
    fraction, limit = options.get("train_fraction", 1.0), options.get("max_train")
    defaults = {"penalty": made.penalty, "layer_norm": "none", "dropout": 0.0}
    kind = options.get("kind", "first" if encoder == "elmo_characters" else "scalar")
    mix = {"kind": kind, **defaults, "penalty": options.get("penalty", made.penalty)}
    if mix["kind"] != "scalar":
        mix.pop("penalty")
    mix |= {} if options.get("gamma", True) else {"gamma": False}
    place, size = options.get("place", made.place), options.get("size", "cpu")
    data = {"train_fraction": fraction, "max_train": limit}
    settings = {"encoder": {"words": "static"}, "task": {}, "size": size, "precision": "32-true", "data": data}
    settings["encoder"] |= {"weights": "mini"} if mixed else {}
    settings |= {"mix": mix, "place": place} if mixed else {}
    train = min(round(made.train * fraction), limit or made.train)
    whole = zlib.crc32(f"{task} {suite} {options.get('data')}".encode())
    fingerprint = f"{whole:08x}{train:08x}" * 4
    contents = {"task_version": options.get("version", 1), "data": fingerprint, "weights": options.get("weights", "w")}
    contents |= {} if mixed else {"weights": encoder}
    identity = Identity(settings=settings | {"task": {"name": task}}, contents=contents)
    words = [f"mix={mix['kind']}"] if "kind" in options else []
    places = {"input": ["input"], "output": ["output"], "both": ["input", "output"]}[place]
    return make_record(
        suite=suite,
        task=task,
        encoder=encoder,
        seed=seed,
        identity=identity,
        hash=run_hash(identity),
        overrides=words,
        config={"task": {"place": made.place, "mix": defaults}, "suite": {"weights": "mini"}},
        metric="f1" if task in ("ner", "srl", "coref", "squad") else "accuracy",
        layer_weights=[{where: _weights(task, where, mix, seed) for where in places}] if mixed else [],
        epochs={"run": 1, "best": 1},
        data={"fingerprint": fingerprint, "counts": {"train": train, "dev": made.items, "test": made.items}},
    )


def _weights(task: str, place: str, mix: Mapping, seed: int) -> dict:
    if mix["kind"] != "scalar":
        return {"weights": [0.0, 0.0, 1.0] if mix["kind"] == "last" else [1.0, 0.0, 0.0], "gamma": 1.2}
    peak = {"input": (0.1, 0.9, 0.2), "output": (0.3, 0.25, 0.1)}[place]
    rng = np.random.default_rng(zlib.crc32(f"{task}{place}{seed}".encode()))
    scores = np.exp(
        (np.array(peak) * (3 if task in ("coref", "squad") else 1) + rng.normal(0, 0.05, 3)) / (1 + mix["penalty"])
    )
    return {"weights": (scores / scores.sum()).tolist(), "gamma": round(1 + rng.normal(0, 0.1), 3)}


def _outcomes(task: str, right: float, record: Record) -> tuple[dict[str, np.ndarray], float]:
    """Items are hard or easy whoever answers; the noise is the run's own."""
    made = TASKS[task]
    hard = np.random.default_rng(zlib.crc32(task.encode())).normal(size=made.items)
    noise = np.random.default_rng([int(record["hash"], 16), record["seed"]]).normal(0, 0.6, size=made.items)
    answers = hard + noise
    correct = answers < np.quantile(hard, np.clip(right, 0.02, 0.98)) * np.sqrt(1 + 0.36)
    if task in ("sst5", "snli"):
        return {"correct": correct}, float(100 * correct.mean())
    gold = np.full(made.items, 2)
    found = {"correct": 2 * correct, "guessed": gold, "gold": gold}
    return found, float(200 * found["correct"].sum() / (2 * gold.sum()))
