"""Windows of truncated back-propagation over a corpus in random order, laid out as in bilm-tf.

A row is `<S> w1 … wn` after `<S> w1 … wn`, its targets `w1 … wn </S>`; a backward row holds sentences reversed
(`</S> wn … w1`, targets `wn … w1 <S>`). So a row never predicts `<S>` from `</S>`, and a sentence of n words takes n+1
cells.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from elmo_bench.base.errors import UserError
from elmo_bench.pretraining.corpus import Corpus
from elmo_bench.pretraining.shuffle import BUFFER, Reader
from elmo_bench.pretraining.vocabulary import MARKERS, UNKNOWN, TargetVocabulary
from elmo_bench.text.chars import WORD_LENGTH, words_ids
from elmo_bench.text.tokenisers import Tokeniser, tokeniser

START, END = 0, 1  # numbers of the sentence markers
REMEMBERED = 2**18  # words outside the vocabulary; 60 MB with their characters
Position = dict[str, Any]  # plain data only, as a checkpoint may hold


@dataclass(frozen=True)
class Batch:
    """One truncated-BPTT window; axis 0 of `words`, `targets` and `keep` is the direction (forward, backward)."""

    ids: np.ndarray  # int64 [N, C=50]: the characters of the window's distinct words
    words: np.ndarray  # int64 [2, T, B]: rows of `ids`
    targets: np.ndarray  # int64 [2, T, B]: vocabulary ids
    keep: np.ndarray  # float32 [2, T, B]: 0 where a sentence starts
    tokens: int  # cells of one direction, T x B
    position: Position  # of the stream after this window


class Lexicon(dict[str, int]):
    """Words as numbers: the ids of the vocabulary, then words outside it in order of appearance."""

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
        self.characters[number] = words_ids([word])[0]
        self[word] = number
        return number

    @property
    def full(self) -> bool:
        return len(self) >= self.known + REMEMBERED

    def forget(self) -> None:
        """Drop the words outside the vocabulary. Their numbers are invalid from here on."""
        for word in list(self)[self.known :]:
            del self[word]

    def spell(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """An array of numbers -> the characters int64 [N, C] of the distinct numbers, and the row of each number."""
        flat = numbers.ravel()
        order = np.arange(len(flat))
        self.place[flat] = order
        distinct = flat[self.place[flat] == order]  # the last occurrence of each number
        self.place[distinct] = np.arange(len(distinct))
        return self.characters[distinct].astype(np.int64), self.place[numbers]

    def targets(self, numbers: np.ndarray) -> np.ndarray:
        """int64 vocabulary ids of numbers."""
        return np.where(numbers < self.known, numbers, MARKERS.index(UNKNOWN)).astype(np.int64)


class Rows:
    """B rows over the lines of one reader, for one direction or both.

    `lines` and `cells` are the current sentence of each row, and how many of its cells have been read.
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
        """Number the current sentences again, after `Lexicon.forget`."""
        self.numbers = [self._encode(line) for line in self.lines]

    def _encode(self, line: str) -> np.ndarray:
        """int64 [D, n+2]: a sentence between its markers, in each direction; [D, 1] if it has no words."""
        tokens = self.tokenise(line)
        if not tokens:
            return np.full((len(self.directions), 1), START)
        ahead = [START, *map(self.lexicon.__getitem__, tokens), END]
        return np.array([ahead[::-1] if direction else ahead for direction in self.directions])

    def fill(self, words: np.ndarray, targets: np.ndarray, keep: np.ndarray) -> None:
        """Write the next window of this reader's directions: numbers [D, B, T] and keep [D, B, T]."""
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


class Stream:
    """An endless iterable of windows [T=steps, B=rows] over a corpus in random order. Rows continue across windows.

    With `shared`, both directions read the same sentences, so that a window's words are encoded once (differs from
    bilm-tf, where two readers shuffle the files independently: `bilm/data.py`).

    Each pass has every sentence once, in an order that depends on `seed` and the number of the pass. Every `world`-th
    sentence goes to this process. Slightly more than `buffer` lines are in memory (twice as many without `shared`).

    With `position=batch.position` the iterable gives the windows after that batch; it reads the pass again up to there,
    without tokenising. Raises UserError if files, rows, seed or processes differ. Each iteration starts at `position`,
    so several workers of a DataLoader would give the same windows.
    """

    def __init__(
        self,
        corpus: Corpus,
        vocabulary: TargetVocabulary,
        *,
        rows: int,
        steps: int,
        seed: int,
        shared: bool,
        rank: int = 0,
        world: int = 1,
        position: Position | None = None,
        buffer: int = BUFFER,
    ):
        self.corpus, self.vocabulary, self.rows, self.steps = corpus, vocabulary, rows, steps
        self.settings: dict[str, Any] = {
            "files": [f"{file.name}, {_size(file)} bytes" for file in corpus.files],
            "tokenizer": corpus.tokenizer,
            "rows": rows,
            "seed": seed,
            "shared": int(shared),
            "rank": rank,
            "world": world,
            "buffer": buffer,
        }
        self.position = position or self._start()
        for name, now in self.settings.items():
            if (before := self.position["settings"].get(name)) != now:
                raise UserError(
                    f"{name} was {before} and is {now}: the place in the text is lost. Resume with the same corpus "
                    "and settings, or give another out=."
                )

    def __iter__(self) -> Iterator[Batch]:
        settings = self.settings
        lexicon, tokenise = Lexicon(self.vocabulary), tokeniser(self.corpus.tokenizer)
        shares = [(0, 1)] if settings["shared"] else [(0,), (1,)]
        readers = [
            Reader(
                self.corpus,
                seed=f"{settings['seed']} {directions[0]}",
                buffer=settings["buffer"],
                rank=settings["rank"],
                world=settings["world"],
                number=place["pass"],
                drawn=place["drawn"],
            )
            for directions, place in zip(shares, self.position["readers"], strict=True)
        ]
        sides = [
            Rows(reader, tokenise, lexicon, directions=directions, lines=place["lines"], cells=place["cells"])
            for reader, directions, place in zip(readers, shares, self.position["readers"], strict=True)
        ]
        shape = (2, self.rows, self.steps)
        while True:
            if lexicon.full:
                lexicon.forget()
                for side in sides:
                    side.encode_again()
            arrays = np.empty(shape, np.int64), np.empty(shape, np.int64), np.ones(shape, np.float32)
            for side in sides:
                part = slice(side.directions[0], side.directions[-1] + 1)
                side.fill(*(array[part] for array in arrays))
            inputs, targets, keep = (np.ascontiguousarray(array.swapaxes(1, 2)) for array in arrays)
            ids, words = lexicon.spell(inputs)
            yield Batch(
                ids=ids,
                words=words,
                targets=lexicon.targets(targets),
                keep=keep,
                tokens=self.rows * self.steps,
                position={
                    "settings": settings,
                    "readers": [_place(*pair) for pair in zip(readers, sides, strict=True)],
                },
            )

    def _start(self) -> Position:
        nothing = {"pass": 0, "drawn": 0, "lines": [""] * self.rows, "cells": [0] * self.rows}
        return {"settings": self.settings, "readers": [nothing] * (1 if self.settings["shared"] else 2)}


def _place(reader: Reader, side: Rows) -> dict[str, Any]:
    return {"pass": reader.number, "drawn": reader.drawn, "lines": side.lines.copy(), "cells": side.cells.copy()}


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError as error:
        raise UserError(f"{file}: cannot be read ({error.strerror})") from None
