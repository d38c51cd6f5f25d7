"""A floor without vectors: TF-IDF of n-grams, and logistic regression."""

from collections.abc import Sequence
from typing import Any

import torch
from scipy import sparse

from elmo_bench.encoders.embedder import Embedder
from elmo_bench.nn.layers import label_probabilities
from elmo_bench.nn.logistic import LogisticHead
from elmo_bench.nn.tfidf import TfIdf, character_counter, terms_of, token_counter
from elmo_bench.text.batch import Indexer, Text
from elmo_bench.text.labelled import label_numbers


class Head(LogisticHead):
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
        of_terms = TfIdf(token_counter(words), terms)
        of_spellings = TfIdf(character_counter(characters), spellings)
        width = of_terms.dim + of_spellings.dim
        super().__init__(
            embedder,
            features=self.vectors * width,
            classes=len(labels),
            c=c,
            factor=factor,
        )
        self.labels = list(labels)
        self.terms = of_terms
        self.spellings = of_spellings

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

    def items(self, train: Sequence[Any]) -> tuple[Any, list[int]]:
        """The features of the training examples and their labels.

        Learns the inverse document frequencies of these.
        """
        texts = _texts(train)
        self.terms.fit(texts)
        self.spellings.fit(texts)
        return self.features(train), label_numbers(train, self.labels)

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
