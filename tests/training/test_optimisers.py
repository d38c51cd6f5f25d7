"""Optimisers by name."""

import torch

from elmo_bench.training.optimisers import build_optimiser


def test_adam_goes_over_the_memory_once():
    assert build_optimiser({"name": "adam", "lr": 0.1}, [torch.nn.Parameter(torch.ones(2))]).defaults["fused"]
