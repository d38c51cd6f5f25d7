"""Every Eval Ever's datastore: a folder with a log of each run, and a file with the
score of each test item.

The schemas are `eval.schema.json` and `instance_level_eval.schema.json` of version
0.3.0. A record has no text, which may have a licence of its own, so that a sample has
none either: it is known by its place in the test split, and by the digest of the data
in the log.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

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
from elmo_bench.reporting.results import VERSION, log_of
from elmo_bench.reporting.rows import rows_of
from elmo_bench.spec.names import metric_of

NO_TEXT = "not in the record: the item of this number in the test split"


def write_datastore(runs: pd.DataFrame, systems: pd.DataFrame, folder: Path) -> None:
    """Write `data/DATASET/elmo-bench/MODEL/UUID.json` and `UUID_samples.jsonl` of each
    run of these systems.

    No samples of a run whose task is not installed. Raises UserError if a file cannot
    be written or outcomes cannot be read.
    """
    for run in rows_of(runs[runs.hash.isin(systems.hash)]):
        log = log_of(run)
        dataset, developer, model, _, identity = log["evaluation_id"].split("/")
        place = Path("data", dataset, developer, model)
        make_folder(folder / place)
        metric = metric_of(run.task, run.metric)
        if metric is not None:
            samples = place / f"{identity}_samples.jsonl"
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
        _write(folder / place / f"{identity}.json", json.dumps(log, indent=1) + "\n")


def _write(path: Path, text: str) -> None:
    with atomic_write(path, "w") as file:
        file.write(text)


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
    each = columns(metric, counts, names)  # items x counts, the last is of items
    scores = np.asarray(main_figure(metric, names)(each), dtype=float)
    if hasattr(metric, "units"):
        has_units = each[:, :-1].any(axis=1)
        scores = np.where(has_units, scores, 100.0)
    return scores, scores >= 100.0 - 1e-9
