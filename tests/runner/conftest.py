import json

import pytest
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from elmo_bench.ledger import RunPaths
from tests.ledger.records import hash_of


@pytest.fixture
def stranger(elmo_run, tmp_path):
    """`stranger(change_spec, change_about) -> record file`: a record and a head that fit each other, with changes."""

    def stranger(change_spec=lambda spec: None, change_about=lambda about: None):
        record = elmo_run[1].to_json()
        head = RunPaths.of(*elmo_run).work / "head.safetensors"
        with safe_open(head, framework="numpy") as kept:
            about = json.loads(kept.metadata()["about"])
        change_spec(record["spec"])
        record["hash"] = hash_of(record["spec"])
        about["spec"] = record["spec"]
        change_about(about)
        (tmp_path / "seed0").mkdir()
        (tmp_path / "seed0.json").write_text(json.dumps(record), encoding="utf-8")
        save_file(load_file(head), tmp_path / "seed0" / "head.safetensors", {"about": json.dumps(about)})
        return tmp_path / "seed0.json"

    return stranger
