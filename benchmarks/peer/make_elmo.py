"""Record more of AllenNLP's `Elmo`: `tests/golden/elmo_trained.npz` (a step of training), `elmo_ids.npz` (odd ids).

    benchmarks/.peer/bin/python benchmarks/peer/make_elmo.py

Weights and sentences come from tests/golden/bilm; tests/golden/README.md describes the files.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from allennlp_elmo import Elmo, batch_to_ids

GOLDEN = Path(__file__).resolve().parents[2] / "tests" / "golden"
LEARNING_RATE = 10.0
SEED = 20180215


def elmo(representations: int, **options: Any) -> Elmo:
    files = GOLDEN / "bilm" / "options.json", GOLDEN / "bilm" / "weights.hdf5"
    return Elmo(*files, representations, dropout=0, **options)


def trained(ids: torch.Tensor) -> dict[str, Any]:
    """The module after one step, and what it then gives from zero state."""
    module = elmo(2, requires_grad=True)
    loss = torch.zeros(())
    for number, representation in enumerate(module(ids)["elmo_representations"]):
        waves = torch.cos(torch.arange(representation.numel()) + number)  # as good as random, and the same everywhere
        loss = loss + (representation * waves.view_as(representation)).mean()
    loss.backward()
    torch.optim.SGD(module.parameters(), lr=LEARNING_RATE).step()
    after = elmo(2)
    after.load_state_dict(module.state_dict())
    with torch.no_grad():
        found = torch.stack(after(ids)["elmo_representations"])
    return {"representations": found.numpy(), **{name: tensor.numpy() for name, tensor in module.state_dict().items()}}


def odd(ids: torch.Tensor) -> dict[str, Any]:
    """Ids that `batch_to_ids` does not make: padding before tokens, and random ones."""
    holes = ids.clone()
    holes[0, 3] = holes[2, 0] = holes[3, 1:3] = 0
    random = np.random.default_rng(SEED)
    cases = {
        "holes": holes,
        "random": torch.from_numpy(random.integers(1, 262, (3, 5, 50))),
        "zeros": torch.from_numpy(random.integers(0, 262, (3, 5, 50)) * random.integers(0, 2, (3, 5, 50))),
    }
    arrays: dict[str, Any] = {}
    for name, case in cases.items():
        arrays[f"{name}.ids"] = case.numpy().astype(np.int16)
        for boundaries in (False, True):
            with torch.no_grad():
                found = elmo(1, keep_sentence_boundaries=boundaries)(case)
            arrays[f"{name}.{boundaries}"] = found["elmo_representations"][0].numpy()
            arrays[f"{name}.{boundaries}.mask"] = found["mask"].numpy()
    return arrays


def main() -> None:
    torch.set_num_threads(1)
    cases = json.loads((GOLDEN / "bilm" / "sentences.json").read_text(encoding="utf-8"))
    ids = batch_to_ids([cases["sentences"][n] for n in cases["batches"][0]])
    for name, arrays in (("elmo_trained", trained(ids)), ("elmo_ids", odd(ids))):
        np.savez_compressed(GOLDEN / f"{name}.npz", **arrays)
        print(f"{name}.npz: {len(arrays)} arrays")


if __name__ == "__main__":
    main()
