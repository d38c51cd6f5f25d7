"""Record what AllenNLP's `Elmo` looks like after one step of training: `tests/golden/elmo_trained.npz`.

    benchmarks/.peer/bin/python benchmarks/peer/make_trained.py

Weights and sentences are those of tests/golden/bilm; see tests/golden/README.md.
"""

import json
from pathlib import Path

import numpy as np
import torch
from allennlp_elmo import Elmo, batch_to_ids

GOLDEN = Path(__file__).resolve().parents[2] / "tests" / "golden"
LEARNING_RATE = 10.0


def elmo() -> Elmo:
    return Elmo(GOLDEN / "bilm" / "options.json", GOLDEN / "bilm" / "weights.hdf5", 2, requires_grad=True, dropout=0)


def main() -> None:
    torch.set_num_threads(1)
    cases = json.loads((GOLDEN / "bilm" / "sentences.json").read_text(encoding="utf-8"))
    ids = batch_to_ids([cases["sentences"][n] for n in cases["batches"][0]])
    module = elmo()
    loss = torch.zeros(())
    for number, representation in enumerate(module(ids)["elmo_representations"]):
        waves = torch.cos(torch.arange(representation.numel()) + number)  # as good as random, and the same everywhere
        loss = loss + (representation * waves.view_as(representation)).mean()
    loss.backward()
    torch.optim.SGD(module.parameters(), lr=LEARNING_RATE).step()
    after = elmo().eval()  # its LSTMs start from zero
    after.load_state_dict(module.state_dict())
    with torch.no_grad():
        found = torch.stack(after(ids)["elmo_representations"])
    arrays = {name: tensor.numpy() for name, tensor in module.state_dict().items()}
    np.savez_compressed(GOLDEN / "elmo_trained.npz", representations=found.numpy(), **arrays)
    before = elmo().state_dict()
    for name, array in arrays.items():
        print(f"{name}: moved by at most {np.abs(array - before[name].numpy()).max():.1e}")


if __name__ == "__main__":
    main()
