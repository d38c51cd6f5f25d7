"""The ledger for other programs: a pandas data frame, and an evaluation log for each run, as JSON lines.

The logs have the schema Every Eval Ever 0.3.0: `eval.schema.json` of that package on PyPI, which has the validator.
"""

import json
import re
import warnings
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pandas as pd

from elmo_bench.base.files import atomic_write
from elmo_bench.base.include import include_given
from elmo_bench.ledger import Record, check_exists, read_all
from elmo_bench.reporting.gains import over_baseline
from elmo_bench.reporting.rows import UNCHECKED, Row, is_checked, score_of, select
from elmo_bench.spec.names import metric_of
from elmo_bench.spec.run_spec import RunSpec, converged

VERSION = "0.3.0"
US = "elmo-bench"  # the organisation, which a publisher replaces, and the first part of the names of models


def results(ledger: str | Path = "results/runs", *, suite: str | None = None) -> pd.DataFrame:
    """Read a ledger: one row a finished run, that is a record; sorted by suite, task, encoder, label and seed.

    | columns | meaning |
    |---|---|
    | `suite`, `task`, `encoder`, `size`, `hash`, `seed` | which run |
    | `label` | the options that differ from the default run, such as `mix=last, place=both`; empty for the default |
    | one column for each such option, such as `mix.penalty` | its value as a text; missing where it is the default |
    | `metric`, `dev`, `test` | the main score of the best epoch, in percent |
    | `checked` | whether the scores were computed again from the outcomes; false if the task is not installed |
    | `gain` | test score less the mean test score of the baseline's seeds on the same data, missing without one |
    | `epochs`, `best_epoch`, `converged` | epochs that were trained and the best of them, from 1; enough of them |
    | `train`, `dev_items`, `test_items` | how many examples |
    | `minutes`, `cpu_seconds`, `tokens_per_second`, `peak_memory_mib` | cost: wall time of the run, processor time |
    | `trainable`, `frozen` | how many numbers |
    | `task_version`, `protocol`, `data` | versions; the digest of all examples |
    | `cpu`, `device`, `threads`, `precision`, `torch`, `commit` | where |
    | `current` | false if a newer run with equal settings and other contents replaced it, as in reports |
    | `created` | when it finished, UTC |

    The folders of `$ELMO_BENCH_INCLUDE` are included; a run of a task or an encoder that is in none has its hash as the
    label, and no gain.

    Raises UserError if there is no such folder; warns of each file that was skipped, and of such runs.
    """
    check_exists(Path(ledger))
    include_given([])
    read = read_all(Path(ledger), [suite] if suite else (), metrics=metric_of)
    selection = select(read.records)
    for problem in [*read.problems, *selection.unknown, *selection.notes]:
        warnings.warn(problem, stacklevel=2)
    pairs, order = over_baseline(selection.rows), ["suite", "task", "encoder", "label", "seed", "hash"]
    older = {row.newest["hash"] for row, _ in selection.superseded}
    means = {row.newest["hash"]: base.summary("test").mean for row, base in pairs if base}
    names = {row.newest["hash"]: row.name for row, _ in pairs}
    runs = [_run(r, means.get(r["hash"]), names.get(r["hash"]), r["hash"] not in older) for r in read.records]
    frame = pd.DataFrame(runs)
    return frame.sort_values(order, ignore_index=True) if len(frame) else frame


def _run(record: Record, baseline: float | None, name: str | None, current: bool) -> dict[str, Any]:
    spec, where, cost = RunSpec(**record["spec"]), record["environment"], record["cost"]
    test, counts = score_of(record, "test"), record["data"]["counts"]
    columns = {
        **{"suite": spec.suite, "task": spec.task, "encoder": name or spec.encoder, "size": spec.size},
        **{key: record[key] for key in ("hash", "seed")},  # type: ignore[literal-required]
        "label": spec.label,
        "metric": record["metric"],
        "dev": score_of(record, "dev"),
        "test": test,
        "checked": is_checked(spec.task),
        "gain": None if baseline is None else test - baseline,
        "epochs": record["epochs"]["run"],
        "best_epoch": record["epochs"]["best"],
        "converged": converged(record),
        **{"train": counts["train"], "dev_items": counts["dev"], "test_items": counts["test"]},
        "minutes": cost["seconds"] / 60,
        **{key: cost[key] for key in ("cpu_seconds", "tokens_per_second", "peak_memory_mib")},  # type: ignore[literal-required]
        **record["parameters"],
        **{"task_version": spec.settings.get("task.version"), "protocol": spec.protocol},
        "data": str((spec.contents or {}).get("data", ""))[:12],
        **{key: where[key] for key in ("cpu", "device", "threads", "precision", "commit")},  # type: ignore[literal-required]
        "torch": where["packages"].get("torch"),
        "current": current,
        "created": record["created"],
    }
    return columns | {key: value for key, value in spec.changes.items() if key not in columns}


def write_logs(rows: Iterable[Row], path: Path) -> None:
    """Write a line for each run of the rows. Raises UserError if the file cannot be written."""
    lines = [json.dumps(log_of(row, record), ensure_ascii=False) + "\n" for row in rows for record in row.records]
    with atomic_write(path, "w") as file:
        file.writelines(lines)


def log_of(row: Row, record: Record) -> dict[str, Any]:
    """The evaluation log of one run of a row.

    It has every percentage on test as a result. Times are seconds since 1970, as text.
    """
    spec, code, main = row.spec, record["environment"], record["metric"]
    named = ", ".join([row.name, *(f"{key}={value}" for key, value in row.changes.items())])  # fractions, too
    model = f"{US}/{re.sub(r'[^A-Za-z0-9_.+=/-]+', '_', named)}"
    data, time = f"{US}-{spec.suite}-{spec.task}", str(int(datetime.fromisoformat(record["created"]).timestamp()))
    identity = f"{data}/{model}/{time}/{UUID(record['attempt'])}"
    dev, test = (record["scores"][split]["overall"] for split in ("dev", "test"))
    unchecked = {} if row.checked else {"scores": UNCHECKED}
    percentages = [name for name, score in test.items() if isinstance(score, float) and 0 <= score <= 100]
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
            "version": code["packages"].get(US, "unknown"),
            "additional_details": _texts({"commit": code["commit"], "basis": row.basis.version}) | unchecked,
        },
        "model_info": {
            "name": named,
            "id": model,
            "additional_details": {
                "deployment_type": "self_deployed",
                "model_availability": "unknown",
                **_texts(record["parameters"]),
                **_texts(spec.settings | {key: value for key, value in (spec.contents or {}).items() if key != "data"}),
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
                        {"digest": row.basis.data, "split": "test", **record["data"]["counts"]}
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
                "score_details": {"score": test[name], "details": _texts({"dev": dev.get(name)}) | unchecked},
                "generation_config": {
                    "generation_args": {"execution_command": spec.command(record["seed"])},
                    "additional_details": _texts({"seed": record["seed"], "hash": spec.hash, "size": spec.size}),
                },
            }
            for name in dict.fromkeys([main, *percentages])
        ],
    }


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    """The schema wants all details as text."""
    return {key: value if isinstance(value, str) else json.dumps(value) for key, value in values.items()}
