"""The values that the training of a biLM starts from; kept as they are, they are the control of what training gives."""

import hashlib
import math

import torch
from torch import nn

from elmo_bench.elmo.model import BiLM
from elmo_bench.elmo.options import BiLMOptions


def initialise(bilm: BiLM) -> None:
    """The initial values of bilm-tf (`bilm/training.py`): uniform characters, carry bias -2, Glorot uniform LSTMs."""
    characters = bilm.characters
    nn.init.uniform_(characters.embedding, -1, 1)
    for convolution in characters.convolutions:
        nn.init.uniform_(convolution.weight, -0.05, 0.05)
        assert convolution.bias is not None
        nn.init.zeros_(convolution.bias)
    for highway in characters.highways:
        for linear, bias in ((highway.carry, -2.0), (highway.transform, 0.0)):
            nn.init.normal_(linear.weight, std=1 / math.sqrt(linear.in_features))
            nn.init.constant_(linear.bias, bias)
    nn.init.normal_(characters.projection.weight, std=1 / math.sqrt(characters.projection.in_features))
    nn.init.zeros_(characters.projection.bias)
    for lstm in bilm.lstms:
        nn.init.zeros_(lstm.bias)
        for stacked in (lstm.weight, lstm.projection):
            for direction in stacked:
                nn.init.xavier_uniform_(direction)


def untrained(options: BiLMOptions, *, seed: int) -> tuple[BiLM, str]:
    """A frozen biLM with the initial values of a seed, and the SHA-256 of its numbers."""
    with torch.random.fork_rng(devices=[]):
        bilm = BiLM(options)
        torch.manual_seed(seed)
        initialise(bilm)
    digest = hashlib.sha256()
    for parameter in bilm.requires_grad_(False).parameters():
        digest.update(parameter.numpy().data)
    return bilm, digest.hexdigest()
