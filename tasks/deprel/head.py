"""A linear softmax on the frozen vectors of a word and its head, which shows what a layer knows of syntax.

Source: the labels of arcs in Liu et al. (2019), Linguistic knowledge and transferability of contextual representations,
with a linear model; the product of the two vectors is left out.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from elmo_bench.encoders.embedder import Embedder
from elmo_bench.nn.layers import LinearProbe
from elmo_bench.tasks.deprel.data import Sentence
from elmo_bench.text.batch import Indexer


class Head(nn.Module):
    """Relation scores of each word separately, given its true head. The head of a root is a vector of zeros.

    There is no biRNN, so both places of ELMo are the input.
    """

    def __init__(self, embedder: Embedder, *, labels: Sequence[str]):
        super().__init__()
        self.embedder, self.labels = embedder, list(labels)
        self.probe = LinearProbe(2 * (embedder.dim + embedder.output_dim), len(self.labels))

    def collate(self, examples: Sequence[Sentence], index: Indexer) -> dict[str, Any]:
        """Tensors of a batch: {"text": TextBatch, "heads": int64 [B, T] from 0, "relations": int64 [N] of its N words}.

        Position T of `heads` is the head of a root.
        """
        number = {label: place for place, label in enumerate(self.labels)}
        longest = max(len(example.tokens) for example in examples)
        heads = [torch.tensor([longest if head < 0 else head for head in example.heads]) for example in examples]
        # A relation not seen in training has no label; only dev and test have it, where no loss is computed.
        relations = torch.tensor([number.get(relation, 0) for example in examples for relation in example.relations])
        return {
            "text": index([example.tokens for example in examples]),
            "heads": pad_sequence(heads, batch_first=True),
            "relations": relations,
        }

    def forward(self, batch: dict[str, Any]) -> Tensor:
        """Relation scores [N, K] of the words of all sentences."""
        text = batch["text"]
        x = torch.cat([self.embedder(text), self.embedder.output(text)], dim=2)  # BTD
        heads = batch["heads"][:, :, None].expand(-1, -1, x.shape[2])  # BTD
        x_head = functional.pad(x, (0, 0, 0, 1)).gather(1, heads)  # BTD
        return self.probe(torch.cat([x, x_head], dim=2)[text.mask])

    def loss(self, batch: dict[str, Any]) -> Tensor:
        """Cross-entropy, mean over the words."""
        return functional.cross_entropy(self(batch).float(), batch["relations"])

    def predict(self, batch: dict[str, Any]) -> list[list[str]]:
        """The relations of each sentence."""
        best = self(batch).argmax(dim=1).split(batch["text"].lengths.tolist())
        return [[self.labels[place] for place in sentence.tolist()] for sentence in best]
