"""From character ids of texts, as `batch_to_ids` makes them, to the layers of a biLM: words found, markers added.

Shape letters: B texts, T tokens, C characters, N distinct words, L layers, P projection.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from elmo_bench.elmo.sentences import Network, States, layers_of
from elmo_bench.text.chars import SENTENCE_END, SENTENCE_START, WORD_LENGTH, words_ids

ID = np.dtype(np.int16)
START, END = (row.astype(ID).tobytes() for row in words_ids([SENTENCE_START, SENTENCE_END]))
HOLE = bytes(len(START))  # a padded position between tokens


def ids_of(words: Sequence[bytes]) -> np.ndarray:
    """Ids int64 [N, C] of words as `find_words` has them."""
    return np.frombuffer(b"".join(words), dtype=ID).reshape(-1, WORD_LENGTH).astype(np.int64)


def find_words(ids: np.ndarray) -> tuple[list[bytes], np.ndarray]:
    """Ids [B, T, C] -> distinct words [N], each as the bytes of its ids, and `grid`, int64 [B, T + 2].

    The grid has the places of words, from 1 on, with the sentence markers, and 0 at padding. `</S>` stands behind as
    many positions as have a token, as in AllenNLP: where padding comes before a token it takes that one's place.
    """
    real = ids.any(axis=2)  # BT
    words = np.ascontiguousarray(ids[real], dtype=ID).view(f"V{len(START)}").ravel().tolist()
    places = {START: 1, END: 2}
    grid = np.zeros((len(ids), ids.shape[1] + 2), dtype=np.int64)
    grid[:, 1:-1][real] = [places.setdefault(word, 1 + len(places)) for word in words]
    grid[:, 0] = 1
    grid[np.arange(len(ids)), 1 + real.sum(axis=1)] = 2
    return list(places), grid


def layers_of_ids(
    network: Network, vectors: Callable[[Sequence[bytes]], Tensor], ids: np.ndarray, states: States, *, carry: bool
) -> tuple[Tensor, Tensor]:
    """Ids [B, T, C] -> layers [B, L, T + 2, 2P], markers included, and the mask [B, T + 2] of what is no padding.

    `vectors` gives words their vectors [1 + N, P] behind a row of zeros. Texts go on from the `states`, which stay as
    they are without `carry`.
    """
    words, grid = find_words(ids)
    filled = np.arange(grid.shape[1]) < (grid > 0).sum(axis=1, keepdims=True)
    whole = bool((filled == (grid > 0)).all())
    table = vectors(words if whole else [*words, HOLE])
    places = torch.from_numpy(grid).to(table.device)
    if not len(grid):
        shape = (0, 1 + network.options.layers, grid.shape[1], 2 * network.options.projection_dim)
        return table.new_zeros(shape), places > 0
    index = places if whole else torch.from_numpy(np.where(filled, np.where(grid, grid, 1 + len(words)), 0)).to(places)
    layers, last = layers_of(network, table, index, states.start(len(grid), table))
    if (
        not whole
    ):  # as in AllenNLP: the LSTMs read holes, up to as many positions as are none; layer 0 is of tokens alone
        layers[:, 0] = functional.embedding(places, table).repeat(1, 1, 2)
    if carry:
        states.keep(last)
    return layers, places > 0
