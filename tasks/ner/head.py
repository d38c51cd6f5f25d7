"""BiLSTM-CRF for named entities (Peters et al. 2018, appendix; Lample et al. 2016, Ma and Hovy 2016).

[words; character CNN; ELMo] -> two biLSTM layers, variational dropout before each -> CRF over BIOUL tags, decoded under
hard constraints.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torchcrf import CRF

from elmo_bench.encoders.embedder import Embedder
from elmo_bench.nn.dropout import VariationalDropout
from elmo_bench.nn.recurrent import BiLstm
from elmo_bench.text.batch import Indexer
from elmo_bench.text.tags import TaggedSentence, allowed_transitions, bio_to_bioul, bioul_to_bio

FORBIDDEN = -1e4  # far below any score, yet finite when summed over a long sentence in float32


class Head(nn.Module):
    """BiLSTM-CRF with a layer for each number in `hidden` (units per direction)."""

    def __init__(self, embedder: Embedder, *, labels: Sequence[str], hidden: Sequence[int], dropout: float):
        super().__init__()
        self.embedder, self.labels, self.items = embedder, list(labels), 1
        self.dropout = VariationalDropout(dropout)
        sizes = [embedder.dim, 2 * hidden[0] + embedder.output_dim, *(2 * units for units in hidden[1:])]
        self.lstms = nn.ModuleList(BiLstm(size, units) for size, units in zip(sizes, hidden, strict=False))
        self.scores = nn.Linear(sizes[-1], len(self.labels))
        self.crf = ConstrainedCrf(*allowed_transitions(self.labels, "BIOUL"))

    def collate(self, examples: Sequence[TaggedSentence], index: Indexer) -> dict[str, Any]:
        """Tensors of a batch: {"text": TextBatch, "tags": int64 [B, T]}."""
        number = {label: place for place, label in enumerate(self.labels)}
        # A type not seen in training has no label; only dev and test have it, where no loss is computed.
        tags = [torch.tensor([number.get(tag, 0) for tag in bio_to_bioul(example.tags)]) for example in examples]
        padded = nn.utils.rnn.pad_sequence(tags, batch_first=True)
        return {"text": index([example.tokens for example in examples]), "tags": padded}

    def forward(self, batch: dict[str, Any]) -> Tensor:
        """Tag scores [B, T, K]."""
        text = batch["text"]
        x = self.embedder(text)  # BT(dim)
        for layer, lstm in enumerate(self.lstms):
            x = lstm(self.dropout(x), text.mask)  # BT(2H)
            if layer == 0:
                x = torch.cat([x, self.embedder.output(text)], dim=2)  # place=output, place=both
        return self.scores(x)

    def loss(self, batch: dict[str, Any]) -> Tensor:
        """Negative log-likelihood, summed over the sentences of the batch (as in AllenNLP)."""
        self.items = len(batch["tags"])
        return self.crf.negative_log_likelihood(self(batch), batch["tags"], batch["text"].mask)

    def predict(self, batch: dict[str, Any]) -> list[list[str]]:
        """BIO tags of each sentence."""
        paths = self.crf.best_tags(self(batch), batch["text"].mask)
        return [bioul_to_bio([self.labels[place] for place in path]) for path in paths]


class ConstrainedCrf(CRF):
    """A linear-chain CRF (pytorch-crf), always in float32.

    Training uses all transitions, decoding only the allowed ones (as in AllenNLP's CRF).
    """

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
