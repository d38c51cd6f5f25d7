"""The biLM of `model.py`, fast: the same parameters, for batches of sentences.

The function is the same, too.

- `batched.py`: both directions as one product, on any device, with or without
  gradients. `Elmo` uses it where it trains the biLM.
- `gradients.py`: its time loop with gradients, one node of autograd for a layer.
- `graphs.py`: inference on a GPU with CUDA graphs, in float32, tf32 or bfloat16.
- `steps.py`: one step of the loop over time and fused kernels, which the two above and
  pretraining share.
- `packed.py`: inference on a CPU with weights packed for oneDNN, in float32, bfloat16
  or int8.

`Network` is what all of them offer; `fastest` chooses one.
"""

import copy
from typing import Protocol

import torch
from torch import Tensor

from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import note
from elmo_bench.base.progress import used
from elmo_bench.elmo.frozen import multiplies_bfloat16
from elmo_bench.elmo.kernels import packed
from elmo_bench.elmo.kernels.batched import BatchedBiLM
from elmo_bench.elmo.kernels.graphs import GraphBiLM
from elmo_bench.elmo.model import BiLM, State
from elmo_bench.elmo.options import BiLMOptions

PRECISIONS = ("float32", "bfloat16", "int8", "tf32")


class Network(Protocol):
    """A biLM for batches.

    Rows are sorted by falling length, and the backward direction's words are reversed.
    """

    options: BiLMOptions

    def characters(self, ids: Tensor) -> Tensor:
        """Character ids [N, C] of words -> vectors [N, P]."""

    def contextual(
        self, vectors: Tensor, words: Tensor, states: list[State], sizes: list[int]
    ) -> tuple[list[Tensor], list[State]]:
        """Outputs [2, T, B, P] of each layer, and the last states.

        vectors [N, P]; words [2, T, B] are rows of them. `sizes[t]` rows have a word at
        step t. After a row's end its outputs are zeros and its state does not change.
        """


def fastest(bilm: BiLM, *, precision: str = "float32", device: str = "cpu") -> Network:
    """The fastest network of these weights for inference on a device.

    `bilm` itself does not change. Raises UserError for an unknown precision and for one
    that the device does not support.
    """
    if precision not in PRECISIONS:
        choices = ", ".join(PRECISIONS)
        raise UserError(f"precision={precision}: unknown. Choose one of: {choices}.")
    if torch.device(device).type == "cpu":
        return _on_cpu(bilm, precision)
    return _on_gpu(bilm, precision, device)


def _on_cpu(bilm: BiLM, precision: str) -> Network:
    if precision == "tf32":
        raise UserError("precision=tf32 needs a GPU. Choose float32, bfloat16 or int8.")
    if packed.works("float32"):
        if not packed.works(precision):
            raise UserError(
                f"precision={precision}: this CPU has no instructions for it. Choose "
                "float32."
            )
        used("bilm", f"packed {precision}")
        return packed.PackedBiLM(bilm, precision)
    if precision == "int8":
        raise UserError(
            "precision=int8 runs on a CPU with oneDNN's operators, which are missing "
            "here. Choose float32."
        )
    note(
        "ELMo: oneDNN's operators in torch are missing or differ, so it runs without "
        "packed weights"
    )
    used("bilm", f"batched {precision}")
    dtype = getattr(torch, precision)
    return BatchedBiLM(copy.deepcopy(bilm).to(dtype))


def _on_gpu(bilm: BiLM, precision: str, device: str) -> Network:
    if precision == "int8":
        raise UserError(
            f"precision=int8 runs on a CPU with oneDNN, not on {device}. Choose "
            "float32 or bfloat16."
        )
    if precision != "float32" and not multiplies_bfloat16(device):
        name = torch.cuda.get_device_name(device)
        raise UserError(
            f"precision={precision}: {name} cannot multiply in it. Choose float32."
        )
    used("bilm", f"graphs {precision}")
    dtype = torch.bfloat16 if precision == "bfloat16" else torch.float32
    products = "tf32" if precision == "tf32" else "ieee"
    return GraphBiLM(copy.deepcopy(bilm).to(device, dtype), products=products)
