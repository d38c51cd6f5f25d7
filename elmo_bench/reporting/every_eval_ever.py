"""Rows as JSON lines in version 0.3.0 of the schema Every Eval Ever, an evaluation log for each run.

Source: `eval.schema.json` of the package every-eval-ever 0.3.0 on PyPI, which has the validator.
"""

import json
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from elmo_bench.base.files import atomic_write
from elmo_bench.ledger import Record
from elmo_bench.reporting.rows import Row

VERSION = "0.3.0"
US = "elmo-bench"  # the organisation, which a publisher replaces, and the first part of the names of models


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
    model = f"{US}/{re.sub(r'[^A-Za-z0-9_.+=/-]+', '_', row.name)}"
    data, time = f"{US}-{spec.suite}-{spec.task}", str(int(datetime.fromisoformat(record["created"]).timestamp()))
    identity = f"{data}/{model}/{time}/{UUID(record['attempt'])}"
    dev, test = (record["scores"][split]["overall"] for split in ("dev", "test"))
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
            "additional_details": _texts({"commit": code["commit"], "basis": row.basis.version}),
        },
        "model_info": {
            "name": row.label,
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
                "score_details": {"score": test[name], "details": _texts({"dev": dev.get(name)})},
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
