"""Random biLM weights in the published layout (the HDF5 file that bilm-tf writes), for shapes whose files are missing.

Needs numpy and h5py only, so that the peer's environment can use it as well. Values start from bilm-tf's initial ones;
`gains` multiplies them, because untrained weights of those sizes give activations close to zero.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np

PUBLISHED_FILTERS = [[1, 32], [2, 32], [3, 64], [4, 128], [5, 256], [6, 512], [7, 1024]]
# name -> LSTM cell, projection, highway layers (the published models)
SHAPES = {"small": (1024, 128, 1), "medium": (2048, 256, 1), "original": (4096, 512, 2)}
# The three layers then have standard deviations of about 0.6, 0.4 and 0.5 (0.2, 0.05 and 0.05 without).
GAINS = {"W_cnn": 3.0, "W_0": 2.0, "W_P_0": 1.5}


def options(
    cell: int, projection: int, highways: int, filters: list[list[int]] = PUBLISHED_FILTERS, dim: int = 16
) -> dict[str, Any]:
    """An `options.json` in the published schema."""
    lstm = {"use_skip_connections": True, "projection_dim": projection, "cell_clip": 3, "proj_clip": 3, "dim": cell}
    cnn = {"activation": "relu", "filters": filters, "n_highway": highways, "embedding": {"dim": dim}}
    return {
        "lstm": {**lstm, "n_layers": 2},
        "char_cnn": {**cnn, "n_characters": 262, "max_characters_per_token": 50},
    }


def shapes(options: Mapping[str, Any]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Every data set of the published layout and its shape."""
    cnn, lstm = options["char_cnn"], options["lstm"]
    dim, projection, cell = cnn["embedding"]["dim"], lstm["projection_dim"], lstm["dim"]
    features = sum(number for _, number in cnn["filters"])
    yield "char_embed", (261, dim)
    for index, (width, number) in enumerate(cnn["filters"]):
        yield f"CNN/W_cnn_{index}", (1, width, dim, number)
        yield f"CNN/b_cnn_{index}", (number,)
    for index in range(cnn["n_highway"]):
        for part in ("carry", "transform"):
            yield f"CNN_high_{index}/W_{part}", (features, features)
            yield f"CNN_high_{index}/b_{part}", (features,)
    yield "CNN_proj/W_proj", (features, projection)
    yield "CNN_proj/b_proj", (projection,)
    for direction in (0, 1):
        for layer in range(lstm["n_layers"]):
            name = f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
            yield f"{name}/W_0", (2 * projection, 4 * cell)
            yield f"{name}/B", (4 * cell,)
            yield f"{name}/W_P_0", (cell, projection)


def _initial(name: str, shape: tuple[int, ...], random: np.random.Generator) -> np.ndarray:
    if name == "char_embed":
        return random.uniform(-1, 1, shape)
    if "W_cnn" in name:
        return random.uniform(-0.05, 0.05, shape)
    if "LSTMCell/W" in name:  # Glorot
        return random.uniform(-1, 1, shape) * np.sqrt(6 / sum(shape))
    if "W_" in name:
        return random.normal(0, shape[0] ** -0.5, shape)
    return np.full(shape, -2.0 if name.endswith("b_carry") else 0.0)


def write(
    folder: Path,
    options: Mapping[str, Any],
    seed: int,
    *,
    gains: Mapping[str, float] = GAINS,
    bias_noise: float = 0.0,
) -> tuple[Path, Path]:
    """Write `options.json` and `weights.hdf5`; `gains` by the beginning of a data set's last name."""
    random = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    files = folder / "options.json", folder / "weights.hdf5"
    files[0].write_text(json.dumps(options, indent=1) + "\n", encoding="utf-8")
    with h5py.File(files[1], "w") as file:
        for name, shape in shapes(options):
            values = _initial(name, shape, random)
            last = name.rpartition("/")[2]
            values *= next((gain for part, gain in gains.items() if last.startswith(part)), 1.0)
            if bias_noise and len(shape) == 1:
                values += random.normal(0, bias_noise, shape)
            file[name] = values.astype(np.float32)
    return files
