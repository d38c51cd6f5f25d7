"""The export in the schema of Every Eval Ever: its fields and their types, and what they hold."""

import json
from uuid import UUID

from elmo_bench.__main__ import main
from tests.reporting.ledgers import add

# Of version 0.3.0: what it requires of a log and of each result, what else is written, and the types of both.
LOG = """schema_version evaluation_id retrieved_timestamp evaluation_timestamp source_metadata.source_type
    source_metadata.source_organization_name source_metadata.evaluator_relationship eval_library.name
    eval_library.version model_info.name model_info.id model_info.additional_details.deployment_type
    model_info.additional_details.model_availability"""
RESULT = {
    "evaluation_name": str,
    "evaluation_result_id": str,
    "source_data.dataset_name": str,
    "source_data.source_type": str,
    "metric_config.lower_is_better": bool,
    "metric_config.score_type": str,
    "metric_config.min_score": int,
    "metric_config.max_score": int,
    "score_details.score": float,
    "generation_config.generation_args.execution_command": str,
    **{f"metric_config.metric_{name}": str for name in ("id", "name", "kind", "unit")},
}
DETAILS = ("eval_library.", "model_info.", "source_data.", "generation_config.", "score_details.details.")


def leaves(node, path=""):
    for key, value in node.items():
        yield from leaves(value, f"{path}{key}.") if isinstance(value, dict) else [(f"{path}{key}", value)]


def fits(node, fields):
    """Every field is there with its type, and all else is a detail, which is text."""
    found = dict(leaves(node))
    more = {path: value for path, value in found.items() if path not in fields}
    right = all(type(found[path]) is kind for path, kind in fields.items())
    return right and all(path.startswith(DETAILS) and "details." in path and type(more[path]) is str for path in more)


def test_every_run_is_a_line_in_the_schema(tmp_path):
    ledger, file = tmp_path / "runs", tmp_path / "logs.jsonl"
    made = [add(ledger, "ner", "elmo", 0), add(ledger, "ner", "elmo", 0, train_fraction=0.1)]
    made += [add(ledger, "sst5", "mybert", 3, mix="last")]
    command = ["report", "--ledger", str(ledger), "--out", str(tmp_path), "--every-eval-ever", str(file)]
    assert main(command) == 0
    logs = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    for record, log in zip(made, logs, strict=True):
        results = log.pop("evaluation_results")
        assert fits(log, dict.fromkeys(LOG.split(), str)) and all(fits(result, RESULT) for result in results)
        assert log["evaluation_id"].endswith(f"/1767323045/{UUID(record.attempt)}")  # 2026-01-02T03:04:05 UTC
        test, details = record.scores.test.overall, results[0]["generation_config"]["additional_details"]
        assert results[0]["score_details"]["score"] == test[record.metric]
        assert (details["seed"], details["hash"]) == (str(record.seed), record.hash)
    assert [log["model_info"]["name"] for log in logs][::2] == ["elmo", "mybert, mix=last"]
    assert {log["source_metadata"]["source_type"] for log in logs} == {"evaluation_run"}
    assert [log["model_info"]["id"] for log in logs] == [
        "elmo-bench/elmo", "elmo-bench/elmo_data.least_steps=100_data.train_fraction=0.1", "elmo-bench/mybert_mix=last"
    ]  # fmt: skip
