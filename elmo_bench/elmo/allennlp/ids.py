"""`batch_to_ids`, and from its character ids to the layers of a biLM: distinct words are found, markers added.

Shape letters: B sentences, T tokens, C characters, N distinct words, L layers, P projection.
"""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from elmo_bench.base.errors import UserError
from elmo_bench.elmo.batches import States, layers_of
from elmo_bench.elmo.kernels import Network
from elmo_bench.text.chars import SENTENCE_END, SENTENCE_START, WORD_LENGTH, batch_ids, words_ids

ID = np.dtype(np.int16)
START, END = (row.astype(ID).tobytes() for row in words_ids([SENTENCE_START, SENTENCE_END]))
HOLE = bytes(len(START))  # a padded position between tokens


def batch_to_ids(batch: Iterable[Sequence[str]]) -> Tensor:
    """Tokenised sentences -> character ids int64 [B, T, 50], zeros after a sentence's end; no sentence markers.

    No sentences give [0, 0, 50] and empty ones [B, 0, 50], which `Elmo` accepts (AllenNLP returned two axes there).
    Raises UserError for a token that is not a string.
    """
    sentences = [list(sentence) for sentence in batch]
    for number, sentence in enumerate(sentences):
        for position, token in enumerate(sentence):
            if not isinstance(token, str):
                raise UserError(
                    f"batch_to_ids: token {position} of sentence {number} (counted from 0) is {token!r}. Give strings."
                )
    return torch.from_numpy(batch_ids(sentences))


def ids_of(words: Sequence[bytes]) -> np.ndarray:
    """Ids int64 [N, C] of words in the form that `find_words` returns."""
    return np.frombuffer(b"".join(words), dtype=ID).reshape(-1, WORD_LENGTH).astype(np.int64)


def find_words(ids: np.ndarray) -> tuple[list[bytes], np.ndarray]:
    """Ids [B, T, C] -> distinct words [N], each as the bytes of its ids, and `grid`, int64 [B, T + 2].

    The grid holds the numbers of words, from 1 on, markers included, and 0 at padding. As in AllenNLP, the position of
    `</S>` is the number of tokens plus one; if padding precedes a token, that overwrites a token.
    """
    real = ids.any(axis=2)  # BT
    words = np.ascontiguousarray(ids[real], dtype=ID).view(f"V{len(START)}").ravel().tolist()
    numbers = {START: 1, END: 2}
    grid = np.zeros((len(ids), ids.shape[1] + 2), dtype=np.int64)
    grid[:, 1:-1][real] = [numbers.setdefault(word, 1 + len(numbers)) for word in words]
    grid[:, 0] = 1
    grid[np.arange(len(ids)), 1 + real.sum(axis=1)] = 2
    return list(numbers), grid


def layers_of_ids(
    network: Network, vectors: Callable[[Sequence[bytes]], Tensor], ids: np.ndarray, states: States, *, carry: bool
) -> tuple[Tensor, Tensor]:
    """Ids [B, T, C] -> layers [B, L, T + 2, 2P], markers included, and the mask [B, T + 2] of real positions.

    `vectors` gives words their vectors [1 + N, P], row 0 zeros. Sentences start from `states`; with `carry` the last
    states are kept there.
    """
    words, grid = find_words(ids)
    real = grid > 0  # B(T + 2)
    filled = np.arange(grid.shape[1]) < real.sum(axis=1, keepdims=True)
    holes = bool((filled != real).any())
    table = vectors([*words, HOLE] if holes else words)
    mask = torch.from_numpy(real).to(table.device)
    if not len(grid):
        shape = (0, 1 + network.options.layers, grid.shape[1], 2 * network.options.projection_dim)
        return table.new_zeros(shape), mask
    index = np.where(filled, np.where(real, grid, 1 + len(words)), 0)
    layers, last = layers_of(network, table, torch.from_numpy(index), states.start(len(grid), table))
    if holes:  # as in AllenNLP: the LSTMs read as many positions as there are tokens; layer 0 has tokens alone
        layers[:, 0] = functional.embedding(torch.from_numpy(grid).to(table.device), table).repeat(1, 1, 2)
    if carry:
        states.keep(last)
    return layers, mask
