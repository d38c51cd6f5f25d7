"""A linear-chain CRF (pytorch-crf) whose decoding obeys hard constraints."""

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torchcrf import CRF

FORBIDDEN = -1e4  # far below any score, yet finite when summed over a long sentence in float32


class ConstrainedCrf(CRF):
    """Training uses all transitions, decoding only the allowed ones (as in AllenNLP's CRF); always in float32."""

    def __init__(self, starts: np.ndarray, transitions: np.ndarray, ends: np.ndarray):
        super().__init__(len(starts), batch_first=True)
        nn.init.xavier_normal_(self.transitions)  # as in AllenNLP, which has no scores of starts and ends
        forbidden = {"start_transitions": ~starts, "transitions": ~transitions, "end_transitions": ~ends}
        for name, entries in forbidden.items():
            self.register_buffer(f"{name}_penalty", torch.from_numpy(entries) * FORBIDDEN, persistent=False)

    def negative_log_likelihood(self, emissions: Tensor, tags: Tensor, mask: Tensor) -> Tensor:
        """Summed over the batch: emissions [B, T, K], tags [B, T], mask [B, T] -> scalar."""
        with torch.autocast(emissions.device.type, enabled=False):
            return -super().forward(emissions.float(), tags, mask, reduction="sum")

    def best_tags(self, emissions: Tensor, mask: Tensor) -> list[list[int]]:
        """The best allowed tag sequence of each sentence."""
        constrained = {name: value + getattr(self, f"{name}_penalty") for name, value in self.named_parameters()}
        return functional_call(self, constrained, (emissions.float(), mask))

    def forward(self, emissions: Tensor, mask: Tensor) -> list[list[int]]:  # type: ignore[override]
        """Decode with the current transitions; `best_tags` substitutes the constrained ones."""
        return self.decode(emissions, mask)
