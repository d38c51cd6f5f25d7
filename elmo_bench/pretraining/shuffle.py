"""The lines of a corpus in random order, in constant memory."""

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count, islice
from pathlib import Path

from elmo_bench.base.errors import UserError
from elmo_bench.pretraining.corpus import Corpus

OPEN = 4  # files read at a time
TURN = 64  # lines that each of them gives in its turn
BUFFER = 100_000  # lines among which the next one is drawn; 12 MB of Wikipedia


def interleaved(files: Sequence[Path], read: Callable[[Path], Iterator[str]]) -> Iterator[str]:
    """Every line of all files: OPEN files at a time take turns of TURN lines."""
    waiting = iter(files)
    opened = [read(file) for file in islice(waiting, OPEN)]
    while opened:
        for place, lines in enumerate(opened):
            turn = list(islice(lines, TURN))
            yield from turn
            if not turn:
                opened[place : place + 1] = [read(file) for file in islice(waiting, 1)]
                break


def shuffled(lines: Iterable[str], size: int, rng: random.Random) -> Iterator[str]:
    """Every line once: each new line replaces a random line of a buffer of `size`; the buffer comes last."""
    lines = iter(lines)
    buffer = list(islice(lines, size))
    for line in lines:
        place = int(rng.random() * size)
        yield buffer[place]
        buffer[place] = line
    rng.shuffle(buffer)
    yield from buffer


class Reader:
    """The lines of one process, in endless passes, each in its own order.

    The order depends on `seed` and the number of the pass. Line i goes to process i % `world`. `number` is the
    pass, and `drawn` counts the lines of that pass already given to all processes. A reader with the same two resumes
    there; it reads the current pass again up to that line.
    """

    def __init__(
        self, corpus: Corpus, *, seed: str, buffer: int, rank: int, world: int, number: int = 0, drawn: int = 0
    ):
        self.corpus, self.seed, self.buffer, self.rank, self.world = corpus, seed, buffer, rank, world
        self.number, self.drawn = number, drawn

    def order(self) -> Iterator[str]:
        """All lines of the pass in their order."""
        rng = random.Random(f"{self.seed} {self.number}")
        files = rng.sample(self.corpus.files, len(self.corpus.files))
        return shuffled(interleaved(files, self.corpus.lines), self.buffer, rng)

    def __iter__(self) -> Iterator[str]:
        """Raises UserError if a whole pass has no line for this process."""
        while True:
            first = self.drawn + (self.rank - self.drawn) % self.world
            yield from self._numbered(first)
            if not self.drawn:
                raise UserError(
                    f"{self.corpus.files[0]} and the other files of the corpus: fewer sentences than processes "
                    f"({self.world}). Give more text."
                )
            self.number, self.drawn = self.number + 1, 0

    def _numbered(self, first: int) -> Iterator[str]:
        for drawn, line in zip(
            count(first + 1, self.world), islice(self.order(), first, None, self.world), strict=False
        ):
            self.drawn = drawn
            yield line
