"""What AllenNLP 2.10.1 made of the small biLM in tests/golden/bilm, and this biLM behind its interface."""

import json

import numpy as np
import torch

from elmo_bench import Elmo
from tests.runs import GOLDEN

FILES = GOLDEN / "options.json", GOLDEN / "weights.hdf5"
CASES = json.loads((GOLDEN / "sentences.json").read_text(encoding="utf-8"))
SENTENCES = CASES["sentences"]
LAYERS = [np.load(GOLDEN / "expected_stateless.npz")[f"s{number:02d}"] for number in range(len(SENTENCES))]
TOLERANCE = 2e-5  # the recorded float32 is itself within 4.4e-6 of float64


def elmo(**options) -> Elmo:
    """The drop-in module, without dropout."""
    return Elmo(*FILES, **{"num_output_representations": 1, "dropout": 0, **options})


def first(output) -> torch.Tensor:
    """The first representation of an output."""
    return output["elmo_representations"][0].detach()
