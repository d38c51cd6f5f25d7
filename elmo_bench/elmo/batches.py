"""Batches of sentences through a network: sorting, reversing, carried states; `batch_to_ids`.

Shape letters: B sentences, T tokens, C characters, N distinct words, L layers, P projection, H cell; a leading 2 is the
direction.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from elmo_bench.base.errors import UserError
from elmo_bench.elmo.frozen import moved
from elmo_bench.elmo.kernels import Network
from elmo_bench.elmo.model import State
from elmo_bench.elmo.options import BiLMOptions
from elmo_bench.text.chars import batch_ids


def layers_of_words(
    network: Network,
    vectors: Callable[[Sequence[Any]], Tensor],
    sentences: Sequence[Sequence[Hashable]],
    start: Callable[[Tensor], list[State]],
) -> tuple[Tensor, list[int], list[State]]:
    """Layers [B, L, T, 2P] of sentences, their lengths, and the last states; see `layers_of`.

    `vectors` gives N words their vectors [1 + N, P], row 0 zeros. `start` gives the states that the sentences
    start from, on the device of these vectors.
    """
    rows, lengths = _Numbers(), [len(sentence) for sentence in sentences]
    numbers = np.fromiter(map(rows.__getitem__, chain.from_iterable(sentences)), np.int64, sum(lengths))
    index = torch.zeros(len(lengths), max(lengths), dtype=torch.int64)  # BT
    index[torch.arange(index.shape[1]) < torch.tensor(lengths)[:, None]] = torch.from_numpy(numbers)
    table = vectors(list(rows))
    layers, last = layers_of(network, table, index, start(table))
    return layers, lengths, last


class _Numbers(dict[Hashable, int]):
    """Numbers words from 1 in the order in which they are first asked for."""

    def __missing__(self, word: Hashable) -> int:
        number = self[word] = 1 + len(self)
        return number


def layers_of(network: Network, vectors: Tensor, index: Tensor, states: list[State]) -> tuple[Tensor, list[State]]:
    """Layers [B, L, T, 2P] of B sentences, zeros after their ends, and the last states, each [2, B, P or H].

    vectors [1 + N, P] of words on the network's device, the first row zeros; index [B, T] on the CPU: rows of vectors,
    0 after a sentence's end (markers are words like any other). Layer 0 is the word's vector twice, every other layer
    [forward; backward]. Sentence i starts from row i of `states`. No result depends on other sentences.
    """
    lengths = (index > 0).sum(dim=1)  # B
    order = torch.argsort(lengths, descending=True, stable=True)
    back, steps = torch.argsort(order), torch.arange(int(lengths.max()))
    index = index[:, : len(steps)]
    mirror = lengths[:, None] - 1 - steps  # BT: reversed within the sentence
    mirror = torch.where(mirror < 0, steps, mirror)
    words = torch.stack([index, index.gather(1, mirror)])[:, order].transpose(1, 2)  # 2TB
    places = torch.stack([steps.expand_as(mirror), mirror]) * len(index) + back[:, None]  # 2BT, among rows of outputs
    sizes = (lengths[:, None] > steps).sum(dim=0).tolist()  # T: sentences that have a word at this step

    index, words, places, order, back = moved(vectors.device, index, words, places, order, back)
    states = [(h.index_select(1, order), c.index_select(1, order)) for h, c in states]
    outputs, last = network.contextual(vectors, words, states, sizes)
    parts = [functional.embedding(index, vectors)] * 2  # BTP
    for output in outputs:
        parts += [functional.embedding(*pair) for pair in zip(places, output.flatten(1, 2), strict=True)]
    layers = torch.cat(parts, dim=2).unflatten(2, (-1, 2 * vectors.shape[1]))  # BTL(2P)
    return layers.transpose(1, 2), [(h.index_select(1, back), c.index_select(1, back)) for h, c in last]


def zero_states(options: BiLMOptions, rows: int, like: Tensor) -> list[State]:
    """A state of zeros for every layer, h [2, rows, P] and c [2, rows, H], in float32 on the device of `like`."""
    h, c = (like.new_zeros(2, rows, size, dtype=torch.float32) for size in (options.projection_dim, options.lstm_dim))
    return [(h.clone(), c.clone()) for _ in range(options.layers)]


def started(kept: list[State], options: BiLMOptions, rows: int, like: Tensor) -> list[State]:
    """The states that `rows` sentences start from: the kept ones, and zeros for rows that no call had."""
    states = zero_states(options, rows, like)
    for new, old in zip(states, kept, strict=False):
        for part, of_row in zip(new, old, strict=True):
            shared = min(rows, of_row.shape[1])
            part[:, :shared] = of_row[:, :shared]
    return states


@torch.no_grad()
def keep(kept: list[State], last: list[State]) -> list[State]:
    """The kept states after a call. Rows that it did not have keep theirs; gradients stop here."""
    rows = last[0][0].shape[1]
    return [
        (torch.cat([h, old_h[:, rows:].to(h)], dim=1), torch.cat([c, old_c[:, rows:].to(c)], dim=1))
        for (h, c), (old_h, old_c) in zip(last, kept or last, strict=True)
    ]


def batch_to_ids(batch: Iterable[Sequence[str]]) -> Tensor:
    """Tokenised sentences -> character ids int64 [B, T, 50], zeros after a sentence's end; no sentence markers.

    No sentences give [0, 0, 50] and empty ones [B, 0, 50], which `Elmo` accepts (AllenNLP returned two axes there).
    Raises UserError for a sentence that is a string, and for a token that is none.
    """
    return torch.from_numpy(batch_ids([list(sentence) for sentence in check_tokens(batch, "batch_to_ids")]))


def check_tokens(sentences: Iterable[Sequence[str]], call: str) -> list[Sequence[str]]:
    """The sentences as a list: a pandas Series is indexed by its labels.

    Raises UserError unless these are sentences of strings; a string would be read as a sentence of letters.
    """
    if isinstance(sentences, str):
        start = f"{sentences[:20]!r}"
        raise UserError(f"{call}: {start} is a string, expected a list of sentences. Give [{start}.split()].")
    for number, sentence in enumerate(sentences := list(sentences)):
        if isinstance(sentence, str) or not isinstance(sentence, Iterable):
            raise UserError(f"{call}: {sentence!r:.40} is a {type(sentence).__name__}, expected a list of tokens.")
        for position, token in enumerate(sentence if {*map(type, sentence)} - {str} else ()):
            if not isinstance(token, str):
                raise UserError(
                    f"{call}: token {position} of sentence {number} (counted from 0) is {token!r:.60}. Give strings."
                )
    return sentences
