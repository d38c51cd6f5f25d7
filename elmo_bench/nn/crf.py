"""A linear-chain CRF (pytorch-crf) whose decoding obeys hard constraints."""

import numpy as np
import torch
from torch import Tensor
from torch.func import functional_call
from torchcrf import CRF

FORBIDDEN = -1e4  # far below any score, far above float32's limit even summed over a long sentence


class ConstrainedCrf(CRF):
    """Training sees all transitions, decoding only the allowed ones (as AllenNLP's CRF); always in float32."""

    penalties: dict[str, Tensor]

    def __init__(self, starts: np.ndarray, transitions: np.ndarray, ends: np.ndarray):
        super().__init__(len(starts), batch_first=True)
        forbidden = {"start_transitions": ~starts, "transitions": ~transitions, "end_transitions": ~ends}
        for name, places in forbidden.items():
            self.register_buffer(f"{name}_penalty", torch.from_numpy(places) * FORBIDDEN, persistent=False)

    def negative_log_likelihood(self, emissions: Tensor, tags: Tensor, mask: Tensor) -> Tensor:
        """Summed over the batch: emissions [B, T, K], tags [B, T], mask [B, T] -> scalar."""
        with torch.autocast(emissions.device.type, enabled=False):
            return -super().forward(emissions.float(), tags, mask, reduction="sum")

    def best_tags(self, emissions: Tensor, mask: Tensor) -> list[list[int]]:
        """The best allowed tag sequence of each sentence."""
        constrained = {name: value + getattr(self, f"{name}_penalty") for name, value in self.named_parameters()}
        return functional_call(self, constrained, (emissions.float(), mask))

    def forward(self, emissions: Tensor, mask: Tensor) -> list[list[int]]:  # type: ignore[override]
        """Decode with the transitions as they stand; `best_tags` puts the constrained ones in their place."""
        return self.decode(emissions, mask)
