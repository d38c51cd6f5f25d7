"""The benchmark against AllenNLP: the weights that both sides read, and the operations that it counts."""

import numpy as np
import pytest

from elmo_bench.elmo.encoder import ElmoEncoder
from tests.runs import ROOT


@pytest.fixture
def random_weights(monkeypatch):
    """The script; scripts of a folder import each other by name."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import random_weights

    return random_weights


def test_random_weights_are_a_published_file_and_the_same_each_time(tmp_path, random_weights):
    options = random_weights.options(16, 8, 2, [[1, 4], [3, 8]], 4)
    for folder in ("a", "b"):
        random_weights.write(tmp_path / folder, options, seed=7)
    one, other = (ElmoEncoder(weights=str(tmp_path / folder)).encode([["some", "words"]])[0] for folder in "ab")
    assert one.shape == (3, 2, 16)
    np.testing.assert_array_equal(one, other)


def test_the_published_shapes_have_their_published_sizes(random_weights):
    def size(shape: str) -> int:
        options = random_weights.options(*random_weights.SHAPES[shape])
        return sum(int(np.prod(shape)) for _, shape in random_weights.shapes(options))

    # facts of the published models: 13.6, 28.0 and 93.6 million
    assert [round(size(shape) / 1e6, 1) for shape in ("small", "medium", "original")] == [13.6, 28.0, 93.6]


def test_operations_are_those_of_a_hand_count(random_weights):
    import gemm

    options = random_weights.options(3, 2, 1, [[1, 5], [2, 7]], 4)
    # a step: gates [1, 4] @ [4, 12] and projection [1, 3] @ [3, 2], times 2 layers and 2 directions; T + 2 steps
    assert gemm.lstm_operations(options, [["a", "b"], ["a"]]) == (4 + 3) * 4 * (2 * 4 * 12 + 2 * 3 * 2)
    # two words of 1 and 2 bytes, with begin and end and a window of padding: 4 and 5 windows
    window = 2 * 4 * (1 * 5 + 2 * 7)
    rest = 2 * 2 * 12 * 12 + 2 * 12 * 2
    assert gemm.character_operations(options, [["a", "é"], ["a"]]) == (4 + 5) * window + 2 * rest
