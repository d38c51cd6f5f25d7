"""Evaluation logs in the schema Every Eval Ever: JSON lines, or a datastore.

A datastore is a folder with a log of each run, and a file with the score of each test
item. The schemas are `eval.schema.json` and `instance_level_eval.schema.json` of
version 0.3.0 of that package on PyPI, which has the validator. A record has no text,
which may have a licence of its own, so that a sample has none either: it is known by
its number in the test split, and by the digest of the data in the log.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd

from elmo_bench.base.files import atomic_write
from elmo_bench.base.metric import (
    Counting,
    columns,
    main_figure,
    summed_names,
    summed_types,
)
from elmo_bench.base.refusals import make_folder
from elmo_bench.ledger import of_split, read_outcomes
from elmo_bench.reporting.names import UNCHECKED
from elmo_bench.reporting.rows import rows_of
from elmo_bench.spec.describe import command_of
from elmo_bench.spec.names import metric_of

VERSION = "0.3.0"
# Figures that are from 0 to 100 in every metric, as those are whose names end in f1.
PERCENTAGES = {"accuracy", "precision", "recall", "exact_match", "perfect_props"}
# The organisation, which a publisher replaces, and the first part of the names of
# models.
US = "elmo-bench"
NO_TEXT = "not in the record: the item of this number in the test split"


def write_logs(runs: pd.DataFrame, systems: pd.DataFrame, path: Path) -> None:
    """Write a line for each run of these systems. Raises UserError if the file cannot
    be written.
    """
    ordered = systems.sort_values(
        ["suite", "task", "test_mean", "run_label", "hash"],
        ascending=[True, True, False, True, True],
    )
    lines = []
    for run_hash in ordered.hash:
        for run in rows_of(runs[runs.hash == run_hash].sort_values("seed")):
            lines.append(json.dumps(log_of(run), ensure_ascii=False) + "\n")
    with atomic_write(path, "w") as file:
        file.writelines(lines)


def write_datastore(runs: pd.DataFrame, systems: pd.DataFrame, folder: Path) -> None:
    """Write `data/DATASET/elmo-bench/MODEL/UUID.json` and `UUID_samples.jsonl` of each
    run of these systems.

    No samples of a run whose task is not installed. Raises UserError if a file cannot
    be written or outcomes cannot be read.
    """
    for run in rows_of(runs[runs.hash.isin(systems.hash)]):
        log = log_of(run)
        dataset, developer, model, _, identity = log["evaluation_id"].split("/")
        of_model = Path("data", dataset, developer, model)
        make_folder(folder / of_model)
        metric = metric_of(run.task, run.metric)
        if metric is not None:
            samples = of_model / f"{identity}_samples.jsonl"
            lines = [json.dumps(sample) + "\n" for sample in _samples(run, metric, log)]
            text = "".join(lines)
            log["detailed_evaluation_results"] = {
                "format": "jsonl",
                "file_path": samples.as_posix(),
                "hash_algorithm": "sha256",
                "checksum": hashlib.sha256(text.encode()).hexdigest(),
                "total_rows": len(lines),
            }
            _write(folder / samples, text)
        _write(folder / of_model / f"{identity}.json", json.dumps(log, indent=1) + "\n")


def _write(path: Path, text: str) -> None:
    with atomic_write(path, "w") as file:
        file.write(text)


def log_of(run: Any) -> dict[str, Any]:
    """The evaluation log of a run, a row of the frame of runs.

    It has the main figure on test as a result, and others that are percentages.
    Times are seconds since 1970, as text.
    """
    spec, packages = run.spec, run.environment.packages
    # fractions, too
    changes = [f"{key}={value}" for key, value in spec.changes.items()]
    named = ", ".join([run.encoder, *changes])
    model = f"{US}/{re.sub(r'[^A-Za-z0-9_.+=-]+', '_', named)}"
    data = f"{US}-{spec.suite}-{spec.task}"
    time = str(int(datetime.fromisoformat(run.created).timestamp()))
    identity = f"{data}/{model}/{time}/{UUID(run.attempt)}"
    contents = {
        key: value for key, value in (spec.contents or {}).items() if key != "data"
    }
    dev, test = (run.scores.of(split).overall for split in ("dev", "test"))
    unchecked = {} if run.checked else {"scores": UNCHECKED}
    counts = {"train": run.train, "dev": run.dev_items, "test": run.test_items}
    percentages = [name for name in test if name in PERCENTAGES or name.endswith("f1")]
    return {
        "schema_version": VERSION,
        "evaluation_id": identity,
        "evaluation_timestamp": time,
        "retrieved_timestamp": time,
        "source_metadata": {
            "source_type": "evaluation_run",
            "source_organization_name": US,
            "evaluator_relationship": "other",
        },
        "eval_library": {
            "name": US,
            "version": packages.get(US, "unknown"),
            "additional_details": _texts(
                {"commit": run.commit, "basis": run.version} | unchecked
            ),
        },
        "model_info": {
            "name": named,
            "id": model,
            "additional_details": {
                "deployment_type": "self_deployed",
                "model_availability": "unknown",
                **_texts({"trainable": run.trainable, "frozen": run.frozen}),
                **_texts(spec.settings | contents),
            },
        },
        "evaluation_results": [
            {
                "evaluation_result_id": f"{identity}/{name}",
                "evaluation_name": f"{spec.task} on suite {spec.suite}",
                "source_data": {
                    "dataset_name": data,
                    "source_type": "other",
                    "additional_details": _texts(
                        {"digest": run.data, "split": "test", **counts}
                    ),
                },
                "metric_config": {
                    **dict.fromkeys(("metric_id", "metric_name", "metric_kind"), name),
                    "metric_unit": "percent",
                    "lower_is_better": False,
                    "score_type": "continuous",
                    "min_score": 0,
                    "max_score": 100,
                },
                "score_details": {
                    "score": test[name],
                    "details": _texts({"dev": dev.get(name)} | unchecked),
                },
                "generation_config": {
                    "generation_args": {
                        "execution_command": command_of(spec, run.seed)
                    },
                    "additional_details": _texts(
                        {"seed": run.seed, "hash": spec.hash, "size": spec.size}
                    ),
                },
            }
            for name in dict.fromkeys([run.metric, *percentages])
        ],
    }


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    """The schema wants all details as text."""
    return {
        key: value if isinstance(value, str) else json.dumps(value)
        for key, value in values.items()
    }


def _samples(run: Any, metric: Counting, log: Mapping[str, Any]) -> Iterator[Any]:
    """A sample for each test item of a run."""
    counts = of_split(read_outcomes(run.paths), "test", summed_types(metric))
    scores, right = item_scores(metric, counts)
    shared = {
        "schema_version": VERSION,
        "evaluation_id": log["evaluation_id"],
        "model_id": log["model_info"]["id"],
        "evaluation_name": f"{run.task} on suite {run.suite}",
        "evaluation_result_id": f"{log['evaluation_id']}/{run.metric}",
        "interaction_type": "single_turn",
        "input": {"raw": NO_TEXT, "reference": []},
        "output": {"raw": []},
        "answer_attribution": [],
    }
    named = [name for name in metric.summed if name in counts]
    for number, score in enumerate(scores.tolist()):
        yield shared | {
            "sample_id": f"test/{number}",
            "evaluation": {"score": score, "is_correct": bool(right[number])},
            "metadata": {name: str(counts[name][number].item()) for name in named},
        }


def item_scores(
    metric: Counting, counts: Mapping[str, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """The main figure of each item alone [items], and whether all of it is right.

    Where the units of a metric are no items, such as entities, an item without a unit
    is right, and has 100, if nothing was predicted.
    """
    names = summed_names(metric, [counts])
    by_item = columns(metric, counts, names)  # items x counts, the last is of items
    scores = np.asarray(main_figure(metric, names)(by_item), dtype=float)
    if hasattr(metric, "units"):
        has_units = by_item[:, :-1].any(axis=1)
        scores = np.where(has_units, scores, 100.0)
    return scores, scores >= 100.0 - 1e-9
