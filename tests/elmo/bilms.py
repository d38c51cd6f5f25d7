"""Small biLMs with random weights for tests of the kernels, and the sentences that they read."""

from dataclasses import replace

import torch

from elmo_bench.elmo.model import BiLM
from elmo_bench.elmo.options import BiLMOptions
from elmo_bench.elmo.weights import initialise
from elmo_bench.text.chars import words_ids

RELU = BiLMOptions(
    filters=((1, 3), (2, 4), (4, 5)), character_dim=4, highways=2, activation="relu", lstm_dim=7, projection_dim=5,
    layers=3, cell_clip=0.6, projection_clip=0.4,
)  # fmt: skip
TANH = replace(
    RELU, filters=((1, 8), (2, 16), (3, 24), (6, 40)), character_dim=5, activation="tanh", lstm_dim=72,
    projection_dim=20, cell_clip=0.4, projection_clip=0.3,
)  # fmt: skip
WORDS = ["<S>", "</S>", "a", "naïve", "antidisestablishmentarianism", "", "x" * 60, "日本語"]
SENTENCES = [[0, 2, 1], [0, 3, 4, 5, 6, 7, 1], [0, 1], [0, 7, 2, 7, 1]]  # rows of WORDS; lengths are not sorted
IDS = torch.from_numpy(words_ids(WORDS))


def random_bilm(options: BiLMOptions) -> BiLM:
    """Weights so large that both clips are reached."""
    torch.manual_seed(0)
    bilm = BiLM(options)
    initialise(bilm)
    for lstm in bilm.lstms:
        lstm.weight.data *= 4
        lstm.bias.data.uniform_(-1, 1)
    return bilm
