"""BiLSTM-CRF for named entities.

Sources: Peters et al. (2018), appendix; Lample et al. (2016); Ma and Hovy (2016).

[words; character CNN; ELMo] -> two biLSTM layers, variational dropout before each ->
CRF over BIOUL tags, decoded under hard constraints.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.utils.checkpoint import checkpoint
from torchcrf import CRF

from elmo_bench.base.errors import UserError
from elmo_bench.base.memory import available_memory
from elmo_bench.encoders.embedder import Embedder
from elmo_bench.nn.dropout import VariationalDropout
from elmo_bench.nn.recurrent import BiLstm
from elmo_bench.text.batch import Indexer
from elmo_bench.text.columns import NO_GOLD
from elmo_bench.text.tags import (
    TaggedSentence,
    allowed_transitions,
    bio_to_bioul,
    to_bio,
)

# Far below any score, yet finite when summed over a long sentence in float32.
FORBIDDEN = -1e4
# With more tags, `log_sum_of_paths` takes the place of pytorch-crf's, which keeps
# [T, B, K, K].
WIDE = 128
LEAST = 1e-30  # a smaller sum of exponentials may have lost some of them in float32
PAIRS_AT_ONCE = 2**26  # scores of pairs of tags in memory while decoding: 256 MiB
# Matrices [K, K] of 4 bytes that training holds: parameters, gradient, Adam's two,
# constraints, work.
COPIES = 10


class Head(nn.Module):
    """BiLSTM-CRF with a layer for each number in `hidden` (units per direction)."""

    def __init__(
        self,
        embedder: Embedder,
        *,
        labels: Sequence[str],
        hidden: Sequence[int],
        dropout: float,
    ):
        super().__init__()
        self.embedder = embedder
        self.labels = list(labels)
        self.items = 1
        self.dropout = VariationalDropout(dropout)
        second = 2 * hidden[0] + embedder.output_dim
        sizes = [embedder.dim, second, *(2 * units for units in hidden[1:])]
        self.lstms = nn.ModuleList(
            BiLstm(size, units) for size, units in zip(sizes, hidden, strict=False)
        )
        self.scores = nn.Linear(sizes[-1], len(self.labels))
        check_memory(len(self.labels))
        self.crf = ConstrainedCrf(*allowed_transitions(self.labels, "BIOUL"))

    def collate(
        self, examples: Sequence[TaggedSentence], index: Indexer
    ) -> dict[str, Any]:
        """Tensors of a batch: {"text": TextBatch, "tags": int64 [B, T]}."""
        number = {label: place for place, label in enumerate(self.labels)}
        rows = []
        for example in examples:
            tags = [] if NO_GOLD in example.tags else bio_to_bioul(example.tags)
            # A type not seen in training has no label. It occurs only in dev and test,
            # where no loss is computed.
            numbers = [number.get(tag, 0) for tag in tags]
            rows.append(torch.tensor(numbers, dtype=torch.int64))
        padded = nn.utils.rnn.pad_sequence(rows, batch_first=True)
        return {"text": index([example.tokens for example in examples]), "tags": padded}

    def forward(self, batch: dict[str, Any]) -> Tensor:
        """Tag scores [B, T, K]."""
        text = batch["text"]
        x = self.embedder(text)  # BT(dim)
        for layer, lstm in enumerate(self.lstms):
            x = lstm(self.dropout(x), text.mask)  # BT(2H)
            if layer == 0:  # place=output, place=both
                x = torch.cat([x, self.embedder.output(text)], dim=2)
        return self.scores(x)

    def loss(self, batch: dict[str, Any]) -> Tensor:
        """Negative log-likelihood, summed over the sentences, as in AllenNLP."""
        tags, mask = batch["tags"], batch["text"].mask
        self.items = len(tags)
        return self.crf.negative_log_likelihood(self(batch), tags, mask)

    def predict(self, batch: dict[str, Any]) -> list[list[str]]:
        """BIO tags of each sentence."""
        sentences = []
        for path in self.crf.best_tags(self(batch), batch["text"].mask):
            bioul = [self.labels[place] for place in path]
            sentences.append(to_bio(bioul, "BILOU"))
        return sentences


class ConstrainedCrf(CRF):
    """A linear-chain CRF (pytorch-crf), always in float32.

    Training uses all transitions, decoding only the allowed ones (as in AllenNLP's
    CRF).
    """

    def __init__(self, starts: np.ndarray, transitions: np.ndarray, ends: np.ndarray):
        super().__init__(len(starts), batch_first=True)
        # As in AllenNLP, which has no scores of starts and ends.
        nn.init.xavier_normal_(self.transitions)
        forbidden = {
            "start_transitions": ~starts,
            "transitions": ~transitions,
            "end_transitions": ~ends,
        }
        for name, entries in forbidden.items():
            penalty = torch.from_numpy(entries) * FORBIDDEN
            self.register_buffer(f"{name}_penalty", penalty, persistent=False)

    def negative_log_likelihood(
        self, emissions: Tensor, tags: Tensor, mask: Tensor
    ) -> Tensor:
        """A scalar, summed over the batch.

        emissions [B, T, K], tags [B, T], mask [B, T].
        """
        with torch.autocast(emissions.device.type, enabled=False):
            emissions = emissions.float()
            # pytorch-crf waits for a GPU at every token.
            if self.num_tags <= WIDE and not emissions.is_cuda:
                return -super().forward(emissions, tags, mask, reduction="sum")
            inside = mask.float()
            starts, transitions = self.start_transitions, self.transitions
            emitted = (emissions.gather(2, tags[:, :, None])[:, :, 0] * inside).sum()
            passed = (transitions[tags[:, :-1], tags[:, 1:]] * inside[:, 1:]).sum()
            last = tags.gather(1, mask.sum(dim=1, keepdim=True) - 1)[:, 0]
            ends = (starts[tags[:, 0]] + self.end_transitions[last]).sum()
            every = log_sum_of_paths(
                emissions, mask, starts, transitions, self.end_transitions
            )
            return every.sum() - emitted - passed - ends

    def best_tags(self, emissions: Tensor, mask: Tensor) -> list[list[int]]:
        """The best allowed tag sequence of each sentence.

        Memory grows with K², not with the sentences.
        """
        constrained = self._constrained()
        rows = max(1, PAIRS_AT_ONCE // self.num_tags**2)
        parts = emissions.float().cpu().split(rows)
        paths: list[list[int]] = []
        for pool in zip(parts, mask.cpu().split(rows), strict=True):
            paths += functional_call(self, constrained, pool)
        return paths

    def marginals(self, emissions: Tensor, mask: Tensor) -> Tensor:
        """The probability of each tag of each token, over the allowed paths.

        emissions [B, T, K], mask [B, T] -> float64 [B, T, K]; 0 beyond a sentence's
        end. The derivative of the log of the summed paths by a token's score of a tag
        is the share of the paths through that tag: what forward-backward computes.
        """
        length = emissions.shape[1]
        rows = max(1, PAIRS_AT_ONCE // (length * self.num_tags**2))
        constrained = self._constrained()
        starts = constrained["start_transitions"].detach().double()
        transitions = constrained["transitions"].detach().double()
        ends = constrained["end_transitions"].detach().double()
        parts = emissions.detach().cpu().double().split(rows)
        shares = []
        for part, inside in zip(parts, mask.cpu().split(rows), strict=True):
            scores = part.clone().requires_grad_()
            with torch.enable_grad():
                totals = log_sum_of_paths(scores, inside, starts, transitions, ends)
                shares += torch.autograd.grad(totals.sum(), scores)
        return torch.cat(shares)

    def _constrained(self) -> dict[str, Tensor]:
        """The parameters; where they are forbidden, far below any other."""
        return {
            name: (value + getattr(self, f"{name}_penalty")).cpu()
            for name, value in self.named_parameters()
        }

    def forward(  # type: ignore[override]
        self, emissions: Tensor, mask: Tensor
    ) -> list[list[int]]:
        """Decode with the current transitions.

        `best_tags` substitutes the constrained ones.
        """
        return self.decode(emissions, mask)


def log_sum_of_paths(
    emissions: Tensor, mask: Tensor, starts: Tensor, transitions: Tensor, ends: Tensor
) -> Tensor:
    """Log of the summed exponential scores of all paths.

    [B, T, K], [B, T], [K], [K, K], [K] -> [B]. A step is a matrix product of
    exponentials, whose largest is 1, so that memory grows with K² + B·T·K. Where scores
    are too far apart for float32, a step takes the logarithm of each sum. With few tags
    all pairs are kept.
    """
    highest = transitions.detach().max(dim=0).values  # K, of transitions to each tag
    weights = (transitions - highest).exp()  # KK
    score = starts + emissions[:, 0]  # BK
    for place in range(1, emissions.shape[1]):
        if len(transitions) <= WIDE:  # nothing here waits for a GPU
            reached = (score[:, :, None] + transitions).logsumexp(dim=1)  # BK
        else:
            top = score.detach().max(dim=1, keepdim=True).values  # B1
            sums = (score - top).exp() @ weights  # BK
            if sums.min() > LEAST:
                reached = sums.log() + top + highest
            else:
                reached = checkpoint(_step, score, transitions, use_reentrant=False)
        score = torch.where(mask[:, place, None], reached + emissions[:, place], score)
    return torch.logsumexp(score + ends, dim=1)


def _step(score: Tensor, transitions: Tensor) -> Tensor:
    return torch.stack([(row[:, None] + transitions).logsumexp(dim=0) for row in score])


def check_memory(tags: int) -> None:
    """Raises UserError if the scores of pairs of tags do not fit in memory."""
    if tags <= WIDE:
        return
    needed = COPIES * 4 * tags**2 + 3 * 4 * PAIRS_AT_ONCE
    free = available_memory()
    if needed > free:
        raise UserError(
            f"the CRF: {(tags - 1) // 4:,} types of entities are {tags:,} tags, "
            f"whose pairs need about {needed / 2**30:,.1f} GiB of memory; "
            f"{free / 2**30:,.1f} GiB are free. Use data with fewer types."
        )
