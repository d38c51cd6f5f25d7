"""The recorded biLM (tests/golden/bilm): its sentences, and what `embed` has to write for them, from numpy alone."""

import json
from pathlib import Path

import numpy as np

GOLDEN = Path(__file__).parents[1] / "golden" / "bilm"
CASES = json.loads((GOLDEN / "sentences.json").read_text(encoding="utf-8"))
TEXT = "".join(" ".join(sentence) + "\n" for sentence in CASES["sentences"])
TOLERANCE = 2e-5


def recorded(run: str) -> list[np.ndarray]:
    """The layers [3, T, 32] of each sentence, `stateless` or `stateful`."""
    layers = np.load(GOLDEN / f"expected_{run}.npz")
    return [layers[f"s{number:02d}"] for number in range(len(CASES["sentences"]))]


def expected(mode: str, layers: np.ndarray) -> np.ndarray:
    """What a mode makes of the layers of a sentence, in float64."""
    layers = layers.astype(np.float64)
    if mode == "average":
        return layers.mean(axis=0)
    return layers[-1] if mode == "top" else layers
