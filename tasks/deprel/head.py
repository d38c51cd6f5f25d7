"""A linear softmax on the frozen vectors of a word and its head.

It shows what a layer knows of syntax. Source: the labels of arcs in Liu et al. (2019),
Linguistic knowledge and transferability of contextual representations, with a linear
model; the product of the two vectors is left out.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from elmo_bench.tasks.deprel.data import ROOT, Sentence
from elmo_bench.tasks.pos.head import Head as WordProbe
from elmo_bench.text.batch import Indexer


class Head(WordProbe):
    """`tasks/pos/head.py` for relations, given the true head of each word.

    The head of a root is a vector of zeros.
    """

    vectors = 2

    def collate(self, examples: Sequence[Sentence], index: Indexer) -> dict[str, Any]:
        """Tensors of a batch.

        {"text": TextBatch, "heads": int64 [B, T] from 0, "labels": int64 [N] of its N
        words}. Position T of `heads` is the head of a root.
        """
        longest = max(len(example.tokens) for example in examples)
        rows = []
        for example in examples:
            places = [longest if head == ROOT else head for head in example.heads]
            rows.append(torch.tensor(places))
        heads = pad_sequence(rows, batch_first=True)
        return super().collate(examples, index) | {"heads": heads}

    def forward(self, batch: dict[str, Any]) -> Tensor:
        """Relation scores [N, K] of the words of all sentences."""
        text = batch["text"]
        x = self.embedder.for_probe(text)  # BTD
        heads = batch["heads"][:, :, None].expand(-1, -1, x.shape[2])  # BTD
        x_head = functional.pad(x, (0, 0, 0, 1)).gather(1, heads)  # BTD
        return self.probe(torch.cat([x, x_head], dim=2)[text.mask])
