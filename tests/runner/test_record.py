"""What a record says of the cost of its run."""

from types import SimpleNamespace

import pytest

from elmo_bench.runner import record


@pytest.mark.parametrize("encoders", [{}, {"": None}])
def test_the_peak_of_memory_is_in_mebibytes_on_every_system(monkeypatch, encoders):
    """The system counts it in kilobytes or, on a Mac, in bytes, which `peak_memory` knows."""
    monkeypatch.setattr(record, "peak_memory", lambda: 3 * 2**20)
    history = SimpleNamespace(elapsed=2.0, tokens=10, seconds=4.0, encoding=1.0)
    config = SimpleNamespace(trainer=SimpleNamespace(device="cpu"))
    prepared = SimpleNamespace(config=config, frozen=SimpleNamespace(encoders=encoders))
    found = record._cost(prepared, SimpleNamespace(history=history))
    assert found.pop("encode_seconds", None) == (1.0 if encoders else None)
    assert found == {"seconds": 2.0, "tokens_per_second": 2.5, "peak_memory_mib": 3.0}
