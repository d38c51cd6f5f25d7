"""Batches of whole sentences of an encoded text.

Shape letters: W distinct words, C characters, T steps, B sentences of a batch; a
leading 2 is the direction.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from elmo_bench.pretraining.encode import END, START, Encoded
from elmo_bench.text.chars import PAD_CHARACTER

OUTSIDE = -1  # the target after a sentence's end


@dataclass(frozen=True)
class Batch:
    """Sentences, each alone from zero state.

    `<S> w1 … wn` forward, `</S> wn … w1` backward.
    """

    ids: np.ndarray  # int32 [W, C=50]: the characters of the distinct words
    # int64 [W]: characters of each word before its padding; they never fall.
    lengths: np.ndarray
    words: np.ndarray  # int64 [2, T, B]: rows of `ids`
    targets: np.ndarray  # int64 [2, T, B]: vocabulary ids, OUTSIDE after a sentence
    cells: int  # targets of one direction


class Batches:
    """Batches of at most `cells` targets over a text.

    Their order follows from the seed and the pass.
    """

    def __init__(self, text: Encoded, *, cells: int, seed: int = 0):
        self.text = text
        self.cells = cells
        self.seed = seed
        self.sizes = np.diff(text.starts) + 1  # targets of each sentence

    def plan(self, number: int) -> list[np.ndarray]:
        """The sentences of every batch of a pass.

        They have similar lengths, at most `cells` targets, and are at least one.
        """
        rng = np.random.default_rng([self.seed, number])
        order = rng.permutation(len(self.sizes))
        order = order[np.argsort(self.sizes[order], kind="stable")]
        sizes = self.sizes[order]
        parts = []
        start = 0
        while start < len(order):
            count = max(1, self.cells // int(sizes[start]))
            last = min(start + count, len(order)) - 1
            longest = int(sizes[last])
            count = min(count, self.cells // longest)
            stop = start + max(1, count)
            parts.append(order[start:stop])
            start = stop
        return [parts[place] for place in rng.permutation(len(parts))]

    def batch(self, sentences: Sequence[int] | np.ndarray) -> Batch:
        """These sentences, by their numbers."""
        sizes = self.sizes[sentences]
        rows = self._words(sentences, sizes)  # 2(T+1)B
        distinct, places = np.unique(rows, return_inverse=True)
        ids = self.text.characters[distinct].astype(np.int32)
        after = np.arange(1, rows.shape[1])[:, None]
        targets = self.text.targets[rows[:, 1:]]
        targets = np.where(after <= sizes, targets, OUTSIDE)
        return Batch(
            ids=ids,
            lengths=(ids != PAD_CHARACTER).sum(axis=1),
            words=places.reshape(rows.shape)[:, :-1],
            targets=targets.astype(np.int64),
            cells=int(sizes.sum()),
        )

    def _words(
        self, sentences: Sequence[int] | np.ndarray, sizes: np.ndarray
    ) -> np.ndarray:
        """The words of the text in either direction: int32 [2, T + 1, B]."""
        tokens = self.text.tokens
        starts = self.text.starts[:-1][sentences]
        steps = np.arange(int(sizes.max()) + 1)[:, None]  # places in `<S> w1 … wn </S>`
        inside = np.clip(starts + steps - 1, 0, len(tokens) - 1)
        forward = np.where(steps == 0, START, tokens[inside])  # (T+1)B
        forward = np.where(steps >= sizes, END, forward)
        mirror = np.clip(sizes - steps, 0, None)
        backward = np.take_along_axis(forward, mirror, axis=0)
        return np.stack([forward, backward])
