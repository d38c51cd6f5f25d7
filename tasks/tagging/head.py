"""NER's head, the BiLSTM-CRF, for spans and for plain tags."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from elmo_bench.encoders.embedder import Embedder
from elmo_bench.tasks.ner.head import ConstrainedCrf
from elmo_bench.tasks.ner.head import Head as BiLstmCrf
from elmo_bench.text.batch import Indexer
from elmo_bench.text.tags import TaggedSentence


class Head(BiLstmCrf):
    """`tasks/ner/head.py`. Plain tags, which are no BIOUL, may follow each other in any order."""

    def __init__(self, embedder: Embedder, *, labels: Sequence[str], **numbers: Any):
        self.plain = labels[:1] != ["O"] or not all(label == "O" or label[1:2] == "-" for label in labels)
        if not self.plain:
            super().__init__(embedder, labels=labels, **numbers)
            return
        super().__init__(embedder, labels=["O"], **numbers)
        self.labels = list(labels)
        self.scores = nn.Linear(self.scores.in_features, len(labels))
        every = np.ones(len(labels), dtype=bool)
        self.crf = ConstrainedCrf(every, np.ones((len(labels), len(labels)), dtype=bool), every)

    def collate(self, examples: Sequence[TaggedSentence], index: Indexer) -> dict[str, Any]:
        """Tensors of a batch: {"text": TextBatch, "tags": int64 [B, T]}."""
        if not self.plain:
            return super().collate(examples, index)
        number = {label: place for place, label in enumerate(self.labels)}
        tags = [torch.tensor([number.get(tag, 0) for tag in example.tags]) for example in examples]
        padded = nn.utils.rnn.pad_sequence(tags, batch_first=True)
        return {"text": index([example.tokens for example in examples]), "tags": padded}

    def predict(self, batch: dict[str, Any]) -> list[list[str]]:
        """BIO tags of each sentence, or plain tags."""
        if not self.plain:
            return super().predict(batch)
        return [[self.labels[place] for place in path] for path in self.crf.best_tags(self(batch), batch["text"].mask)]
