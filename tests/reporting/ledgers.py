"""A made-up ledger as of real runs: six tasks, the paper's experiments, outcomes that fit the scores."""

import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from elmo_bench.base.metric import MACRO_F1, encoded, scores_of
from elmo_bench.ledger import Record, RunPaths, digest_of, joined, record_of, score_of, write_record
from elmo_bench.spec.config import compose
from elmo_bench.spec.names import metric_of
from elmo_bench.spec.run_spec import RunSpec
from elmo_bench.spec.task_files import reads_own_data
from tests.ledger.records import make_content


@dataclass(frozen=True)
class Made:
    """A made-up task."""

    items: int  # in test
    train: int  # examples
    right: float  # share of items that the baseline has right


TASKS = {
    "ner": Made(1287, 3394, 0.45),
    "sst5": Made(2210, 93567, 0.40),
    "snli": Made(3000, 8842, 0.52),
    "srl": Made(1200, 40435, 0.55),
    "coref": Made(30, 177, 0.40),
    "squad": Made(1500, 10963, 0.38),
    "pos": Made(1000, 12544, 0.80),
    "deprel": Made(1000, 12544, 0.70),
    "wsd": Made(973, 19935, 0.55),
    "classification": Made(60, 120, 0.50),
}
PAPER = ("ner", "sst5", "snli", "srl", "coref", "squad")
LIGHT = ("ner", "snli", "srl")
LIFT = {"none": -0.08, "glove": 0.0, "elmo": 0.05, "elmo_only": 0.03, "elmo_characters": 0.0, "mybert": 0.07}
LIFT |= {"random_only": -0.2, "bert_mini_only": 0.02, "elmo_word": 0.03, "random": -0.02, "fasttext": 0.01}
LIFT |= {"bert_mini": 0.04, "minilm": 0.05, "tfidf": -0.03, "elmo_alone": 0.04, "mpnet": 0.06}


@cache
def default(task: str, encoder: str, suite: str, size: str, head: str | None = None) -> RunSpec:
    """The default run; `mybert` is a transformer without a yaml."""
    chosen = ["encoder=hf", "encoder.name=mybert"] if encoder == "mybert" else [f"encoder={encoder}"]
    if head is not None:
        chosen.append(f"head={head}")
    named = "suite.name" if reads_own_data(task) else "suite"
    return RunSpec.of(compose("config", [f"task={task}", *chosen, f"{named}={suite}", f"size={size}"]))


def today() -> tuple[int, int]:
    """The versions of ner and of the training protocol."""
    settings = default("ner", "glove", "open", "cpu").settings
    return settings["task.version"], settings["protocol"]


def spec_of(task: str, encoder: str, *, suite: str = "open", size: str = "cpu", **options: Any) -> RunSpec:
    """A spec with contents.

    `options`: head, mix, version, weights, data, settings, and settings by the end of their name.
    """
    usual = default(task, encoder, suite, size, options.get("head"))
    settings = dict(usual.settings)
    if "mix" in options:
        settings["mix"] = options["mix"]
        settings.pop("mix.penalty", None)
    if "version" in options:
        settings["task.version"] = options["version"]
    if options.get("train_fraction", 1) != 1:
        settings["data.least_steps"] = 100
    for name in ("place", "mix.penalty", "mix.gamma", "mix.layer", "data.train_fraction", "data.max_train"):
        if (key := name.rpartition(".")[2]) in options:
            settings[name] = options[key]
    settings |= options.get("settings", {})
    digest = zlib.crc32(f"{task} {suite} {options.get('data')}".encode())
    contents = {"data": f"{digest:08x}" * 8, "weights": options.get("weights", "w")}
    return replace(usual, settings=settings, contents=contents)


