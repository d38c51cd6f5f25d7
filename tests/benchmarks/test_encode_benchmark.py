"""The benchmark against AllenNLP: what it counts and divides, and that it runs with a stand-in for the peer.

Times are never looked at.
"""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from elmo_bench.elmo.encoder import ElmoEncoder

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(autouse=True)
def as_scripts(monkeypatch):
    """Scripts of a folder import each other by name."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))


def test_random_weights_are_a_published_file_and_the_same_each_time(tmp_path):
    import random_weights

    options = random_weights.options(16, 8, 2, [[1, 4], [3, 8]], 4)
    for folder in ("a", "b"):
        random_weights.write(tmp_path / folder, options, seed=7)
    one, other = (ElmoEncoder(weights=str(tmp_path / folder)).encode([["some", "words"]])[0] for folder in "ab")
    assert one.shape == (3, 2, 16)
    np.testing.assert_array_equal(one, other)


def test_the_published_shapes_have_their_published_sizes():
    import random_weights

    def size(shape: str) -> int:
        options = random_weights.options(*random_weights.SHAPES[shape])
        return sum(int(np.prod(shape)) for _, shape in random_weights.shapes(options))

    # facts of the published models: 13.6, 28.0 and 93.6 million
    assert [round(size(shape) / 1e6, 1) for shape in ("small", "medium", "original")] == [13.6, 28.0, 93.6]


def test_operations_are_those_of_a_hand_count():
    import gemm
    import random_weights

    options = random_weights.options(3, 2, 1, [[1, 5], [2, 7]], 4)
    # a step: gates [1, 4] @ [4, 12] and projection [1, 3] @ [3, 2], times 2 layers and 2 directions; T + 2 steps
    assert gemm.lstm_operations(options, [["a", "b"], ["a"]]) == (4 + 3) * 4 * (2 * 4 * 12 + 2 * 3 * 2)
    # two words of 1 and 2 bytes, with begin and end and a window of padding: 4 and 5 windows
    window = 2 * 4 * (1 * 5 + 2 * 7)
    rest = 2 * 2 * 12 * 12 + 2 * 12 * 2
    assert gemm.character_operations(options, [["a", "é"], ["a"]]) == (4 + 5) * window + 2 * rest


class StandIn:
    """The peer's answers, from our own encoder and with `error` added to its layers."""

    error = 0.0

    def __init__(self, python, *, threads):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def ask(self, do, **request):
        if do == "load":
            self.encoder = ElmoEncoder(weights=str(Path(request["weights"]).parent))
        if do == "layers":
            np.savez(request["file"], *(x.numpy() + self.error for x in self.encoder.encode(request["sentences"])))
        return {"seconds": 1.0} if do == "encode" else {}


@pytest.fixture
def run_benchmark(tmp_path, monkeypatch):
    """Runs `encode.py` with options; returns what it wrote."""
    import encode
    import gemm

    text = tmp_path / "text.txt"
    text.write_text("\n".join(f"A sentence of {n} words ." for n in range(20)), encoding="utf-8")
    monkeypatch.setattr(encode, "PeerProcess", StandIn)
    monkeypatch.setattr(gemm, "SIZE", 64)
    monkeypatch.setattr("torch.set_num_threads", lambda _: None)  # of the other tests too

    def run(*options):
        fixed = ["--sentences", text, "--threads", 1, "--rounds", 2, "--json", tmp_path / "found.json"]
        monkeypatch.setattr(sys, "argv", ["encode.py", "--shapes", "mini", *map(str, [*fixed, *options])])
        encode.main()
        return json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))

    return run


def test_another_function_is_refused(run_benchmark, monkeypatch):
    monkeypatch.setattr(StandIn, "error", 1e-4)
    with pytest.raises(SystemExit, match="not the same function"):
        run_benchmark("--count", 4, "--batches", "4")
