"""The export in the schema of Every Eval Ever: its fields and their types, and what they hold."""

import hashlib
import json
from statistics import fmean
from uuid import UUID

import numpy as np
import pytest

from elmo_bench.__main__ import main
from elmo_bench.ledger import RunPaths
from elmo_bench.reporting.every_eval_ever import item_scores, log_of
from elmo_bench.reporting.frame import runs
from elmo_bench.spec.names import metric_of
from tests.ledger.records import changed, put
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


@pytest.mark.usefixtures("undrawn")
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
        assert results[0]["metric_config"]["metric_name"] == record.metric
        for result in results:
            config, found = result["metric_config"], result["score_details"]
            assert (config["lower_is_better"], config["min_score"], config["max_score"]) == (False, 0, 100)
            name = config["metric_name"]
            assert found["score"] == test[name]
            assert found["details"]["dev"] == str(record.scores.dev.overall[name])
        assert (details["seed"], details["hash"]) == (str(record.seed), record.hash)
    assert [log["model_info"]["name"] for log in logs][::2] == ["elmo", "mybert, mix=last"]
    assert {log["source_metadata"]["source_type"] for log in logs} == {"evaluation_run"}
    assert [log["model_info"]["id"] for log in logs] == [
        "elmo-bench/elmo", "elmo-bench/elmo_data.least_steps=100_data.train_fraction=0.1", "elmo-bench/mybert_mix=last"
    ]  # fmt: skip


def test_a_figure_that_is_no_percentage_is_no_result(tmp_path):
    overall = {"bleu": 31.0, "recall": 50.0, "mean_f1": 40.0, "loss": 0.7, "words": 12.5}
    scores = {f"scores/{split}/overall": overall for split in ("dev", "test")}
    record = changed(add(tmp_path, "ner", "glove", 0), {"metric": "bleu", **scores})
    [run] = runs(tmp_path, [record]).itertuples()
    names = [result["metric_config"]["metric_name"] for result in log_of(run)["evaluation_results"]]
    assert names == ["bleu", "recall", "mean_f1"]


# Of a sample: what `instance_level_eval.schema.json` requires, and the types.
SAMPLE = {
    **dict.fromkeys(("schema_version", "evaluation_id", "model_id", "evaluation_name", "sample_id"), str),
    **dict.fromkeys(("evaluation_result_id", "interaction_type", "input.raw"), str),
    **dict.fromkeys(("input.reference", "output.raw", "answer_attribution"), list),
    "evaluation.score": float, "evaluation.is_correct": bool,
}  # fmt: skip


@pytest.mark.usefixtures("undrawn")
def test_a_folder_has_the_score_of_each_test_item(tmp_path):
    ledger, out = tmp_path / "runs", tmp_path / "store"
    record = add(ledger, "sst5", "elmo", 0)
    add(ledger, "ner", "elmo", 0)
    assert main(["report", "--ledger", str(ledger), "--out", str(tmp_path), "--every-eval-ever", str(out)]) == 0
    place = f"data/elmo-bench-open-sst5/elmo-bench/elmo/{UUID(record.attempt)}"
    log = json.loads((out / f"{place}.json").read_text())
    detailed = log["detailed_evaluation_results"]
    samples = out / detailed["file_path"]
    assert samples == out / f"{place}_samples.jsonl"
    assert hashlib.sha256(samples.read_bytes()).hexdigest() == detailed["checksum"]
    rows = [json.loads(line) for line in samples.read_text().splitlines()]
    assert len(rows) == detailed["total_rows"] == record.data.counts.test
    for row in rows:
        found = dict(leaves(row))
        details = {path for path in found if path.startswith("metadata.")}
        assert found.keys() - details == SAMPLE.keys()
        assert all(type(found[path]) is kind for path, kind in SAMPLE.items())
        assert all(type(found[path]) is str for path in details)
    scores = [row["evaluation"]["score"] for row in rows]
    assert [row["evaluation"]["is_correct"] for row in rows] == [score == 100 for score in scores]
    assert {0.0, 100.0} == {*scores}
    assert fmean(scores) == pytest.approx(record.scores.test.overall["accuracy"])
    assert {row["evaluation_id"] for row in rows} == {log["evaluation_id"]}
    assert rows[0]["evaluation_result_id"] == log["evaluation_results"][0]["evaluation_result_id"]
    assert len({row["sample_id"] for row in rows}) == len(rows)
    assert len(list(out.rglob("*_samples.jsonl"))) == 2


@pytest.mark.usefixtures("undrawn")
def test_encoders_of_one_name_from_two_folders_have_folders_of_their_own(tmp_path):
    ledger, out = tmp_path / "runs", tmp_path / "store"
    for folder in ("a", "b"):
        record = add(ledger, "ner", "elmo", 0, weights=folder)
        there = RunPaths.of(ledger, record).record
        put(there, changed(record, {"environment/source": f"data/{folder}/elmo"}))
    assert main(["report", "--ledger", str(ledger), "--out", str(tmp_path), "--every-eval-ever", str(out)]) == 0
    models = {path.parent for path in out.rglob("*_samples.jsonl")}
    place = out / "data/elmo-bench-open-ner/elmo-bench"
    assert models == {place / "a_elmo", place / "b_elmo"}


def test_a_sentence_without_entities_is_right_if_none_is_predicted():
    counts = {"correct": [1, 0, 0, 1], "guessed": [1, 0, 2, 2], "gold": [1, 0, 0, 1]}
    scores, right = item_scores(metric_of("ner"), {name: np.array(values) for name, values in counts.items()})
    assert scores.round(1).tolist() == [100, 100, 0, 66.7]
    assert right.tolist() == [True, True, False, False]
    scores, right = item_scores(metric_of("sst5"), {"correct": np.array([0, 1])})
    assert (scores.tolist(), right.tolist()) == ([0, 100], [False, True])
