"""The pieces of words, and the parts of a sequence that a network reads at once."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from elmo_bench.base.errors import UserError
from elmo_bench.base.json import digest

OUTSIDE = -1
UNLIMITED = 10**9  # pieces
# What tokenisers differ in. Their pieces are a part of an encoder's checksum, so they
# never change.
NAMES = (
    *("Anna", "didn't", "see", "McDonald's", "CAFÉ", "naïve", "e\u0301lan"),
    *("don\u2019t", "rock'n'roll", "."),
)
FIGURES = (
    *("In", "1999", "3.5", "e-mails", "U.S.", "$12,345.60", "x_y", "v2.0b", "(a/b)"),
    *("#tag", "@user", "\u2026", "!?"),
)
SCRIPTS = (
    *("Москва", "İstanbul", "Straße", "ﬁn", "東京タワー", "서울", "שלום", "العربية"),
    *("हिन्दी", "😀", "👩\u200d🚀", "½"),
)
SAMPLES = (NAMES, FIGURES, SCRIPTS)


class Part(NamedTuple):
    """A sequence, or a part of one, that goes through the network at once."""

    ids: list[int]
    words: int  # how many it has
    owners: list[int]  # the word of each piece; OUTSIDE for markers


class Pieces:
    """Turns words into the pieces that they have in a text.

    There, spaces are between them. Tokenisers that mark the start of a word on the
    space before it (byte-level BPE) would read words as if they were written together,
    so each word gets its space first. (`add_prefix_space` of a
    pre-tokeniser cannot do this: behind another pre-tokeniser it gives `it's` a second
    space.)
    """

    def __init__(self, tokeniser: Any, *, name: str):
        """`tokeniser`: a fast one of transformers, which is changed.

        `name` of the model begins the error. Raises UserError if words do not have the
        pieces of the text.
        """
        from tokenizers.normalizers import Prepend, Sequence

        self.backend = tokeniser.backend_tokenizer
        self.backend.no_truncation()
        self.backend.no_padding()
        first = self.backend.encode("a", add_special_tokens=False).ids
        both = self.backend.encode("a dog", add_special_tokens=False).ids
        if first + self._second() != both:
            steps = [Prepend(" ")]
            if self.backend.normalizer:
                steps.append(self.backend.normalizer)
            self.backend.normalizer = Sequence(steps)
            if first + self._second() != both:
                raise UserError(
                    f"encoder.name={name}: its tokeniser reads the words 'a', 'dog' "
                    "otherwise than the text 'a dog'. "
                    "Give a model whose tokeniser keeps words apart."
                )
        self.markers = self.backend.num_special_tokens_to_add(is_pair=False)

    def digest(self) -> str:
        """SHA-256 of the pieces of SAMPLES and of the words that these belong to.

        64 hex digits. Computed from whole numbers, so every machine gets the same
        digest. A library version that gives other pieces changes it.
        """
        return digest([self._sample(words) for words in SAMPLES])

    def _sample(self, words: Sequence[str]) -> Any:
        """The parts of a sentence.

        None if the tokeniser has no piece for a character and none for unknown ones.
        """
        try:
            [parts] = self.parts([words], longest=UNLIMITED)
        except Exception:  # tokenizers raises no other kind
            return None
        return parts

    def _second(self) -> list[int]:
        """The pieces of the second of two words."""
        coded = self.backend.encode(
            ["a", "dog"], is_pretokenized=True, add_special_tokens=False
        )
        owners = zip(coded.ids, coded.word_ids, strict=True)
        return [piece for piece, word in owners if word == 1]

    def parts(
        self, sentences: Sequence[Sequence[str]], *, longest: int
    ) -> list[list[Part]]:
        """The parts of each sentence, of at most `longest` pieces.

        Almost always one, and none of an empty sentence. A single word of too many
        pieces keeps its first ones.
        """
        lists = [list(sentence) for sentence in sentences]
        try:
            coded = self.backend.encode_batch(lists, is_pretokenized=True)
        except TypeError:  # half a surrogate pair, which UTF-8 does not have
            lists = [[_encodable(word) for word in sentence] for sentence in lists]
            coded = self.backend.encode_batch(lists, is_pretokenized=True)
        results: list[list[Part]] = []
        for words, pieces in zip(lists, coded, strict=True):
            parts = _parts(pieces.ids, pieces.word_ids, len(words), longest)
            results.append([*parts] if words else [])
        return results


def flat(lists: Iterable[Sequence[int]]) -> Tensor:
    """The numbers of all lists, int64."""
    return torch.from_numpy(np.fromiter(chain.from_iterable(lists), np.int64))


def _encodable(word: str) -> str:
    """A word without the characters that UTF-8 lacks, as ELMo reads it."""
    return word.encode("utf-8", "ignore").decode()


def _parts(
    ids: list[int], words: list[int | None], count: int, longest: int
) -> Iterator[Part]:
    """Every part of a sequence of `count` words.

    words: the word of each piece; None for markers around them.
    """
    if len(ids) <= longest:  # nearly always, and faster
        owners = [OUTSIDE if word is None else word for word in words]
        yield Part(ids, count, owners)
        return
    pieces: list[list[int]] = [[] for _ in range(count)]  # of each word
    inside = []
    for place, (piece, word) in enumerate(zip(ids, words, strict=True)):
        if word is not None:
            pieces[word].append(piece)
            inside.append(place)
    first = inside[0] if inside else len(ids)
    last = inside[-1] if inside else len(ids)
    before = ids[:first]
    after = ids[last + 1 :]
    sizes = [len(of_word) for of_word in pieces]
    room = longest - len(before) - len(after)
    start = 0
    while start < count:
        end = _end(sizes, start, room)
        chosen: list[int] = []
        owners = []
        for number, of_word in enumerate(pieces[start:end]):
            chosen += of_word
            owners += [number] * len(of_word)
        chosen = chosen[:room]
        owners = owners[:room]
        yield Part(
            [*before, *chosen, *after],
            end - start,
            [*[OUTSIDE] * len(before), *owners, *[OUTSIDE] * len(after)],
        )
        start = end


def _end(sizes: list[int], start: int, room: int) -> int:
    """The end of a part of words with so many pieces, from `start` on.

    As many words as leave some room, at least one; the last part may have no room left.
    """
    if sum(sizes[start:]) <= room:
        return len(sizes)
    end = start + 1
    size = sizes[start]
    while end < len(sizes) and size + sizes[end] < room:
        size += sizes[end]
        end += 1
    return end
