"""BiLSTM-CRF for named entities (Peters et al. 2018, appendix; Lample et al. 2016, Ma and Hovy 2016).

[words; character CNN; ELMo] -> two biLSTM layers, variational dropout before each -> CRF over BIOUL tags, decoded under
hard constraints.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from elmo_bench.encoders.embedder import Embedder
from elmo_bench.nn.dropout import VariationalDropout
from elmo_bench.nn.recurrent import BiLstm
from elmo_bench.tasks.ner.crf import ConstrainedCrf
from elmo_bench.text.batch import Indexer
from elmo_bench.text.sentence import TaggedSentence
from elmo_bench.text.tags import allowed_transitions, bio_to_bioul, bioul_to_bio


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
