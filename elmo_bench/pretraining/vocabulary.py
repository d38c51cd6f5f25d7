"""The words of the softmax, with their frequencies."""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write, read_lines
from elmo_bench.base.reading import reader
from elmo_bench.text.chars import SENTENCE_END, SENTENCE_START
from elmo_bench.text.columns import check_ended, escaped, unescaped

UNKNOWN = "<UNK>"
MARKERS = (SENTENCE_START, SENTENCE_END, UNKNOWN)


class TargetVocabulary(dict[str, int]):
    """How often each word occurs: the three markers, then words by falling frequency.

    The sampler of the softmax assumes this order. `<S>` and `</S>` occur as often as
    there are sentences, `<UNK>` as often as there are tokens outside the vocabulary.
    """

    def ids(self, words: Sequence[str]) -> list[int]:
        """The id of each word; `<UNK>` for a word outside the vocabulary."""
        index = {word: number for number, word in enumerate(self)}
        unknown = index[UNKNOWN]
        return [index.get(word, unknown) for word in words]

    @classmethod
    def of(
        cls, counts: Counter[str], size: int, *, sentences: int = 0
    ) -> "TargetVocabulary":
        """The `size` most frequent words (ties by spelling) behind the markers.

        Tokens spelt like a marker count as `<UNK>` here (see `note_tokens`).
        """
        ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        candidates = ordered[: size + len(MARKERS)]
        words = [pair for pair in candidates if pair[0] not in MARKERS]
        frequent = dict(words[:size])
        vocabulary = cls(dict.fromkeys(MARKERS, sentences))
        vocabulary[UNKNOWN] = counts.total() - sum(frequent.values())
        vocabulary.update(frequent)
        return vocabulary

    def write(self, path: Path) -> None:
        """One `word<TAB>count` a line, written atomically."""
        with atomic_write(path, "w") as file:
            for word, count in self.items():
                file.write(f"{escaped(word)}\t{count}\n")

    @classmethod
    @reader
    def read(cls, path: Path) -> "TargetVocabulary":
        """Read what `write` wrote.

        Raises UserError, with file and line, if it is damaged.
        """
        counts = cls()
        advice = "Give a vocabulary that `pretrain` wrote."
        for number, line in read_lines(path):
            word, _, count = line.partition("\t")
            word = unescaped(word)
            if not re.fullmatch(r"[^\t]+\t[0-9]{1,18}", line) or word in counts:
                raise UserError(
                    f"{path}:{number}: expected word<TAB>count, each word once. "
                    f"{advice}"
                )
            counts[word] = int(count)
        first = tuple(counts)[: len(MARKERS)]
        if first != MARKERS:
            markers = ", ".join(MARKERS)
            raise UserError(f"{path}: does not begin with {markers}. {advice}")
        check_ended(path)
        return counts
