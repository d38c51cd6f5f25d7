"""`benchmarks/clusters.py`: which document a sentence is from, and outcomes with the larger clusters."""

from pathlib import Path

import numpy as np
import pytest

import elmo_bench
from benchmarks import clusters
from elmo_bench.ledger import CLUSTER
from elmo_bench.runner.data import build_data, read_splits
from tests.runs import described


@pytest.mark.slow
def test_a_sentence_has_the_document_of_its_lines():
    spec, setup = described("task=srl", "encoder=glove")
    test = read_splits(build_data(spec, setup), spec, setup)["test"]
    names = clusters.documents()
    lines = clusters.read_lines(Path(elmo_bench.__file__).parent / "data/ewt_propbank/test.conll.xz")
    tokens = {}
    for _, line in lines:
        if line.strip():
            document, _, _, token, *_ = line.split("\t")
            tokens.setdefault(document, []).append(token)
    for example in test[::100]:
        words = list(example.sentence.tokens)
        document = tokens[names[example.sentence.number]]
        assert any(document[at : at + len(words)] == words for at in range(len(document)))


def test_groups_get_the_number_of_their_document(monkeypatch, tmp_path):
    groups = ["one", "one", "two", "three"]
    test = [type("Example", (), {"group": group}) for group in groups]
    monkeypatch.setattr(clusters, "build_data", lambda spec, setup: None)
    monkeypatch.setattr(clusters, "read_splits", lambda *_: {"test": test})
    monkeypatch.setattr(clusters, "read_outcomes", lambda paths: {CLUSTER: np.array([0, 0, 1, 2])})
    read = clusters.clustered("squad", tmp_path, {"one": "x", "two": "y", "three": "x"})
    assert read(None)[CLUSTER].tolist() == [0, 0, 1, 0]


def test_neighbours_count_as_one(monkeypatch):
    monkeypatch.setattr(clusters, "read_outcomes", lambda paths: {"correct": np.zeros(25), "gold": np.ones(25)})
    outcomes = clusters.neighbours(None)
    assert outcomes[CLUSTER].tolist() == [0] * 10 + [1] * 10 + [2] * 5
    assert outcomes["gold"].sum() == 25
