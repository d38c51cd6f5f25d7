"""A floor without vectors: logistic regression over a token's features."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from scipy import sparse

from elmo_bench.encoders.embedder import Embedder
from elmo_bench.nn.logistic import LogisticHead
from elmo_bench.tasks.tagging.data import Sentence
from elmo_bench.tasks.tagging.features import features_of
from elmo_bench.tasks.tagging.names import (
    names_of,
    numbers_of,
    probabilities_of,
    tags_of,
)
from elmo_bench.text.batch import Indexer, Text


class Head(LogisticHead):
    """Logistic regression over a token, its spelling and its neighbours.

    features: of training tokens, which occur `least` times or more; at most `most`, the
    most frequent. c, factor: see `LogisticLayer.fits`.
    """

    def __init__(
        self,
        embedder: Embedder,
        *,
        labels: Sequence[str],
        features: Sequence[str],
        least: int,
        most: int,
        c: float,
        factor: float,
    ):
        names = names_of(labels)
        columns = {feature: column for column, feature in enumerate(features)}
        super().__init__(
            embedder,
            features=len(columns),
            classes=len(names),
            c=c,
            factor=factor,
        )
        self.names = names
        self.columns = columns

    @staticmethod
    def vocabulary(
        train: Sequence[Sentence], *, least: int, most: int, **_: Any
    ) -> dict[str, Any]:
        """{"features"} of the training sentences."""
        counts: Counter[str] = Counter()
        for sentence in train:
            for features in features_of(sentence.tokens):
                counts.update(features)
        frequent = [name for name in counts if counts[name] >= least]
        frequent.sort(key=lambda name: (-counts[name], name))
        return {"features": frequent[:most]}

    def items(self, train: Sequence[Sentence]) -> tuple[Any, list[int]]:
        """The features of the tokens of the training sentences, and their tags."""
        tags: list[int] = []
        for sentence in train:
            tags += numbers_of(sentence, self.names)
        return self.rows([sentence.tokens for sentence in train]), tags

    def rows(self, texts: Sequence[Text]) -> Any:
        """scipy's csr [N, F] of the N tokens of all texts.

        1 for each feature that a token has.
        """
        columns: list[int] = []
        ends = [0]
        for text in texts:
            for features in features_of(text):
                places = (self.columns.get(name) for name in features)
                columns += [column for column in places if column is not None]
                ends.append(len(columns))
        shape = (len(ends) - 1, len(self.columns))
        return sparse.csr_array((np.ones(len(columns)), columns, ends), shape=shape)

    def collate(self, examples: Sequence[Sentence], index: Indexer) -> dict[str, Any]:
        """A batch: {"features": csr [N, F] of its N tokens, "lengths": B numbers}."""
        texts = [example.tokens for example in examples]
        return {"features": self.rows(texts), "lengths": [*map(len, texts)]}

    def predict(self, batch: dict[str, Any]) -> list[list[str]]:
        """BIO tags of each sentence, or plain tags with SINGLE before them."""
        best = self.logistic.best(batch["features"])
        predicted = []
        start = 0
        for length in batch["lengths"]:
            sentence = best[start : start + length]
            predicted.append(tags_of(sentence, self.names))
            start += length
        return predicted

    def probabilities(self, batch: dict[str, Any]) -> list[list[dict[str, float]]]:
        """{tag: its probability} of each token of each sentence."""
        scores = torch.from_numpy(self.logistic.scores(batch["features"]))
        sentences = scores.softmax(dim=1).split(batch["lengths"])
        return [probabilities_of(sentence, self.names) for sentence in sentences]
