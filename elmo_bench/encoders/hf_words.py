"""The pieces of words: a fast tokeniser that is given words, and the parts that a network reads at once."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from elmo_bench.base.errors import UserError


class Part(NamedTuple):
    """A sequence, or a part of one, that goes through the network at once."""

    ids: list[int]
    words: int  # how many it has
    chosen: list[tuple[int, int]]  # (position in `ids`, word): the pieces whose mean is the word's vector


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

    def _second(self) -> list[int]:
        coded = self.backend.encode(["a", "dog"], is_pretokenized=True, add_special_tokens=False)
        return [piece for piece, word in zip(coded.ids, coded.word_ids, strict=True) if word == 1]

    def parts(self, sentences: Sequence[Sequence[str]], *, longest: int, pooling: str) -> list[list[Part]]:
        """The parts of each sentence, of at most `longest` pieces; almost always one, and none of an empty sentence.

        `pooling` of a word's pieces: first, last or mean. A single word of too many pieces keeps its first ones.
        """
        coded = self.backend.encode_batch([list(sentence) for sentence in sentences], is_pretokenized=True)
        return [
            list(_parts(each.ids, each.word_ids, len(sentence), longest, pooling)) if sentence else []
            for sentence, each in zip(sentences, coded, strict=True)
        ]


def _parts(ids: list[int], words: list[int | None], count: int, longest: int, pooling: str) -> Iterator[Part]:
    """Every part of a sequence of `count` words. `words`: the word of each piece; None for markers around them."""
    if len(ids) <= longest:  # nearly always, and faster
        yield Part(ids, count, _chosen([(at, word) for at, word in enumerate(words) if word is not None], pooling))
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
        read = _chosen([(position, word) for position, (_, word) in enumerate(own, start=len(before))], pooling)
        yield Part([*before, *(piece for piece, _ in own), *after], end - start, read)
        start = end


def _chosen(placed: list[tuple[int, int]], pooling: str) -> list[tuple[int, int]]:
    """Of (position, word) of all pieces those whose mean is the word's vector."""
    if pooling == "mean":
        return placed
    ordered = placed if pooling == "last" else placed[::-1]
    return [(position, word) for word, position in {word: position for position, word in ordered}.items()]


def _end(sizes: list[int], start: int, room: int) -> int:
    """The end of a part of words with so many pieces, from `start` on: all that leave some room, at least one word."""
    if sum(sizes[start:]) <= room:
        return len(sizes)
    end, size = start + 1, sizes[start]
    while end < len(sizes) and size + sizes[end] < room:
        size, end = size + sizes[end], end + 1
    return end
