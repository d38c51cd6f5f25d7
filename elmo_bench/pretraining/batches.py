"""Batches of whole sentences of one length, in an order that follows from the seed and the number of the pass.

Shape letters: T steps, B sentences, W distinct words of a batch, C characters; the leading 2 is the direction.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from elmo_bench.pretraining.encode import END, START, Encoded
from elmo_bench.text.chars import PAD_CHARACTER

OUTSIDE = -1  # the target after a sentence's end


@dataclass(frozen=True)
class Batch:
    """Sentences, each alone from zero state: `<S> w1 … wn` forward, `</S> wn … w1` backward."""

    ids: np.ndarray  # int32 [W, C=50]: the characters of the distinct words
    lengths: np.ndarray  # int64 [W]: characters of each word before its padding; they never fall
    words: np.ndarray  # int64 [2, T, B]: rows of `ids`
    targets: np.ndarray  # int64 [2, T, B]: vocabulary ids, OUTSIDE after a sentence's end
    cells: int  # targets of one direction


class Batches:
    """Batches of at most `cells` targets over a text."""

    def __init__(self, text: Encoded, *, cells: int, seed: int = 0):
        self.text, self.cells, self.seed = text, cells, seed
        self.sizes = np.diff(text.starts) + 1  # targets of each sentence
        self.seen = np.zeros(len(text.targets), bool)
        self.place = np.zeros(len(text.targets), np.int64)

    def plan(self, number: int) -> list[np.ndarray]:
        """The sentences of every batch of a pass: similar lengths, at most `cells` targets, at least one sentence."""
        rng = np.random.default_rng([self.seed, number])
        order = rng.permutation(len(self.sizes))
        order = order[np.argsort(self.sizes[order], kind="stable")]
        sizes, parts, start = self.sizes[order], [], 0
        while start < len(order):
            count = max(1, self.cells // int(sizes[start]))
            longest = int(sizes[min(start + count, len(order)) - 1])
            stop = start + max(1, min(count, self.cells // longest))
            parts.append(order[start:stop])
            start = stop
        return [parts[place] for place in rng.permutation(len(parts))]

    def batch(self, sentences: Sequence[int] | np.ndarray) -> Batch:
        """The batch of these sentences."""
        tokens, sizes, starts = self.text.tokens, self.sizes[sentences], self.text.starts[:-1][sentences]
        longest = int(sizes.max())
        steps = np.arange(longest + 1)[:, None]  # places in `<S> w1 … wn </S>`
        inside = np.clip(starts + steps - 1, 0, len(tokens) - 1)
        ahead = np.where(steps == 0, START, tokens[inside])  # (T+1)B
        ahead = np.where(steps >= sizes, END, ahead)
        back = np.take_along_axis(ahead, np.clip(sizes - steps, 0, None), axis=0)
        rows = np.stack([ahead, back])  # 2(T+1)B
        self.seen[rows[0]] = True
        distinct = np.flatnonzero(self.seen)
        self.seen[distinct] = False
        self.place[distinct] = np.arange(len(distinct))
        targets = np.where(steps[1:] <= sizes, self.text.targets[rows[:, 1:]], OUTSIDE)
        ids = self.text.characters[distinct].astype(np.int32)
        return Batch(
            ids=ids,
            lengths=(ids != PAD_CHARACTER).sum(axis=1),
            words=self.place[rows[:, :-1]],
            targets=targets.astype(np.int64),
            cells=int(sizes.sum()),
        )