def add(ledger: Path, task: str, encoder: str, seed: int, *, lift: float = 0.0, **options: Any) -> Record:
    """Write one run; `lift` is how much more it has right. The same arguments write the same bytes. See `spec_of`.

    Other options: created, notes, outcomes; and best, the best epoch.
    """
    made, spec = TASKS[task], spec_of(task, encoder, **options)
    fraction = options.get("train_fraction", 1.0)
    whole = made.train - 10 * ("data" in options)
    train = min(round(whole * fraction), options.get("max_train") or whole)
    right = made.right + LIFT[encoder] + lift + 0.06 * np.log10(fraction) * (1 - 0.4 * (encoder == "elmo"))
    metric = metric_of(task, spec.metric)
    data = {"counts": {"train": train, "dev": made.items, "test": made.items}, "notes": options.get("notes", [])}
    mixed = "mix" in spec.settings
    limit, patience = spec.settings["task.training.epochs"], spec.settings.get("task.training.patience", 9)
    best = min(limit, options.get("best", 3))
    content = make_content(seed=seed, **({"created": options["created"]} if "created" in options else {}))
    content |= {
        "spec": spec.to_json(),
        "hash": spec.hash,
        "metric": metric.main,
        "formula": metric.formula,
        "layer_weights": [_weights(task, spec, seed)] * best if mixed else [],
        "epochs": {"run": min(limit, best + patience), "best": best},
        "data": data | {"checks": {}},
    }
    outcomes = {}
    for split, more in (("dev", 0.015), ("test", 0.0)):
        answers = _right(made, right + more, content)
        counts = _of_labels(metric, answers) if metric.main == MACRO_F1 else _counts(metric, answers)
        outcomes[split] = encoded(counts)
        content["scores"][split] = scores_of(metric, counts)
    content["curves"] = _curves(content, faster=2 if mixed else 1)
    content["outcomes"] = digest_of(joined(outcomes))
    content["attempt"] = content["outcomes"][:20] + content["hash"]
    record = record_of(content)
    write_record(RunPaths.of(ledger, record), record, joined(outcomes))
    return record


def fill(ledger: Path, tasks: str, encoders: str, seeds: int = 1, **options: Any) -> list[Record]:
    """`add` for each of these tasks and encoders, which are separated by spaces, and for each of so many seeds."""
    own = ((task, encoder, seed) for task in tasks.split() for encoder in encoders.split() for seed in range(seeds))
    return [add(ledger, *run, **options) for run in own]


def of_items(
    ledger: Path, run: tuple[str, str, int], right: Any, outcomes: dict[str, np.ndarray], **options: Any
) -> None:
    """Write one run that has these of 10 test items right, with these outcomes. See `spec_of`."""
    task, encoder, seed = run
    spec, scores = spec_of(task, encoder, **options), {"dev": 50.0, "test": 10.0 * len(right)}
    scored = {split: {"overall": {"accuracy": score}} for split, score in scores.items()}
    content = make_content(seed=seed, metric="accuracy", formula="accuracy", scores=scored)
    content |= {
        "spec": spec.to_json(), "hash": spec.hash, "attempt": f"{spec.hash}{seed:020}",
        "epochs": {"run": 10, "best": 3}, "outcomes": digest_of(outcomes),
    }  # fmt: skip
    content["curves"] = {"dev": [45.0 + seed, 48.0, *[50.0] * 8], "train_loss": [1.0 + seed] * 10, "steps": [100] * 10}
    record = record_of(content)
    write_record(RunPaths.of(ledger, record), record, outcomes)


def right_on(
    ledger: Path,
    encoder: str,
    items: Any,
    *,
    seed: int = 0,
    task: str = "sst5",
    more: dict[str, np.ndarray] | None = None,
    **options: Any,
) -> None:
    """Write one run that has these of 10 items right, with `more` outcomes. See `of_items`."""
    outcomes = {"correct": np.isin(np.arange(10), items), **(more or {})}
    of_items(ledger, (task, encoder, seed), items, outcomes, **options)


def stuck(ledger: Path, *run: Any, **options: Any) -> None:
    """Write one run, as `add`, that learned nothing: the same dev score after every epoch."""
    record = add(ledger, *run, **options)
    content = record.to_json()
    content["curves"]["dev"] = [score_of(record, "dev")] * record.epochs.run
    content["epochs"]["best"] = 1
    RunPaths.of(ledger, record).record.write_text(json.dumps(content), encoding="utf-8")


