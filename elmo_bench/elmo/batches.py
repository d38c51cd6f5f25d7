"""Batches of sentences through a network: sorting, reversing, carried states; `batch_to_ids`.

Shape letters: B sentences, T tokens, C characters, N distinct words, L layers, P projection, H cell; a leading 2 is the
direction.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from elmo_bench.base.errors import UserError
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

    `vectors` gives N distinct words their vectors [1 + N, P], row 0 zeros. `start` gives the states that the sentences
    start from, on the device of these vectors.
    """
    rows: dict[Hashable, int] = {}
    numbers = [rows.setdefault(word, 1 + len(rows)) for sentence in sentences for word in sentence]
    lengths = [len(sentence) for sentence in sentences]
    index = torch.zeros(len(lengths), max(lengths), dtype=torch.int64)  # BT
    index[torch.arange(index.shape[1]) < torch.tensor(lengths)[:, None]] = torch.tensor(numbers, dtype=torch.int64)
    table = vectors(list(rows))
    layers, last = layers_of(network, table, index, start(table))
    return layers, lengths, last


def layers_of(network: Network, vectors: Tensor, index: Tensor, states: list[State]) -> tuple[Tensor, list[State]]:
    """Layers [B, L, T, 2P] of B sentences, zeros after their ends, and the last states, each [2, B, P or H].

    vectors [1 + N, P] of words on the network's device, the first row zeros; index [B, T] on the CPU: rows of vectors,
    0 after a sentence's end (markers are words like any other). Layer 0 is the word's vector twice, every other layer
    [forward; backward]. Sentence i starts from row i of `states`. No result depends on other sentences.
    """
    lengths = (index > 0).sum(dim=1)  # B
    order = torch.argsort(lengths, descending=True, stable=True)
    steps = torch.arange(index.shape[1])
    mirror = lengths[:, None] - 1 - steps  # BT: reversed within the sentence
    mirror = torch.where(mirror < 0, steps, mirror)
    words = torch.stack([index, index.gather(1, mirror)])[:, order].transpose(1, 2)  # 2TB
    alive = (lengths[:, None] > steps).sum(dim=0)  # T: sentences that have a word at this step
    sizes = alive[alive > 0].tolist()

    device = vectors.device
    words = words[:, : len(sizes)].contiguous().to(device)
    index, mirror, order = index.to(device), mirror.to(device), order.to(device)
    back = torch.argsort(order)
    states = [(h[:, order], c[:, order]) for h, c in states]
    outputs, last = network.contextual(vectors, words, states, sizes)

    layers = [functional.embedding(index, vectors).repeat(1, 1, 2)]  # BT(2P)
    beyond = (0, 0, 0, 0, 0, index.shape[1] - len(sizes))
    rows = torch.arange(len(index), device=device)[:, None]
    for output in outputs:
        forward, backward = functional.pad(output, beyond).transpose(1, 2)[:, back]  # BTP each
        layers.append(torch.cat([forward, backward[rows, mirror]], dim=2))
    return torch.stack(layers, dim=1), [(h[:, back], c[:, back]) for h, c in last]


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
        for position, token in enumerate(sentence):
            if not isinstance(token, str):
                raise UserError(
                    f"{call}: token {position} of sentence {number} (counted from 0) is {token!r:.60}. Give strings."
                )
    return sentences
