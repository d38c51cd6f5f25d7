"""Viterbi against brute force over all label sequences."""

import itertools

import pytest
import torch

from elmo_bench.tasks.srl.head import best_paths
from elmo_bench.text.tags import allowed_transitions

LABELS = ["O", "B-A", "I-A", "B-B", "I-B"]
STARTS, TRANSITIONS, _ = (torch.from_numpy(table) for table in allowed_transitions(LABELS))
LENGTHS = (5, 4, 3, 2, 1)
MASK = torch.arange(5)[None] < torch.tensor(LENGTHS)[:, None]


def valid(path):
    """BIO, by rules of this test."""
    labels = ["O", *(LABELS[label] for label in path)]
    return all(b[0] != "I" or a in (f"B{b[1:]}", b) for a, b in itertools.pairwise(labels))


@pytest.mark.parametrize("seed", range(6))
def test_it_finds_the_best_of_all_valid_sequences(seed):
    torch.manual_seed(seed)
    scores = torch.randn(len(LENGTHS), 5, len(LABELS), dtype=torch.double)
    scores[..., [2, 4]] += 1  # so that the constraints matter
    scores[~MASK] = torch.nan  # padding is never read
    differs = 0
    for row, (length, found) in enumerate(
        zip(LENGTHS, best_paths(scores, MASK, starts=STARTS, transitions=TRANSITIONS), strict=True)
    ):
        paths = list(itertools.product(range(len(LABELS)), repeat=length))
        worth = {path: sum(scores[row, t, label].item() for t, label in enumerate(path)) for path in paths}
        assert tuple(found) == max(filter(valid, paths), key=worth.get)
        differs += tuple(found) != max(paths, key=worth.get)
    assert differs
