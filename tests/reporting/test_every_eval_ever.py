"""The export in the schema of Every Eval Ever: its required fields and their types, and what they hold."""

import json
from uuid import UUID

from elmo_bench.__main__ import main
from tests.reporting.ledgers import add

# What version 0.3.0 of the schema requires, and everything else that is written; a type, a value, or the fields below.
TEXTS = dict[str, str]
LOG = {
    "schema_version": "0.3.0",
    "evaluation_id": str,
    "evaluation_timestamp": str,
    "retrieved_timestamp": str,
    "source_metadata": {
        "source_type": "evaluation_run",
        "source_organization_name": str,
        "evaluator_relationship": "other",
    },
    "eval_library": {"name": "elmo-bench", "version": str, "additional_details": TEXTS},
    "model_info": {"name": str, "id": str, "additional_details": TEXTS},
    "evaluation_results": [
        {
            "evaluation_result_id": str,
            "evaluation_name": str,
            "source_data": {"dataset_name": str, "source_type": "other", "additional_details": TEXTS},
            "metric_config": {
                "metric_id": str,
                "metric_name": str,
                "metric_kind": str,
                "metric_unit": "percent",
                "lower_is_better": False,
                "score_type": "continuous",
                "min_score": 0,
                "max_score": 100,
            },
            "score_details": {"score": float, "details": TEXTS},
            "generation_config": {"generation_args": {"execution_command": str}, "additional_details": TEXTS},
        }
    ],
}


def fits(value, wanted):
    if wanted is TEXTS:
        return isinstance(value, dict) and all(isinstance(each, str) for each in value.values())
    if isinstance(wanted, list):
        return isinstance(value, list) and value and all(fits(each, wanted[0]) for each in value)
    if isinstance(wanted, dict):
        return value.keys() == wanted.keys() and all(fits(value[key], each) for key, each in wanted.items())
    return isinstance(value, wanted) if isinstance(wanted, type) else value == wanted


def test_every_run_is_a_line_in_the_schema(tmp_path):
    ledger, file = tmp_path / "runs", tmp_path / "logs.jsonl"
    made = [add(ledger, "ner", "elmo", 0), add(ledger, "sst5", "mybert", 3, mix="last")]
    command = ["report", "--ledger", str(ledger), "--out", str(tmp_path), "--every-eval-ever", str(file)]
    assert main(command) == 0
    logs = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert len(logs) == 2 and all(fits(log, LOG) for log in logs)
    for record, log in zip(made, logs, strict=True):
        assert log["evaluation_id"].endswith(f"/1767323045/{UUID(record['attempt'])}")  # 2026-01-02T03:04:05 UTC
        main_result, *_ = log["evaluation_results"]
        test, details = record["scores"]["test"]["overall"], main_result["generation_config"]["additional_details"]
        assert main_result["score_details"]["score"] == test[record["metric"]]
        assert (details["seed"], details["hash"]) == (str(record["seed"]), record["hash"])
        assert log["model_info"]["additional_details"].items() >= {
            "deployment_type": "self_deployed", "model_availability": "unknown", "protocol": "3",
        }.items()  # fmt: skip
    assert [log["model_info"]["name"] for log in logs] == ["elmo", "mybert, mix=last"]
    assert [log["model_info"]["id"] for log in logs] == ["elmo-bench/elmo", "elmo-bench/mybert"]
