"""Cutting sentences into windows of truncated back-propagation, the way bilm-tf lays them out.

A row is `<S> w1 … wn` after `<S> w1 … wn`, its targets `w1 … wn </S>`; a backward row holds sentences reversed
(`</S> wn … w1`, targets `wn … w1 <S>`). So a row never predicts `<S>` from `</S>`, and a sentence of n words takes n+1
cells.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from elmo_bench.pretraining.vocabulary import MARKERS, UNKNOWN, TargetVocabulary
from elmo_bench.text.chars import WORD_LENGTH, word_ids, words_ids
from elmo_bench.text.tokenisers import Tokeniser

START, END = 0, 1  # numbers of the sentence markers
REMEMBERED = 2**18  # words outside the vocabulary; 60 MB with their characters
Position = dict[str, Any]  # dicts, lists, strings and integers alone, so that torch.load(weights_only=True) reads it


@dataclass(frozen=True)
class Batch:
    """One truncated-BPTT window; axis 0 of `words`, `targets` and `keep` is the direction (forward, backward)."""

    ids: np.ndarray  # int64 [N, C=50]: the characters of the window's distinct words
    words: np.ndarray  # int64 [2, T, B]: rows of `ids`
    targets: np.ndarray  # int64 [2, T, B]: vocabulary ids
    keep: np.ndarray  # float32 [2, T, B]: 0 where a sentence starts
    tokens: int  # cells of one direction, T x B
    position: Position  # of the stream behind this window


class Lexicon(dict[str, int]):
    """Words as numbers: the ids of the vocabulary, then words outside it in the order in which they come."""

    def __init__(self, vocabulary: TargetVocabulary):
        super().__init__(zip(vocabulary.words, range(len(vocabulary)), strict=True))
        self.known = len(vocabulary)
        self.characters = np.zeros((self.known + REMEMBERED, WORD_LENGTH), np.uint16)
        for start in range(0, self.known, 4096):  # a chunk at a time: words_ids makes int64
            chunk = vocabulary.words[start : start + 4096]
            self.characters[start : start + len(chunk)] = words_ids(chunk)
        self.place = np.zeros(len(self.characters), np.int64)

    def __missing__(self, word: str) -> int:
        number = len(self)
        if number == len(self.characters):
            self.characters = np.concatenate([self.characters, np.zeros_like(self.characters)])
            self.place = np.concatenate([self.place, np.zeros_like(self.place)])
        self.characters[number] = word_ids(word)
        self[word] = number
        return number

    @property
    def full(self) -> bool:
        return len(self) >= self.known + REMEMBERED

    def forget(self) -> None:
        """Drop the words outside the vocabulary; numbers that were given for them mean nothing from here on."""
        for word in list(self)[self.known :]:
            del self[word]

    def spell(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """An array of numbers -> the characters int64 [N, C] of the distinct ones, and each one's row in them."""
        flat = numbers.ravel()
        order = np.arange(len(flat))
        self.place[flat] = order
        distinct = flat[self.place[flat] == order]  # each number where it stands last
        self.place[distinct] = np.arange(len(distinct))
        return self.characters[distinct].astype(np.int64), self.place[numbers]

    def targets(self, numbers: np.ndarray) -> np.ndarray:
        """int64 vocabulary ids of numbers."""
        return np.where(numbers < self.known, numbers, MARKERS.index(UNKNOWN)).astype(np.int64)


class Rows:
    """B rows over one reader's lines, for one direction or for both at once.

    `lines` and `cells` are the sentence that each row is in, and how many of its cells are behind.
    """

    def __init__(
        self,
        source: Iterable[str],
        tokenise: Tokeniser,
        lexicon: Lexicon,
        *,
        directions: tuple[int, ...],
        lines: Sequence[str],
        cells: Sequence[int],
    ):
        self.source, self.tokenise, self.lexicon, self.directions = iter(source), tokenise, lexicon, directions
        self.lines, self.cells = list(lines), list(cells)
        self.numbers: list[np.ndarray] = []
        self.encode_again()

    def encode_again(self) -> None:
        """After the lexicon forgot."""
        self.numbers = [self._encode(line) for line in self.lines]

    def _encode(self, line: str) -> np.ndarray:
        """int64 [D, n+2]: the words of a sentence between its markers, in each direction; [D, 1] of no words."""
        tokens = self.tokenise(line)
        if not tokens:
            return np.full((len(self.directions), 1), START)
        ahead = [START, *map(self.lexicon.__getitem__, tokens), END]
        return np.array([ahead[::-1] if direction else ahead for direction in self.directions])

    def fill(self, words: np.ndarray, targets: np.ndarray, keep: np.ndarray) -> None:
        """The next window of this reader's directions, numbers [D, B, T] and keep [D, B, T], written in place."""
        for row in range(words.shape[1]):
            t = 0
            while t < words.shape[2]:
                numbers, cells = self.numbers[row], self.cells[row]
                count = min(words.shape[2] - t, numbers.shape[1] - 1 - cells)
                if not count:
                    self.lines[row], self.cells[row] = next(self.source), 0
                    self.numbers[row] = self._encode(self.lines[row])
                    continue
                words[:, row, t : t + count] = numbers[:, cells : cells + count]
                targets[:, row, t : t + count] = numbers[:, cells + 1 : cells + count + 1]
                keep[:, row, t] = cells > 0
                t, self.cells[row] = t + count, cells + count
