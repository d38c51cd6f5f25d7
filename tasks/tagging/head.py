"""NER's head, the BiLSTM-CRF, for spans and for plain tags."""

from collections.abc import Sequence
from typing import Any

from elmo_bench.tasks.ner.head import Head as BiLstmCrf
from elmo_bench.tasks.tagging.data import Sentence
from elmo_bench.tasks.tagging.names import probabilities_of
from elmo_bench.text.batch import Indexer
from elmo_bench.text.schemes import SINGLE
from elmo_bench.text.tags import TaggedSentence


class Head(BiLstmCrf):
    """`tasks/ner/head.py`, also for plain tags.

    A plain tag is a span of one token, which any other may follow; no label is O then.
    """

    @property
    def plain(self) -> bool:
        """Whether the labels are plain tags."""
        return "O" not in self.labels

    def collate(self, examples: Sequence[Any], index: Indexer) -> dict[str, Any]:
        """Tensors of a batch: {"text": TextBatch, "tags": int64 [B, T]}.

        examples: of the class Sentence. 0 for tags that are unknown or no labels.
        """
        tagged = [
            TaggedSentence(example.tokens, self._spans(example)) for example in examples
        ]
        return super().collate(tagged, index)

    def predict(self, batch: dict[str, Any]) -> list[list[str]]:
        """BIO tags of each sentence, or plain tags with SINGLE before them."""
        predicted = super().predict(batch)
        if not self.plain:
            return predicted
        return [[SINGLE + tag.removeprefix("B-") for tag in tags] for tags in predicted]

    def probabilities(self, batch: dict[str, Any]) -> list[list[dict[str, float]]]:
        """{tag: its probability} of each token of each sentence.

        Marginals over all sequences of tags that `predict` chooses from.
        """
        text = batch["text"]
        marginals = self.crf.marginals(self(batch), text.mask)
        pairs = zip(marginals, text.lengths.tolist(), strict=True)
        return [probabilities_of(row[:length], self.labels) for row, length in pairs]

    def _spans(self, example: Sentence) -> tuple[str, ...]:
        """The tags as BIO.

        O where they are of the other kind than the labels, as in new text.
        """
        if not example.tags or example.plain != self.plain:
            return ("O",) * len(example.tokens)
        if self.plain:
            return tuple(f"B-{tag}" for tag in example.tags)
        return example.tags
