"""A cheap encoder for tests of the layer store: its vectors are random numbers drawn from the words."""

import hashlib
import random

import numpy as np
import torch


class WordEncoder:
    """A vector depends on every word of the sentence, its order included; `asked` lists what was computed."""

    parameters, device = 0, torch.device("cpu")

    def __init__(self, layers=2, dim=8, checksum="words"):
        self.layers, self.dim, self.checksum = layers, dim, checksum
        self.asked = []

    def encode(self, sentences):
        self.asked += sentences
        return [self._vectors(sentence) for sentence in sentences]

    def _vectors(self, sentence):
        seed = hashlib.sha256(repr((self.checksum, *sentence)).encode()).digest()
        shape = (self.layers, len(sentence), self.dim)
        return torch.from_numpy(np.random.default_rng(list(seed)).standard_normal(shape, np.float32))


def sentences(number, *, longest=30, seed=0):
    """Made-up sentences of 1 to `longest` words."""
    words = random.Random(seed)
    return [tuple(f"w{words.randrange(10**6)}" for _ in range(words.randint(1, longest))) for _ in range(number)]
