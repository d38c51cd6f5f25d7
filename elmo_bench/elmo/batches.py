"""Batches of sentences through a network: sorting, reversing, carried states.

Also `batch_to_ids`, and checks of what is read.

Shape letters: B sentences, T tokens, C characters, N distinct words, L layers, P
projection, H cell; a leading 2 is the direction.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence, Sized
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
from elmo_bench.text.chars import CHARACTERS, WORD_LENGTH, batch_ids

WHOLE = (torch.int16, torch.int32, torch.int64)  # types of character ids


def layers_of_words(
    network: Network,
    vectors: Callable[[Sequence[Any]], Tensor],
    sentences: Sequence[Sequence[Hashable]],
    start: Callable[[Tensor], list[State]],
) -> tuple[Tensor, list[int], list[State]]:
    """Layers [B, L, T, 2P] of sentences, their lengths, and the last states.

    See `layers_of`. `vectors` gives N words their vectors [1 + N, P], row 0 zeros.
    `start` gives the states that the sentences start from, on the device of these
    vectors.
    """
    rows = _Numbers()
    lengths = [len(sentence) for sentence in sentences]
    words = chain.from_iterable(sentences)
    numbers = np.fromiter(map(rows.__getitem__, words), np.int64, sum(lengths))
    index = torch.zeros(len(lengths), max(lengths), dtype=torch.int64)  # BT
    steps = torch.arange(index.shape[1])
    inside = steps < torch.tensor(lengths)[:, None]
    index[inside] = torch.from_numpy(numbers)
    table = vectors(list(rows))
    layers, last = layers_of(network, table, index, start(table))
    return layers, lengths, last


class _Numbers(dict[Hashable, int]):
    """Numbers words from 1 in the order in which they are first asked for."""

    def __missing__(self, word: Hashable) -> int:
        number = self[word] = 1 + len(self)
        return number


def layers_of(
    network: Network, vectors: Tensor, index: Tensor, states: list[State]
) -> tuple[Tensor, list[State]]:
    """Layers [B, L, T, 2P] of B sentences, and the last states, each [2, B, P or H].

    vectors [1 + N, P] of words on the network's device, the first row zeros; index
    [B, T] on the CPU: rows of vectors, 0 after a sentence's end (markers are words like
    any other).

    Layer 0 is the word's vector twice, every other layer [forward; backward], with
    zeros after a sentence's end. Sentence i starts from row i of `states`. No result
    depends on other sentences.
    """
    lengths = (index > 0).sum(dim=1)  # B
    order = torch.argsort(lengths, descending=True, stable=True)
    back = torch.argsort(order)
    steps = torch.arange(int(lengths.max()))
    index = index[:, : len(steps)]
    mirror = lengths[:, None] - 1 - steps  # BT: reversed within the sentence
    mirror = torch.where(mirror < 0, steps, mirror)
    words = torch.stack([index, index.gather(1, mirror)])  # 2BT
    words = words[:, order].transpose(1, 2)  # 2TB
    places = torch.stack([steps.expand_as(mirror), mirror])  # 2BT
    places = places * len(index) + back[:, None]  # among the rows [T B] of outputs
    sizes = (lengths[:, None] > steps).sum(dim=0)  # T: sentences with a word at a step

    index, words, places, order, back = moved(
        vectors.device, index, words, places, order, back
    )
    states = _in_order(states, order)
    outputs, last = network.contextual(vectors, words, states, sizes.tolist())
    x = functional.embedding(index, vectors)  # BTP
    parts = [x, x]
    for output in outputs:
        forward, backward = output.flatten(1, 2)  # (T B)P
        parts.append(functional.embedding(places[0], forward))
        parts.append(functional.embedding(places[1], backward))
    layers = torch.cat(parts, dim=2).unflatten(2, (-1, 2 * vectors.shape[1]))  # BTL(2P)
    return layers.transpose(1, 2), _in_order(last, back)


def _in_order(states: list[State], order: Tensor) -> list[State]:
    """The states with their rows [B] in this order."""
    return [(h.index_select(1, order), c.index_select(1, order)) for h, c in states]


def zero_states(options: BiLMOptions, rows: int, like: Tensor) -> list[State]:
    """A state of zeros for every layer, h [2, rows, P] and c [2, rows, H].

    They are float32, on the device of `like`.
    """
    h = like.new_zeros(2, rows, options.projection_dim, dtype=torch.float32)
    c = like.new_zeros(2, rows, options.lstm_dim, dtype=torch.float32)
    return [(h.clone(), c.clone()) for _ in range(options.layers)]


def started(
    earlier: list[State], options: BiLMOptions, rows: int, like: Tensor
) -> list[State]:
    """The states that `rows` sentences start from.

    These are the states after earlier calls, and zeros for rows that no call had.
    """
    states = zero_states(options, rows, like)
    for new, old in zip(states, earlier, strict=False):
        for new_rows, old_rows in zip(new, old, strict=True):
            shared = min(rows, old_rows.shape[1])
            new_rows[:, :shared] = old_rows[:, :shared]
    return states


@torch.no_grad()
def keep(earlier: list[State], last: list[State]) -> list[State]:
    """The states to keep after a call. Gradients stop here.

    Rows that the call did not have keep their earlier states.
    """
    states = []
    for (h, c), (old_h, old_c) in zip(last, earlier or last, strict=True):
        rows = h.shape[1]
        h_of_all = torch.cat([h, old_h[:, rows:].to(h)], dim=1)
        c_of_all = torch.cat([c, old_c[:, rows:].to(c)], dim=1)
        states.append((h_of_all, c_of_all))
    return states


def batch_to_ids(batch: Iterable[Iterable[str]]) -> Tensor:
    """Tokenised sentences -> character ids int64 [B, T, 50].

    Zeros follow a sentence's end; there are no sentence markers. No sentences give
    [0, 0, 50] and empty ones [B, 0, 50], which `Elmo` accepts (AllenNLP returned two
    axes there). Raises UserError for a sentence that is a string, and for a token that
    is none.
    """
    sentences = [list(sentence) for sentence in check_tokens(batch, "batch_to_ids")]
    return torch.from_numpy(batch_ids(sentences))


def check_tokens(sentences: Iterable[Iterable[str]], call: str) -> list[Sequence[str]]:
    """The sentences as a list: a pandas Series is indexed by its labels.

    A sentence that can be read only once, such as `map(…)`, becomes a list. Raises
    UserError unless these are sentences of strings; a string would be read as a
    sentence of letters.
    """
    if isinstance(sentences, str):
        start = f"{sentences[:20]!r}"
        raise UserError(
            f"{call}: {start} is a string, expected a list of sentences. "
            f"Give [{start}.split()]."
        )
    checked: list[Sequence[str]] = []
    for number, given in enumerate(sentences):
        if isinstance(given, str) or not isinstance(given, Iterable):
            kind = type(given).__name__
            raise UserError(
                f"{call}: {given!r:.40} is a {kind}, expected a list of tokens."
            )
        sentence: Any = given if isinstance(given, Sized) else list(given)
        checked.append(sentence)
        if {*map(type, sentence)} <= {str}:  # several times faster than one by one
            continue
        for position, token in enumerate(sentence):
            if not isinstance(token, str):
                raise UserError(
                    f"{call}: token {position} of sentence {number} (counted from 0) "
                    f"is {token!r:.60}. Give strings."
                )
    return checked


def check_ids(inputs: Tensor) -> np.ndarray:
    """The numbers of character ids [..., T, C].

    Raises UserError for anything that `batch_to_ids` does not make.
    """
    if _has_axes(inputs):
        ids = inputs.cpu().numpy()
        if _has_values(ids):
            return ids
    what = type(inputs).__name__
    if isinstance(inputs, Tensor):
        what = f"{inputs.dtype} {[*inputs.shape]}"
    raise UserError(
        f"inputs: {what}, expected integers from 0 to {CHARACTERS - 1}, "
        f"[B, T, {WORD_LENGTH}], without padding before a token. "
        "Use batch_to_ids(sentences)."
    )


def _has_axes(inputs: Any) -> bool:
    """Whether these are integers [B, T, C], or with more axes in front."""
    if not isinstance(inputs, Tensor) or inputs.dtype not in WHOLE:
        return False
    return inputs.ndim >= 3 and inputs.shape[-1] == WORD_LENGTH


def _has_values(ids: np.ndarray) -> bool:
    """Whether these are ids of characters, without padding before a token."""
    if not ids.size:
        return True
    if ids.min() < 0 or ids.max() >= CHARACTERS:
        return False
    real = np.asarray(ids.any(axis=-1))  # ...T
    late = real[..., 1:] & ~real[..., :-1]
    return not late.any()
