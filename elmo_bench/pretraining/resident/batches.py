"""Batches of whole sentences of one length, in an order that follows from the seed and the number of the pass.

Shape letters: T steps, B sentences, W distinct words of a batch; the leading 2 is the direction.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from elmo_bench.pretraining.resident.encode import END, START

OUTSIDE = -1  # the target after a sentence's end


@dataclass(frozen=True)
class Batch:
    """Sentences, each alone from zero state: `<S> w1 … wn` forward, `</S> wn … w1` backward."""

    distinct: np.ndarray  # int64 [W]: numbers of words, rising
    words: np.ndarray  # int64 [2, T, B]: rows of `distinct`
    targets: np.ndarray  # int64 [2, T, B]: vocabulary ids, OUTSIDE after a sentence's end
    cells: int  # targets of one direction


class Batches:
    """Batches over sentences; `targets` [W] maps a word's number to its id in the vocabulary."""

    def __init__(self, tokens: np.ndarray, starts: np.ndarray, targets: np.ndarray, *, cells: int, seed: int):
        self.tokens, self.starts, self.targets, self.cells, self.seed = tokens, starts, targets, cells, seed
        self.sizes = np.diff(starts) + 1  # targets of each sentence
        self.seen = np.zeros(len(targets), bool)
        self.place = np.zeros(len(targets), np.int64)

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
        sizes, starts = self.sizes[sentences], self.starts[:-1][sentences]
        longest = int(sizes.max())
        steps = np.arange(longest + 1)[:, None]  # places in `<S> w1 … wn </S>`
        inside = np.clip(starts + steps - 1, 0, len(self.tokens) - 1)
        ahead = np.where(steps == 0, START, self.tokens[inside])  # (T+1)B
        ahead = np.where(steps >= sizes, END, ahead)
        back = np.take_along_axis(ahead, np.clip(sizes - steps, 0, None), axis=0)
        rows = np.stack([ahead, back])  # 2(T+1)B
        self.seen[rows[0]] = True
        distinct = np.flatnonzero(self.seen)
        self.seen[distinct] = False
        self.place[distinct] = np.arange(len(distinct))
        targets = np.where(steps[1:] <= sizes, self.targets[rows[:, 1:]], OUTSIDE)
        return Batch(distinct, self.place[rows[:, :-1]], targets.astype(np.int64), int(sizes.sum()))
