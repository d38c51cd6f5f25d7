"""A floor without vectors: logistic regression over a token, its spelling and its neighbours."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from torch import nn

from elmo_bench.encoders.embedder import Embedder
from elmo_bench.nn.logistic import Fit, LogisticLayer
from elmo_bench.tasks.tagging.data import Sentence
from elmo_bench.tasks.tagging.names import names_of, numbers_of, tags_of
from elmo_bench.text.batch import Indexer, Text

AFFIXES = (1, 2, 3, 4)  # characters of the beginnings and endings of a token
AROUND = (-2, -1, 1, 2)  # places of the neighbours, counted from the token


class Head(nn.Module):
    """features: of training tokens, which occur `least` times or more; at most `most`, the most frequent.

    c, factor: see `LogisticLayer.fits`.
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
        super().__init__()
        self.embedder, self.names, self.c, self.factor = embedder, names_of(labels), c, factor
        self.columns = {feature: column for column, feature in enumerate(features)}
        self.logistic = LogisticLayer(len(self.columns), len(self.names))

    @staticmethod
    def vocabulary(train: Sequence[Sentence], *, least: int, most: int, **_: Any) -> dict[str, Any]:
        """{"features"} of the training sentences."""
        counts: Counter[str] = Counter()
        for sentence in train:
            for features in features_of(sentence.tokens):
                counts.update(features)
        frequent = sorted((name for name in counts if counts[name] >= least), key=lambda name: (-counts[name], name))
        return {"features": frequent[:most]}

    def fits(self, train: Sequence[Sentence], times: int) -> Iterator[Fit]:
        """Fit so many times, to each C once."""
        tags = np.array([number for sentence in train for number in numbers_of(sentence, self.names)])
        rows = self.rows([sentence.tokens for sentence in train])
        yield from self.logistic.fits(rows, tags, c=self.c, factor=self.factor, times=times)

    def rows(self, texts: Sequence[Text]) -> Any:
        """scipy's csr [N, F] of the N tokens of all texts: 1 for each feature that a token has."""
        columns: list[int] = []
        ends = [0]
        for text in texts:
            for features in features_of(text):
                columns += [self.columns[name] for name in features if name in self.columns]
                ends.append(len(columns))
        shape = (len(ends) - 1, len(self.columns))
        return sparse.csr_array((np.ones(len(columns)), columns, ends), shape=shape)

    def collate(self, examples: Sequence[Sentence], index: Indexer) -> dict[str, Any]:
        """A batch: {"features": csr [N, F] of the tokens of all sentences, "lengths": of each sentence}."""
        texts = [example.tokens for example in examples]
        return {"features": self.rows(texts), "lengths": [*map(len, texts)]}

    def predict(self, batch: dict[str, Any]) -> list[list[str]]:
        """BIO tags of each sentence, or plain tags with SINGLE before them."""
        best = iter(self.logistic.best(batch["features"]))
        return [tags_of([next(best) for _ in range(length)], self.names) for length in batch["lengths"]]


def features_of(tokens: Text) -> list[list[str]]:
    """The features of each token of a sentence, each once."""
    lower = [token.lower() for token in tokens]
    shapes = [shape_of(token) for token in tokens]
    every = []
    for place, token in enumerate(tokens):
        features = [f"token {token}", f"lower {lower[place]}", f"shape {shapes[place]}"]
        features += [f"starts {lower[place][:length]}" for length in AFFIXES if length < len(token)]
        features += [f"ends {lower[place][-length:]}" for length in AFFIXES if length < len(token)]
        for step in AROUND:
            neighbour = place + step
            is_inside = 0 <= neighbour < len(tokens)
            features.append(f"{step:+} {lower[neighbour] if is_inside else ''}")
            if is_inside and abs(step) == 1:
                features.append(f"{step:+} shape {shapes[neighbour]}")
        every.append(features)
    return every


def shape_of(token: str) -> str:
    """`Xx` of "Ada", `X` of "USA", `d-d` of "10-12": the kinds of its characters, repetitions left out."""
    shape = ""
    for character in token:
        kind = character
        if character.isdigit():
            kind = "d"
        elif character.isalpha():
            kind = "X" if character.isupper() else "x"
        if not shape.endswith(kind):
            shape += kind
    return shape
