"""The tokens in a text whose frozen vectors are nearest to a token's in its sentence.

Peters et al. 2018, table 4.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from elmo_bench.elmo.embed import windows
from elmo_bench.encoders import Sentence
from elmo_bench.encoders.static import StaticVectors

# Vectors [T, D] of each sentence; rows of zeros have no meaning.
Encode = Callable[[Sequence[Sentence]], list[Tensor]]


class Near(NamedTuple):
    """A token in its sentence."""

    cosine: float
    sentence: Sentence
    position: int

    @property
    def word(self) -> str:
        return self.sentence[self.position]


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
    """The tokens nearest by cosine to the token at `position` in `sentence`.

    The first `show` of them, nearest first. A sentence gives at most its nearest token,
    and equal sentences count once; `sentence` itself is left out. Memory does not grow
    with the text.
    only: tokens that are this word in any case, so that no other sentences are encoded.
    each_word_once: for vectors that are the same in any sentence; the word at
    `position` is left out, too, in any case.
    seen: called with the number of sentences after each batch.
    """
    query = tuple(sentence)
    [vectors] = encode([query])
    if not vectors[position].any():
        return []
    direction = functional.normalize(vectors[position], dim=0)

    def may_be_shown(word: str) -> bool:
        if only is not None and word.lower() != only.lower():
            return False
        return not each_word_once or word.lower() != query[position].lower()

    def texts() -> Iterator[Sentence]:
        for words in map(tuple, sentences):
            if words != query and any(map(may_be_shown, words)):
                yield words

    best: list[Near] = []
    for batch in windows(texts(), size=len):
        for words, rows in zip(batch, encode(batch), strict=True):
            cosines = functional.normalize(rows, dim=1) @ direction
            positions = []
            for at, word in enumerate(words):
                if may_be_shown(word) and rows[at].any():
                    positions.append(at)
            if positions:
                nearest_at = max(positions, key=cosines.__getitem__)
                best.append(Near(float(cosines[nearest_at]), words, nearest_at))
        best = _distinct(best, by_word=each_word_once)[:show]
        seen(len(batch))
    return best


def _distinct(tokens: list[Near], *, by_word: bool) -> list[Near]:
    """The nearest token of each sentence or word, nearest first.

    The first one of equally near tokens.
    """
    firsts: dict[Sentence | str, Near] = {}
    for near in sorted(tokens, key=_distance):
        firsts.setdefault(near.word.lower() if by_word else near.sentence, near)
    return [*firsts.values()]


def _distance(near: Near) -> float:
    return -near.cosine


def static_encode(table: StaticVectors) -> Encode:
    """Vectors from a table of words: zeros for a word that it lacks."""

    def encode(sentences: Sequence[Sentence]) -> list[Tensor]:
        encoded = []
        for words in sentences:
            rows = [table.lookup(word) for word in words]
            vectors = torch.from_numpy(table.vectors[[row or 0 for row in rows]])
            has_vector = torch.tensor([row is not None for row in rows])
            encoded.append(torch.where(has_vector[:, None], vectors, 0))
        return encoded

    return encode
