"""The tokens in a text whose frozen vectors are nearest to a token's in its sentence (Peters et al. 2018, table 4)."""

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from elmo_bench.encoders import Sentence
from elmo_bench.encoders.static import StaticVectors

SENTENCES, TOKENS = 1_024, 16_384  # that are encoded at once, at most, so that memory does not grow with the text
Encode = Callable[[Sequence[Sentence]], list[Tensor]]  # vectors [T, D] of each sentence; rows of zeros have no meaning


class Near(NamedTuple):
    """A token in its sentence."""

    cosine: float
    sentence: Sentence
    position: int


def nearest(
    encode: Encode,
    sentences: Iterable[Sequence[str]],
    sentence: Sequence[str],
    position: int,
    *,
    show: int,
    only: str | None = None,
    each_word_once: bool = False,
    seen: Callable[[int], None] = lambda _: None,
) -> list[Near]:
    """The `show` nearest tokens by cosine, nearest first, to the token at `position` in `sentence`.

    A sentence gives at most its nearest token, and equal sentences count once; `sentence` itself is left out. `only`:
    tokens that are this word in any case, so that no other sentences are encoded. `each_word_once`: for vectors that
    are the same in any sentence; the query's own word is left out, too. `seen` is called with the number of sentences
    after each batch. Memory does not grow with the text.
    """
    query, own = tuple(sentence), sentence[position]
    [vectors] = encode([query])
    if not vectors[position].any():
        return []
    direction = functional.normalize(vectors[position], dim=0)
    kept: list[Near] = []  # a heap, the farthest first
    texts = (tuple(words) for words in sentences)
    if only is not None:
        texts = (words for words in texts if any(word.lower() == only.lower() for word in words))
    for batch in _batches(words for words in texts if words != query):
        for words, rows in zip(batch, encode(batch), strict=True):
            cosines = functional.normalize(rows, dim=1) @ direction
            for at, word in enumerate(words):
                if (only is not None and word.lower() != only.lower()) or (each_word_once and word == own):
                    cosines[at] = -2.0
            cosines[~rows.any(dim=1)] = -2.0
            best = int(cosines.argmax())
            found = Near(float(cosines[best]), words, best)
            if found.cosine >= -1.001:
                _keep(kept, found, show, each_word_once=each_word_once)
        seen(len(batch))
    return sorted(kept, key=lambda near: -near.cosine)


def static_encode(table: StaticVectors) -> Encode:
    """Vectors from a table of words: zeros for a word that it lacks."""

    def encode(sentences: Sequence[Sentence]) -> list[Tensor]:
        found = []
        for words in sentences:
            rows = [table.lookup(word) for word in words]
            vectors = torch.zeros(len(words), table.dim)
            for at, row in enumerate(rows):
                if row is not None:
                    vectors[at] = torch.from_numpy(table.vectors[row])
            found.append(vectors)
        return found

    return encode


def _keep(kept: list[Near], found: Near, show: int, *, each_word_once: bool) -> None:
    """Add a token to the heap unless it is as far as the farthest, or its sentence or word is there."""
    if len(kept) == show and found.cosine <= kept[0].cosine:
        return
    for near in kept:
        same_word = near.sentence[near.position].lower() == found.sentence[found.position].lower()
        if near.sentence == found.sentence or (each_word_once and same_word):
            return
    (heapq.heappush if len(kept) < show else heapq.heapreplace)(kept, found)


def _batches(texts: Iterable[Sentence]) -> Iterator[list[Sentence]]:
    batch: list[Sentence] = []
    tokens = 0
    for words in texts:
        if batch and (len(batch) == SENTENCES or tokens + len(words) > TOKENS):
            yield batch
            batch, tokens = [], 0
        batch.append(words)
        tokens += len(words)
    if batch:
        yield batch
