"""What a record says of the cost of its run."""

from types import SimpleNamespace

import pytest

from elmo_bench.runner import record


@pytest.mark.parametrize("encoders", [{}, {"": None}])
def test_the_peak_of_memory_is_in_mebibytes_on_every_system(monkeypatch, encoders):
    """The system counts it in kilobytes or, on a Mac, in bytes, which `peak_memory` knows."""
    monkeypatch.setattr(record, "peak_memory", lambda: 3 * 2**20)
    clocks = {"whole": [9.0, 8.0], "training": [4.0, 3.0], "encoding": [1.0, 2.0]}
    read = {name: SimpleNamespace(read=lambda seconds=seconds: seconds) for name, seconds in clocks.items()}
    history = SimpleNamespace(tokens=10, **read)
    config = SimpleNamespace(trainer=SimpleNamespace(device="cpu"))
    prepared = SimpleNamespace(config=config, frozen=SimpleNamespace(encoders=encoders))
    found = record._cost(prepared, SimpleNamespace(history=history))
    assert found.pop("encode_seconds", None) == (1.0 if encoders else None)
    assert found.pop("encode_cpu_seconds", None) == (2.0 if encoders else None)
    assert found == {
        "seconds": 9.0, "cpu_seconds": 8.0, "train_seconds": 4.0, "train_cpu_seconds": 3.0,
        "tokens_per_second": 2.5, "peak_memory_mib": 3.0,
    }  # fmt: skip
