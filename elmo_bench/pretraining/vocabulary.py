"""The words that the softmax knows, with their counts, and the file that keeps them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write, read_lines
from elmo_bench.base.reading import reader
from elmo_bench.text.chars import SENTENCE_END, SENTENCE_START
from elmo_bench.text.columns import check_ended

DIGITS = 18  # of a count, at most
UNKNOWN = "<UNK>"
MARKERS = (SENTENCE_START, SENTENCE_END, UNKNOWN)


@dataclass(frozen=True)
class TargetVocabulary:
    """The three markers, then words by falling frequency, as the sampler of the softmax assumes.

    `counts` has how often each occurs: `<S>` and `</S>` as often as there are sentences, `<UNK>` as often as there are
    tokens outside the vocabulary. It may be empty.
    """

    words: tuple[str, ...]
    counts: tuple[int, ...] = ()

    @cached_property
    def _index(self) -> dict[str, int]:
        return {word: index for index, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def ids(self, words: Sequence[str]) -> list[int]:
        """The id of each word; `<UNK>` for a word outside the vocabulary."""
        unknown = MARKERS.index(UNKNOWN)
        return [self._index.get(word, unknown) for word in words]

    @classmethod
    def of(cls, counts: Counter[str], size: int, *, sentences: int = 0) -> "TargetVocabulary":
        """The `size` most frequent words (ties by spelling) behind the markers.

        Tokens spelt like a marker count as `<UNK>`.
        """
        ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        kept = [(word, count) for word, count in ordered[: size + len(MARKERS)] if word not in MARKERS][:size]
        unknown = counts.total() - sum(count for _, count in kept)
        return cls(
            (*MARKERS, *(word for word, _ in kept)), (sentences, sentences, unknown, *(count for _, count in kept))
        )

    def write(self, path: Path) -> None:
        """One `word<TAB>count` a line, written atomically."""
        with atomic_write(path, "w") as file:
            file.writelines(f"{word}\t{count}\n" for word, count in zip(self.words, self.counts, strict=True))

    @classmethod
    @reader
    def read(cls, path: Path) -> "TargetVocabulary":
        """Read what `write` wrote. Raises UserError, with file and line, if it is damaged."""
        found: dict[str, int] = {}
        for number, line in read_lines(path):
            word, tab, count = line.partition("\t")
            if not (word and tab and count.isascii() and count.isdigit() and len(count) <= DIGITS):
                raise UserError(f"{path}:{number}: expected word<TAB>count. Give a vocabulary that `pretrain` wrote.")
            if word in found:
                raise UserError(f"{path}:{number}: '{word}' occurs a second time. Remove one of the lines.")
            if number <= len(MARKERS) and word != MARKERS[number - 1]:
                raise UserError(f"{path}:{number}: expected {MARKERS[number - 1]}. The markers come first.")
            found[word] = int(count)
        if len(found) < len(MARKERS):
            raise UserError(f"{path}: ends before its {len(MARKERS)} markers")
        check_ended(path)
        return cls(tuple(found), tuple(found.values()))
