"""The output layer of the language model: sampled in training, full in evaluation (Jozefowicz et al. 2016; bilm-tf)."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional


class SampledSoftmax(nn.Module):
    """Cross-entropy over a vocabulary sorted by falling frequency, both directions sharing the weights."""

    def __init__(self, *, words: int, features: int, samples: int):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(words, features) / math.sqrt(features))
        self.bias = nn.Parameter(torch.zeros(words))
        self.samples = samples

    def log_expected_count(self, ids: Tensor) -> Tensor:
        """log of how often each id is expected among the distinct ids of `samples` log-uniform draws.

        P(k) = log((k + 2) / (k + 1)) / log(V + 1); a distinct sample holds k with probability -expm1(n log1p(-P(k))).
        """
        k = ids.double()
        probability = torch.log((k + 2) / (k + 1)) / math.log(len(self.bias) + 1)
        return torch.log(-torch.expm1(self.samples * torch.log1p(-probability))).float()

    def draw(self) -> Tensor:
        """Distinct ids of `samples` log-uniform draws, int64 [at most samples]."""
        uniform = torch.rand(self.samples, device=self.bias.device, dtype=torch.double)
        ids = torch.exp(uniform * math.log(len(self.bias) + 1)).long() - 1
        return torch.unique(ids.clamp(0, len(self.bias) - 1))

    def sampled(self, x: Tensor, targets: Tensor) -> Tensor:
        """Mean loss of features [N, P] and targets [N] against one draw of negatives; log-sum-exp in float32."""
        negatives = self.draw()
        ids = torch.cat([targets, negatives])
        weight = functional.embedding(ids, self.weight)
        shift = functional.embedding(ids, self.bias[:, None]).squeeze(1) - self.log_expected_count(ids)
        n = len(targets)
        true = (x.float() * weight[:n].float()).sum(dim=1) + shift[:n]
        logits = functional.linear(x, weight[n:].to(x.dtype)).float() + shift[n:]  # NS
        column = torch.full((len(self.bias),), -1, device=x.device).index_put(
            (negatives,), torch.arange(len(negatives), device=x.device)
        )[targets]
        hit = (column >= 0).nonzero().squeeze(1)
        logits = logits.index_put((hit, column[hit]), logits.new_tensor(-math.inf))  # an accidental hit is no negative
        return (torch.logaddexp(torch.logsumexp(logits, dim=1), true) - true).mean()

    def full(self, x: Tensor, targets: Tensor) -> Tensor:
        """Loss [N] of each target against the whole vocabulary."""
        return functional.cross_entropy(functional.linear(x, self.weight, self.bias).float(), targets, reduction="none")
