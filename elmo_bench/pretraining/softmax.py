"""The output layer of the language model: sampled in training, full in evaluation (Jozefowicz et al. 2016; bilm-tf)."""

import math

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from elmo_bench.nn.fused import fused


class SampledSoftmax(nn.Module):
    """Cross-entropy over a vocabulary sorted by falling frequency, both directions sharing the weights."""

    def __init__(self, *, words: int, features: int, samples: int):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(words, features) / math.sqrt(features))
        self.bias = nn.Parameter(torch.zeros(words))
        self.samples = min(samples, words)

    def draw(self) -> tuple[Tensor, int]:
        """Draw log-uniformly until `samples` ids are distinct -> the ids int64 [S] and the number of draws.

        P(k) = log((k + 2) / (k + 1)) / log(V + 1), as TensorFlow's sampler with `unique=True`.
        """
        words = len(self.bias)
        drawn = np.empty(0, dtype=np.int64)
        while True:
            uniform = torch.rand(3 * self.samples, dtype=torch.double).numpy()  # uses torch's seed
            ids = np.exp(uniform * math.log(words + 1)).astype(np.int64) - 1
            drawn = np.append(drawn, ids.clip(0, words - 1))
            distinct, first = np.unique(drawn, return_index=True)
            if len(distinct) >= self.samples:
                order = np.argsort(first)[: self.samples]
                return torch.from_numpy(distinct[order]), int(first[order[-1]]) + 1

    def log_expected_count(self, ids: Tensor, draws: Tensor) -> Tensor:
        """log of how often each id is expected among the distinct ids of so many draws: -expm1(n log1p(-P(k)))."""
        k = ids.double()
        probability = torch.log((k + 2) / (k + 1)) / math.log(len(self.bias) + 1)
        return torch.log(-torch.expm1(draws * torch.log1p(-probability))).float()

    def sampled(self, x: Tensor, targets: Tensor) -> Tensor:
        """Features [D, N, P] and targets [D, N] -> mean loss [D], each direction against its own draw.

        Log-sum-exp is float32; a target among the negatives counts once.
        """
        drawn = [self.draw() for _ in targets]
        negatives = torch.stack([ids for ids, _ in drawn]).to(x.device)  # DS
        draws = torch.tensor([[n] for _, n in drawn], device=x.device, dtype=torch.double)
        ids = torch.cat([targets, negatives], dim=1)
        weight = functional.embedding(ids, self.weight)  # D(N+S)P
        shift = functional.embedding(ids, self.bias[:, None]).squeeze(2) - self.log_expected_count(ids, draws)
        n = targets.shape[1]
        true = (x.float() * weight[:, :n].float()).sum(dim=2) + shift[:, :n]
        columns = targets.new_full((len(targets), len(self.bias)), -1)
        columns.scatter_(1, negatives, torch.arange(self.samples, device=x.device).expand_as(negatives))
        return Contrast.apply(x, weight[:, n:], shift[:, n:], true, columns.gather(1, targets))

    def full(self, x: Tensor, targets: Tensor) -> Tensor:
        """Loss [N] of each target against the whole vocabulary."""
        return functional.cross_entropy(functional.linear(x, self.weight, self.bias).float(), targets, reduction="none")


class Contrast(torch.autograd.Function):
    """Mean loss [D] of scores DN of the targets against negatives S: features DNP, weights DSP, shift DS.

    `hits` DN: the column of a target that was drawn as a negative, which is left out, or -1. The backward pass is
    written out because the products DNS are the largest tensor of a training step: each pass reads them once.
    """

    @staticmethod
    def forward(ctx, x, weight, shift, true, hits):  # noqa: PLR0917
        weight = weight.to(x.dtype)
        logits = torch.bmm(x, weight.transpose(1, 2))  # DNS
        places = torch.arange(0, logits.numel(), logits.shape[2], device=x.device).view_as(hits) + hits.clamp(min=0)
        logits.put_(places, torch.where(hits < 0, logits.take(places), -torch.inf))
        total = _total(logits, shift, true)  # DN
        ctx.save_for_backward(x, weight, shift, true, logits, total)
        return (total - true).mean(dim=1)

    @staticmethod
    def backward(ctx, gradient):
        x, weight, shift, true, logits, total = ctx.saved_tensors
        gradient = gradient[:, None] / x.shape[1]  # D1
        d_logits = _to_logits(gradient, logits, shift, total)  # DNS
        d_true = (torch.exp(true - total) - 1) * gradient
        d_weight = torch.bmm(x.transpose(1, 2), d_logits).transpose(1, 2).float()
        return torch.bmm(d_logits, weight), d_weight, d_logits.sum(dim=1).float(), d_true, None


@fused
def _total(logits: Tensor, shift: Tensor, true: Tensor) -> Tensor:
    """log of the sum over a target and its negatives, DN."""
    return torch.logaddexp(torch.logsumexp(logits.float() + shift[:, None], dim=2), true)


@fused
def _to_logits(gradient: Tensor, logits: Tensor, shift: Tensor, total: Tensor) -> Tensor:
    share = torch.exp(logits.float() + shift[:, None] - total[:, :, None])
    return (share * gradient[:, :, None]).to(logits.dtype)
