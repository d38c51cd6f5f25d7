"""The ledger for other programs: a pandas data frame, and an evaluation log for each
run, as JSON lines.

The logs have the schema Every Eval Ever 0.3.0: `eval.schema.json` of that package on
PyPI, which has the validator.
"""

import json
import re
import warnings
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pandas as pd

from elmo_bench.base.files import atomic_write
from elmo_bench.base.include import include_given
from elmo_bench.ledger import Copies, check_exists, read_all
from elmo_bench.reporting.frame import runs, shown, systems
from elmo_bench.reporting.names import UNCHECKED
from elmo_bench.reporting.pairs import baseline_pairs
from elmo_bench.reporting.remarks import left_out, remarks
from elmo_bench.reporting.rows import rows_of
from elmo_bench.spec.describe import command_of
from elmo_bench.spec.names import metric_of
from elmo_bench.spec.run_spec import is_drawn

VERSION = "0.3.0"
# Figures that are from 0 to 100 in every metric, as those are whose names end in f1.
PERCENTAGES = {"accuracy", "precision", "recall", "exact_match", "perfect_props"}
COLUMNS = [
    *(
        "suite",
        "task",
        "encoder",
        "size",
        "hash",
        "seed",
        "label",
        "metric",
        "dev",
        "test",
        "checked",
        "gain",
    ),
    *("epochs", "best_epoch", "converged", "train", "dev_items", "test_items"),
    *(
        "minutes",
        "cpu_seconds",
        "tokens_per_second",
        "peak_memory_mib",
        "trainable",
        "frozen",
    ),
    *(
        "task_version",
        "protocol",
        "data",
        "cpu",
        "device",
        "threads",
        "precision",
        "commit",
        "torch",
    ),
    *("current", "created", "record"),
]
# the organisation, which a publisher replaces, and the first part of the names of
# models
US = "elmo-bench"


def results(
    ledger: str | Path = "results/runs", *, suite: str | None = None
) -> pd.DataFrame:
    """Read a ledger: one row a finished run, that is a record; sorted by suite, task,
    encoder, label and seed.

    The columns:

    - `suite`, `task`, `encoder`, `size`, `hash`, `seed`: which run
    - `label`: the options that differ from the default run, such as `mix=last,
      place=both`; empty for the default
    - one column for each such option, such as `mix.penalty`: its value as a text;
      missing where it is the default
    - `metric`, `dev`, `test`: the main score of the best epoch, in percent
    - `checked`: whether the scores were computed again from the outcomes; false if
      the task is not installed
    - `gain`: test score less the mean test score of the baseline's seeds on the
      same data, missing without one and of a tuned encoder
    - `epochs`, `best_epoch`, `converged`: epochs that were trained and the best of
      them, from 1; enough of them
    - `train`, `dev_items`, `test_items`: how many examples
    - `minutes`, `cpu_seconds`, `tokens_per_second`, `peak_memory_mib`: cost: wall
      time of the run, processor time
    - `trainable`, `frozen`: how many numbers
    - `task_version`, `protocol`, `data`: versions; the digest of all examples
    - `cpu`, `device`, `threads`, `precision`, `torch`, `commit`: where
    - `current`: false if a newer run with equal settings and other contents
      replaced it, as in reports
    - `created`: when it finished, UTC
    - `record`: the path of its file, where `compare` finds the outcomes

    The folders of `$ELMO_BENCH_INCLUDE` are included; a run of a task or an encoder
    that is in none has its hash as the label, and no gain.

    Raises UserError if there is no such folder; warns of each file that was skipped,
    and of such runs.
    """
    check_exists(Path(ledger))
    include_given([])
    within = [suite] if suite else ()
    copies = Copies(is_drawn)
    read = read_all(Path(ledger), within, metrics=metric_of, copies=copies)
    frame = runs(Path(ledger), read.records)
    for problem in [*read.problems, *left_out(frame), *remarks(frame)]:
        warnings.warn(problem, stacklevel=2)
    frame["gain"] = frame.test - _baselines(frame)
    frame["record"] = [str(paths.record) for paths in frame.paths]
    options = [
        {key: value for key, value in spec.changes.items() if key not in COLUMNS}
        for spec in frame.spec
    ]
    changed = pd.DataFrame(options, index=frame.index, dtype=object)
    table = pd.concat([frame[COLUMNS], changed], axis=1)
    return table.sort_values(
        ["suite", "task", "encoder", "label", "seed", "hash"], ignore_index=True
    )


def _baselines(frame: pd.DataFrame) -> pd.Series:
    """For each run the mean test score of the baseline's seeds on the same data;
    missing without one.
    """
    current = systems(shown(frame))
    pairs = baseline_pairs(current)
    means = pairs.set_index("ours").theirs.map(current.test_mean)
    return frame.hash.map(means).astype(float)


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
