"""What tests of several parts share."""

import pytest

from tests.ledger import records


@pytest.fixture
def make_record():
    """`make_record(encoder=…, seed=…, test=…, …) -> Record`: valid in every key; see tests/ledger/records.py."""
    return records.make_record


@pytest.fixture
def store_record(tmp_path):
    """`store_record(**as make_record) -> RunPaths`: the same, written to the ledger `tmp_path / "runs"`."""
    return lambda **changes: records.store_record(tmp_path / "runs", **changes)
