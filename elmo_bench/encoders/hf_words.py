"""The pieces of words: a fast tokeniser that is given words, and the parts that a network reads at once."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from elmo_bench.base.errors import UserError
from elmo_bench.base.json import digest

OUTSIDE = -1
UNLIMITED = 10**9  # pieces
SAMPLES = (  # what tokenisers differ in; their pieces are a part of an encoder's checksum, so they never change
    ("Anna", "didn't", "see", "McDonald's", "CAFÉ", "naïve", "e\u0301lan", "don\u2019t", "rock'n'roll", "."),
    ("In", "1999", "3.5", "e-mails", "U.S.", "$12,345.60", "x_y", "v2.0b", "(a/b)", "#tag", "@user", "\u2026", "!?"),
    ("Москва", "İstanbul", "Straße", "ﬁn", "東京タワー", "서울", "שלום", "العربية", "हिन्दी", "😀", "👩\u200d🚀", "½"),
)


class Part(NamedTuple):
    """A sequence, or a part of one, that goes through the network at once."""

    ids: list[int]
    words: int  # how many it has
    owners: list[int]  # the word of each piece; OUTSIDE for markers


class Pieces:
    """Turns words into the pieces that they have in a text, where spaces are between them.

    Tokenisers that mark the start of a word on the space before it (byte-level BPE) would read words as if they were
    written together, so each word gets its space first. (`add_prefix_space` of a pre-tokeniser cannot do this: behind
    another pre-tokeniser it gives `it's` a second space.)
    """

    def __init__(self, tokeniser: Any, *, name: str):
        """`tokeniser`: a fast one of transformers, which is changed. `name` of the model begins the error. Raises
        UserError if words do not have the pieces of the text."""
        from tokenizers.normalizers import Prepend, Sequence

        self.backend = tokeniser.backend_tokenizer
        self.backend.no_truncation()
        self.backend.no_padding()
        first, both = (self.backend.encode(text, add_special_tokens=False).ids for text in ("a", "a dog"))
        if first + self._second() != both:
            before = self.backend.normalizer
            self.backend.normalizer = Sequence([Prepend(" "), *([before] if before else [])])
            if first + self._second() != both:
                raise UserError(
                    f"encoder.name={name}: its tokeniser reads the words 'a', 'dog' otherwise than the text 'a dog'. "
                    "Give a model whose tokeniser keeps words apart."
                )
        self.markers = self.backend.num_special_tokens_to_add(is_pair=False)

    def digest(self) -> str:
        """SHA-256 of the pieces of SAMPLES and of the words that these belong to, as 64 hex digits.

        Whole numbers, so that every machine has the same; another version of a library that gives other pieces has not.
        """
        return digest([self._sample(words) for words in SAMPLES])

    def _sample(self, words: Sequence[str]) -> Any:
        """The parts of a sentence; None if the tokeniser has no piece for a character and none for unknown ones."""
        try:
            [parts] = self.parts([words], longest=UNLIMITED)
        except Exception:  # tokenizers raises no other kind
            return None
        return parts

    def _second(self) -> list[int]:
        coded = self.backend.encode(["a", "dog"], is_pretokenized=True, add_special_tokens=False)
        return [piece for piece, word in zip(coded.ids, coded.word_ids, strict=True) if word == 1]

    def parts(self, sentences: Sequence[Sequence[str]], *, longest: int) -> list[list[Part]]:
        """The parts of each sentence, of at most `longest` pieces; almost always one, and none of an empty sentence.

        A single word of too many pieces keeps its first ones.
        """
        coded = self.backend.encode_batch([list(sentence) for sentence in sentences], is_pretokenized=True)
        return [
            list(_parts(each.ids, each.word_ids, len(sentence), longest)) if sentence else []
            for sentence, each in zip(sentences, coded, strict=True)
        ]


def _parts(ids: list[int], words: list[int | None], count: int, longest: int) -> Iterator[Part]:
    """Every part of a sequence of `count` words. `words`: the word of each piece; None for markers around them."""
    if len(ids) <= longest:  # nearly always, and faster
        yield Part(ids, count, [OUTSIDE if word is None else word for word in words])
        return
    pieces: list[list[int]] = [[] for _ in range(count)]  # of each word
    for piece, word in enumerate(words):
        if word is not None:
            pieces[word].append(piece)
    inside = [piece for own in pieces for piece in own] or [len(ids)]
    before, after = ids[: inside[0]], ids[inside[-1] + 1 :]
    sizes, start, room = [*map(len, pieces)], 0, longest - len(before) - len(after)
    while start < count:
        end = _end(sizes, start, room)
        own = [(ids[piece], word - start) for word in range(start, end) for piece in pieces[word]][:room]
        owners = [*[OUTSIDE] * len(before), *(word for _, word in own), *[OUTSIDE] * len(after)]
        yield Part([*before, *(piece for piece, _ in own), *after], end - start, owners)
        start = end


def _end(sizes: list[int], start: int, room: int) -> int:
    """The end of a part of words with so many pieces, from `start` on: all that leave some room, at least one word."""
    if sum(sizes[start:]) <= room:
        return len(sizes)
    end, size = start + 1, sizes[start]
    while end < len(sizes) and size + sizes[end] < room:
        size, end = size + sizes[end], end + 1
    return end
