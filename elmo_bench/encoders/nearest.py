"""The tokens in a text whose frozen vectors are nearest to a token's in its sentence (Peters et al. 2018, table 4)."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from elmo_bench.elmo.embed import windows
from elmo_bench.encoders import Sentence
from elmo_bench.encoders.static import StaticVectors

Encode = Callable[[Sequence[Sentence]], list[Tensor]]  # vectors [T, D] of each sentence; rows of zeros have no meaning


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

    def may_be_shown(word: str) -> bool:
        return (only is None or word.lower() == only.lower()) and not (each_word_once and word == own)

    texts = (words for words in map(tuple, sentences) if words != query and any(map(may_be_shown, words)))
    kept: list[Near] = []
    for batch in windows(texts, size=len):
        for words, rows in zip(batch, encode(batch), strict=True):
            cosines = functional.normalize(rows, dim=1) @ direction
            some = [at for at, word in enumerate(words) if may_be_shown(word) and rows[at].any()]
            if some:
                best = max(some, key=cosines.__getitem__)
                kept.append(Near(float(cosines[best]), words, best))
        # Only the nearest token of each key is kept, the first of equal ones.
        kept.sort(key=lambda near: -near.cosine)
        firsts = {(near.word.lower() if each_word_once else near.sentence): near for near in reversed(kept)}
        kept = sorted(firsts.values(), key=lambda near: -near.cosine)[:show]
        seen(len(batch))
    return kept


def static_encode(table: StaticVectors) -> Encode:
    """Vectors from a table of words: zeros for a word that it lacks."""

    def encode(sentences: Sequence[Sentence]) -> list[Tensor]:
        places = [[table.lookup(word) for word in words] for words in sentences]
        known = [torch.tensor([row is not None for row in rows]) for rows in places]
        vectors = [torch.from_numpy(table.vectors[[row or 0 for row in rows]]) for rows in places]
        return [torch.where(inside[:, None], each, 0) for inside, each in zip(known, vectors, strict=True)]

    return encode
