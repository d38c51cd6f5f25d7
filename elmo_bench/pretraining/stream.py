"""Windows without end over a corpus in random order, which go on from any of their positions."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from elmo_bench.base.errors import UserError
from elmo_bench.pretraining.corpus import Corpus
from elmo_bench.pretraining.shuffle import BUFFER, Reader
from elmo_bench.pretraining.vocabulary import TargetVocabulary
from elmo_bench.pretraining.windows import Batch, Lexicon, Position, Rows
from elmo_bench.text.tokenisers import tokeniser


class Stream:
    """An iterable of windows [T=steps, B=rows]; each row goes on where it stopped in the window before.

    `shared`: both directions hold the same sentences, so that a window's words are encoded once (differs). Otherwise
    two readers shuffle the same files independently, as bilm-tf does (`bilm/data.py`).

    Passes follow each other for ever, each with every sentence once, in an order that follows from `seed` and the
    number of the pass. Of the sentences in that order every `world`-th goes to this process. At most `buffer` lines,
    and a few, are in memory (twice as many where not `shared`).

    With `position=batch.position` exactly the windows come that would have followed that batch; the pass is read up to
    there again, without tokenising. A position is good for the same files, rows, seed and processes; UserError
    otherwise. Each iteration starts at `position`; several workers of a DataLoader would all give the same windows.
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
                    f"{name} was {before} and is {now}: the place in the text is lost; go on with the same corpus and "
                    "settings, or start anew"
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
