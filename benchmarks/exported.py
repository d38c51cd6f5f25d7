"""Does AllenNLP load what `elmo-bench export` writes, unchanged, and compute the same layers?

    make peer                                      # once: AllenNLP in benchmarks/.peer
    python benchmarks/exported.py                  # exports mini, float32 and float16
    python benchmarks/exported.py --weights my-elmo

Each side starts from words: the peer from the exported HDF5 file with its own character ids, ours from the weights that
were exported. Prints the largest difference of a layer; more than 2e-5 in float32 ends with code 1. In float16 the peer
adds the 1 of the forget gate in half precision, so it is a little off there.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from peer_process import PYTHON, PeerProcess

from elmo_bench.base.errors import UserError
from elmo_bench.elmo.encoder import ElmoEncoder
from elmo_bench.elmo.export import export

LIMIT = 2e-5
SENTENCES = [
    ["The", "bank", "of", "the", "river", "was", "flooded", "in", "spring", "."],
    ["naïve", "façade", "東京", "🙂", "x" * 60, "don't", "3.14"],
    ["."],
    ("a long sentence of " + "many " * 120 + "words").split(),
]


def worst(peer: PeerProcess, weights: str, folder: Path, dtype: str) -> float:
    """The largest difference between the peer's layers of the exported file and ours of the exported weights."""
    export(weights, folder, dtype=dtype)
    ours = ElmoEncoder(weights=weights if dtype == "float32" else str(folder)).encode(SENTENCES)
    files = {"options": str(folder / "options.json"), "weights": str(folder / "weights.hdf5")}
    peer.ask("load", **files, threads=torch.get_num_threads(), device="cpu")
    found = str(folder / "layers.npz")
    peer.ask("layers", sentences=SENTENCES, file=found)
    with np.load(found) as layers:
        return max(float(np.abs(layers[f"arr_{n}"] - ours[n].numpy()).max()) for n in range(len(ours)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", default="mini", help="what to export (mini)")
    parser.add_argument("--peer", type=Path, default=PYTHON, help="the Python of the peer's environment")
    options = parser.parse_args()
    found = {}
    with tempfile.TemporaryDirectory() as folder, PeerProcess(options.peer, threads=torch.get_num_threads()) as peer:
        for dtype in ("float32", "float16"):  # HDF5 holds no int8
            found[dtype] = worst(peer, options.weights, Path(folder) / dtype, dtype)
            print(f"{dtype}: AllenNLP's layers differ from ours by at most {found[dtype]:.2g}")
    return int(found["float32"] > LIMIT)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (UserError, RuntimeError) as error:
        sys.exit(str(error))