def full(ledger: Path, *, tasks: Sequence[str] = PAPER, light: Sequence[str] = LIGHT, seeds: int = 3) -> None:
    """All of the paper's tables and figures; variations of the `light` tasks alone."""
    for seed in range(seeds):
        for task in tasks:
            for encoder in ("none", "glove", "elmo_word", "elmo"):
                add(ledger, task, encoder, seed)
        for task in light:
            add(ledger, task, "mybert", seed)
            for fraction in (0.01, 0.03, 0.1, 0.3):
                for encoder in ("glove", "elmo"):
                    add(ledger, task, encoder, seed, train_fraction=fraction)
            add(ledger, task, "elmo", seed, mix="last", lift=-0.02)
            for penalty in (10.0, 1.0, 0.1, 0.01, 0.001, 0.0001):
                if penalty != default(task, "elmo", "open", "cpu").settings["mix.penalty"]:
                    add(ledger, task, "elmo", seed, penalty=penalty, lift=-0.01 * (penalty > 0.01))
            for place in ("input", "output", "both"):
                if place != default(task, "elmo", "open", "cpu").settings["place"]:
                    add(ledger, task, "elmo", seed, place=place, lift=-0.01)
            add(ledger, task, "elmo_only", seed)
            add(ledger, task, "elmo_characters", seed, lift=-0.03)
            add(ledger, task, "elmo", seed, gamma=False, lift=-0.03)
            add(ledger, task, "elmo", seed, mix="last", gamma=False, lift=-0.05)


def _weights(task: str, spec: RunSpec, seed: int) -> dict:
    """By place."""
    mixes = {}
    for place, peak in {"input": (0.1, 0.9, 0.2), "output": (0.3, 0.25, 0.1)}.items():
        if spec.settings["place"] not in (place, "both"):
            continue
        rng = np.random.default_rng(zlib.crc32(f"{task}{place}{seed}".encode()))
        steep = (3 if task in ("coref", "squad") else 1) / (1 + spec.settings.get("mix.penalty", 0))
        scores = np.exp((np.array(peak) + rng.normal(0, 0.05, 3)) * steep)
        weights = (scores / scores.sum()).tolist()
        gamma = round(1 + rng.normal(0, 0.1), 3)
        mixes[place] = {"weights": weights, "gamma": gamma, "norms": [10.9, 9.6, 17.2]}
    return mixes


def _curves(record: Any, *, faster: float) -> dict[str, list]:
    """The dev score rises to its best epoch; then it gains nothing more."""
    run, best = record["epochs"]["run"], record["epochs"]["best"]
    top = record["scores"]["dev"]["overall"][record["metric"]]
    dev = [top * (1 - (1 - epoch / best) / 2**faster) if epoch <= best else top - 1 for epoch in range(1, run + 1)]
    rates = [0.5 ** (max(0, epoch - 1 - best) // 2) for epoch in range(1, run + 1)]
    loss = [1 / (epoch + record["seed"]) for epoch in range(1, run + 1)]
    return {"dev": dev, "train_loss": loss, "lr": rates, "seconds": [30.0] * run, "steps": [100] * run}


def _right(made: Made, right: float, record: Any) -> np.ndarray:
    """Which items are right. They are hard or easy whoever answers; the noise is different in every run."""
    hard = np.random.default_rng(zlib.crc32(record["spec"]["task"].encode())).normal(size=made.items)
    noise = np.random.default_rng([int(record["hash"], 16), record["seed"]]).normal(0, 0.6, size=made.items)
    return hard + noise < np.quantile(hard, np.clip(right, 0.02, 0.98)) * np.sqrt(1 + 0.36)


def _of_labels(metric: Any, right: np.ndarray) -> dict[str, np.ndarray]:
    """What a metric counts of two labels, of which one item in five has the rare one."""
    is_rare = np.arange(len(right)) % 5 == 0
    gold, other = np.where(is_rare, "rare", "usual"), np.where(is_rare, "usual", "rare")
    return metric.counts(gold.tolist(), np.where(right, gold, other).tolist())


def _counts(metric: Any, right: np.ndarray) -> dict[str, np.ndarray]:
    """What a metric counts if an item has two units, and both are right or both are wrong."""
    two, three = np.full(len(right), 2), np.full(len(right), 3)
    correct = 2 * right
    match metric.formula:
        case "accuracy":
            return {"correct": right}
        case "token-accuracy":
            return {"correct": correct, "tokens": two}
        case "f1-counts":
            return {"correct": correct, "guessed": two, "gold": two, "same_tags": correct, "tokens": three}
        case "f1-errors":
            return {"correct": correct, "excess": two - correct, "missed": two - correct}
        case "mean-f1":
            return {"exact": right, "common": correct, "guessed": two, "gold": two}
    names = metric.counts([], [])  # of coreference
    return {name: 1.0 * right if name.endswith("_num") else np.ones(len(right), int) for name in names}
