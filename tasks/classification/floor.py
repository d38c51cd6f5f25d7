"""A floor without vectors: TF-IDF of n-grams, and logistic regression."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import nn

from elmo_bench.encoders.embedder import Embedder
from elmo_bench.nn.layers import label_probabilities
from elmo_bench.nn.logistic import Fit, LogisticLayer
from elmo_bench.nn.tfidf import TfIdf, character_counter, terms_of, token_counter
from elmo_bench.text.batch import Indexer, Text
from elmo_bench.text.own_data import places


class Head(nn.Module):
    """TF-IDF of n-grams of tokens and of n-grams of characters.

    words: tokens of the longest n-gram. characters: of the shortest and the longest
    n-gram. terms, spellings: the n-grams of tokens and of characters that `least` or
    more training texts have, at most `most` of each, the most frequent. c, factor: see
    `LogisticLayer.fits`.
    """

    vectors = 1  # as wide as a text's, that the scores are computed from

    def __init__(
        self,
        embedder: Embedder,
        *,
        labels: Sequence[str],
        terms: Sequence[str],
        spellings: Sequence[str],
        words: int,
        characters: Sequence[int],
        least: int,
        most: int,
        c: float,
        factor: float,
    ):
        super().__init__()
        self.embedder = embedder
        self.labels = list(labels)
        self.c = c
        self.factor = factor
        self.terms = TfIdf(token_counter(words), terms)
        self.spellings = TfIdf(character_counter(characters), spellings)
        width = self.terms.dim + self.spellings.dim
        self.logistic = LogisticLayer(self.vectors * width, len(self.labels))

    @staticmethod
    def vocabulary(
        train: Sequence[Any],
        *,
        words: int,
        characters: Sequence[int],
        least: int,
        most: int,
        **_: Any,
    ) -> dict[str, Any]:
        """{"terms", "spellings"} of the training examples."""
        texts = _texts(train)
        which = {"min_df": least, "max_features": most}
        return {
            "terms": terms_of(texts, token_counter(words, **which)),
            "spellings": terms_of(texts, character_counter(characters, **which)),
        }

    def fits(self, train: Sequence[Any], times: int) -> Iterator[Fit]:
        """Fit so many times, to each C once."""
        texts = _texts(train)
        self.terms.fit(texts)
        self.spellings.fit(texts)
        labels = np.array(places(train, self.labels))
        yield from self.logistic.fits(
            self.features(train), labels, c=self.c, factor=self.factor, times=times
        )

    def features(self, examples: Sequence[Any]) -> Any:
        """scipy's csr [N, F] of N examples."""
        sides = []
        for side in range(len(examples[0].texts)):
            texts = [example.texts[side] for example in examples]
            vectors = [self.terms(texts), self.spellings(texts)]
            sides.append(sparse.hstack(vectors, format="csr"))
        return self.joined(sides)

    def joined(self, sides: Sequence[Any]) -> Any:
        """The features of examples [N, F] from the vectors of each of their texts."""
        return sides[0]

    def collate(self, examples: Sequence[Any], index: Indexer) -> dict[str, Any]:
        """A batch: {"features": csr [B, F]}."""
        return {"features": self.features(examples)}

    def predict(self, batch: dict[str, Any]) -> list[str]:
        """The label of each example."""
        return [self.labels[place] for place in self.logistic.best(batch["features"])]

    def probabilities(self, batch: dict[str, Any]) -> list[dict[str, float]]:
        """The probability of each label, for each example."""
        scores = torch.from_numpy(self.logistic.scores(batch["features"]))
        return label_probabilities(scores, self.labels)


def _texts(examples: Sequence[Any]) -> list[Text]:
    return [text for example in examples for text in example.texts]
