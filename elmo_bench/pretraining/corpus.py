"""Streaming sharded text into language-model batches, the way bilm-tf lays them out."""

import glob
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from elmo_bench.errors import UserError
from elmo_bench.files import read_lines
from elmo_bench.text.chars import SENTENCE_END, SENTENCE_START, words_ids

UNKNOWN = "<UNK>"
MARKERS = (SENTENCE_START, SENTENCE_END, UNKNOWN)


def shard_files(corpus: str | Sequence[str]) -> list[Path]:
    """The files of a path, a pattern, or a list of them, each once. Raises UserError where nothing matches."""
    files: list[Path] = []
    for pattern in [corpus] if isinstance(corpus, str) else corpus:
        found = sorted(map(Path, glob.glob(str(pattern), recursive=True)))  # noqa: PTH207  absolute patterns too
        if not found:
            raise UserError(f"corpus={pattern}: no file matches; quote the pattern so that the shell leaves it alone")
        files += found
    return list(dict.fromkeys(files))


def sentences(path: Path) -> Iterator[list[str]]:
    """The tokenised sentences of one shard, one a line, tokens separated by spaces; empty lines are skipped."""
    for _, line in read_lines(path):
        if tokens := line.split():
            yield tokens


def count_words(shards: Iterable[Path]) -> Counter[str]:
    """How often each word occurs in all shards."""
    counts: Counter[str] = Counter()
    for shard in shards:
        for sentence in sentences(shard):
            counts.update(sentence)
    if not counts:
        raise UserError(
            f"{', '.join(map(str, shards))}: no sentence in the whole corpus; one tokenised sentence a line is expected"
        )
    return counts


@dataclass(frozen=True)
class TargetVocabulary:
    """The words that the softmax knows: the three markers, then words by falling frequency, as its sampler assumes."""

    words: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "_index", {word: index for index, word in enumerate(self.words)})

    def __len__(self) -> int:
        return len(self.words)

    def ids(self, words: Sequence[str]) -> list[int]:
        """The id of each word, that of `<UNK>` where it is not in the vocabulary."""
        index: dict[str, int] = self._index  # type: ignore[attr-defined]
        unknown = MARKERS.index(UNKNOWN)
        return [index.get(word, unknown) for word in words]

    @classmethod
    def of(cls, counts: Counter[str], size: int) -> "TargetVocabulary":
        """The `size` most frequent words (ties by spelling) behind the markers."""
        ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        return cls((*MARKERS, *(word for word, _ in ordered[:size] if word not in MARKERS)))


@dataclass(frozen=True)
class Batch:
    """One truncated-BPTT window; axis 0 of `words` and `targets` is the direction (forward, backward)."""

    ids: np.ndarray  # int64 [N, C]: the characters of the window's distinct words
    words: np.ndarray  # int64 [2, T, B]: rows of `ids`
    targets: np.ndarray  # int64 [2, T, B]: vocabulary ids
    keep: np.ndarray  # float32 [T, B]: 0 where a sentence starts
    tokens: int  # words read, T x B


def shuffled(shards: Sequence[Path], rng: random.Random) -> Iterator[list[str]]:
    """Every sentence once: shards in random order, one in memory at a time, shuffled within."""
    for shard in rng.sample(list(shards), len(shards)):
        lines = list(sentences(shard))
        rng.shuffle(lines)
        yield from lines


def windows(stream: Iterator[list[str]], vocabulary: TargetVocabulary, *, rows: int, steps: int) -> Iterator[Batch]:
    """Cut a stream of sentences into windows [T=steps, B=rows]; each row goes on where it stopped in the window before.

    A row is `<S> w1 … wn` after `<S> w1 … wn`, its targets `w1 … wn </S>`; the backward row holds the same sentences
    reversed (`</S> wn … w1`, targets `wn … w1 <S>`), so a row never predicts `<S>` from `</S>`. bilm-tf reads the two
    directions from two shuffles; here they share sentences, so that a window's words are encoded once (differs).
    The end of the stream that fills no whole window is dropped.
    """
    buffers: list[list[tuple[str, str, str, str, bool]]] = [[] for _ in range(rows)]
    while True:
        for buffer in buffers:
            while len(buffer) < steps:
                if (sentence := next(stream, None)) is None:
                    return
                ahead = [SENTENCE_START, *sentence, SENTENCE_END]
                back = ahead[::-1]
                starts = [True] + [False] * len(sentence)
                buffer.extend(zip(ahead[:-1], ahead[1:], back[:-1], back[1:], starts, strict=True))
        window = [buffer[:steps] for buffer in buffers]
        buffers = [buffer[steps:] for buffer in buffers]
        index: dict[str, int] = {}
        columns = list(zip(*(cell for row in window for cell in row), strict=True))
        words = [[index.setdefault(word, len(index)) for word in column] for column in (columns[0], columns[2])]
        targets = [vocabulary.ids(column) for column in (columns[1], columns[3])]
        yield Batch(
            ids=words_ids(list(index)),
            words=np.array(words).reshape(2, rows, steps).swapaxes(1, 2),
            targets=np.array(targets).reshape(2, rows, steps).swapaxes(1, 2),
            keep=1 - np.array(columns[4], dtype=np.float32).reshape(rows, steps).T,
            tokens=rows * steps,
        )
