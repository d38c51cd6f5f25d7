"""Our side of a benchmark: fresh encoders, and the reference model."""

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gemm
import numpy as np
import torch
from torch import Tensor

from elmo_bench.elmo.encoder import ElmoEncoder
from elmo_bench.elmo.kernels.batched import BatchedBiLM
from elmo_bench.elmo.pretrained import load_bilm
from elmo_bench.text import chars

Sentences = Sequence[Sequence[str]]
WARM_UP = ["ʘ"] * 8  # a word that no text has: caches of words stay empty but for it


class Ours:
    """The encoder with one folder of weights, in one precision."""

    def __init__(self, weights: Path, *, precision: str, device: str):
        self.options: dict[str, Any] = {"weights": str(weights), "device": device}
        if precision != "float32":
            self.options["precision"] = precision
        self.device = device

    def fresh(self) -> ElmoEncoder:
        """An encoder that has seen no word yet, its weights packed and its kernels chosen."""
        encoder = ElmoEncoder(**self.options)
        for rows in (128, 4, 1):
            encoder.encode([WARM_UP] * rows)
        return encoder

    def seconds(self, encoder: ElmoEncoder, calls: Sequence[Sentences]) -> float:
        """Of encoding all calls; results of a call are dropped before the next one."""
        start = gemm.now(self.device)
        for call in calls:
            encoder.encode(call)
        return gemm.now(self.device) - start


def worst_and_rms(found: Sequence[Tensor], wanted: Sequence[Tensor]) -> tuple[float, float]:
    """The largest and the root mean square difference of two lists of layers, relative to numbers larger than 1."""
    differences = [
        ((ours.float().cpu() - peers).double() / peers.double().abs().clamp(min=1)).flatten()
        for ours, peers in zip(found, wanted, strict=True)
    ]
    count = sum(map(len, differences))
    return (
        max(float(part.abs().max()) for part in differences),
        (sum(float(part.square().sum()) for part in differences) / count) ** 0.5,
    )


class Reference:
    """Takes the peer's place where AllenNLP is not installed.

    Its layers come from `model.py` on the CPU; its time is the batched kernel's, one batch after another.
    """

    def __init__(self, device: str):
        self.device = device

    def __enter__(self) -> "Reference":
        return self

    def __exit__(self, *_: object) -> None:
        return

    @torch.no_grad()
    def ask(self, do: str, **request: Any) -> dict[str, Any]:
        """The answers of `PeerProcess.ask`."""
        if do == "load":
            self.encoder = ElmoEncoder(weights=request["weights"], options=request["options"], device=self.device)
            self.encoder.frozen.network = BatchedBiLM(copy.deepcopy(self.encoder.bilm).to(self.device))
            return {"name": "kernels/batched.py"}
        if do == "layers":
            bilm, _ = load_bilm(str(self.encoder.files[1]), str(self.encoder.files[0]))
            marked = [chars.words_ids(["<S>", *sentence, "</S>"]) for sentence in request["sentences"]]
            np.savez(request["file"], *(bilm(torch.from_numpy(ids))[0][:, 1:-1].numpy() for ids in marked))
            return {}
        start = gemm.now(self.device)
        for batch in request["batches"]:
            self.encoder.batch(batch)
        return {"seconds": gemm.now(self.device) - start, "characters_seconds": 0.0, "ids_seconds": 0.0}
