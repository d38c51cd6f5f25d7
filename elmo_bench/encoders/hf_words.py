"""The pieces of words: a fast tokeniser that is given words, and the parts that a network reads at once."""

import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from elmo_bench.base.errors import UserError

# A call on one thread is far faster than any network, and leaves nothing behind that a fork would warn of.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


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
    if len(ids) <= longest:
        yield Part(ids, count, _chosen(words, pooling))
        return
    before = next(piece for piece, word in enumerate(words) if word is not None)
    after = next(piece for piece, word in enumerate(reversed(words)) if word is not None)
    room = longest - before - after
    pieces: list[list[int]] = [[] for _ in range(count)]  # of each word
    for piece, word in enumerate(words):
        if word is not None:
            pieces[word].append(piece)
    start = 0
    while start < count:
        end, size = start + 1, len(pieces[start])
        if sum(map(len, pieces[start:])) <= room:
            end = count
        while end < count and size + len(pieces[end]) < room:
            size += len(pieces[end])
            end += 1
        own = [(piece, word - start) for word in range(start, end) for piece in pieces[word]][:room]
        yield Part(
            [*ids[:before], *(ids[piece] for piece, _ in own), *ids[len(ids) - after :]],
            end - start,
            _chosen([*[None] * before, *(word for _, word in own)], pooling),
        )
        start = end


def _chosen(words: Sequence[int | None], pooling: str) -> list[tuple[int, int]]:
    """(piece, word) of the pieces that are read. `words`: the word of each piece."""
    if pooling == "mean":
        return [(piece, word) for piece, word in enumerate(words) if word is not None]
    pieces = range(len(words))  # a later piece of a word replaces an earlier one
    places = dict(zip(words, pieces, strict=True) if pooling == "last" else zip(words[::-1], pieces[::-1], strict=True))
    places.pop(None, None)
    return [(piece, word) for word, piece in places.items() if word is not None]
