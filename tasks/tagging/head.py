"""NER's head, the BiLSTM-CRF, for spans and for plain tags."""

from collections.abc import Sequence
from typing import Any

from elmo_bench.tasks.ner.head import Head as BiLstmCrf
from elmo_bench.text.batch import Indexer
from elmo_bench.text.tags import TaggedSentence, scheme_of


class Head(BiLstmCrf):
    """`tasks/ner/head.py`. A plain tag is a span of one token, which any other may follow; no label is O then."""

    def collate(self, examples: Sequence[TaggedSentence], index: Indexer) -> dict[str, Any]:
        """Tensors of a batch: {"text": TextBatch, "tags": int64 [B, T]}; 0 for tags that are unknown or no labels."""
        return super().collate([TaggedSentence(each.tokens, self._spans(each)) for each in examples], index)

    def predict(self, batch: dict[str, Any]) -> list[list[str]]:
        """BIO tags of each sentence, or plain tags."""
        predicted = super().predict(batch)
        return predicted if "O" in self.labels else [[tag.removeprefix("B-") for tag in tags] for tags in predicted]

    def _spans(self, example: TaggedSentence) -> tuple[str, ...]:
        if "O" not in self.labels and example.tags:
            return tuple(f"B-{tag}" for tag in example.tags)
        return example.tags if scheme_of([example.tags]) in ("BIO", "IOB1") else ("O",) * len(example.tokens)
