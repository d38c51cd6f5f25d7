"""From word vectors and the places of words in texts to layers: sorting, reversing, state carry."""

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional

from elmo_bench.elmo.bilm import State, zero_states
from elmo_bench.elmo.options import BiLMOptions


class Network(Protocol):
    """What `layers_of` needs of a `BiLM`; `PackedBiLM` is the faster one, without gradients."""

    options: BiLMOptions

    def characters(self, ids: Tensor) -> Tensor: ...
    def contextual(
        self, vectors: Tensor, words: Tensor, states: list[State], sizes: list[int]
    ) -> tuple[list[Tensor], list[State]]: ...


def layers_of(network: Network, vectors: Tensor, index: Tensor, states: list[State]) -> tuple[Tensor, list[State]]:
    """Layers [B, L, T, 2P] of B texts, zeros behind their ends, and the states there, each [2, B, P or H].

    vectors [1 + N, P] of words, the first row zeros; index [B, T], rows of it, 0 from a text's end on (markers are
    words like others). Layer 0 is the word's vector twice; every other layer is [forward; backward]. A row goes on
    from its state in `states`. No result depends on other rows.
    """
    lengths = (index > 0).sum(dim=1)
    order = torch.argsort(lengths, descending=True, stable=True)
    back = torch.argsort(order)
    sizes = _alive(lengths.tolist(), index.shape[1])
    steps = torch.arange(index.shape[1], device=index.device)
    mirror = lengths[:, None] - 1 - steps  # BT: reversed within the text
    mirror = torch.where(mirror < 0, steps, mirror)
    words = torch.stack([index, index.gather(1, mirror)])[:, order].transpose(1, 2)  # 2TB
    states = [(h[:, order], c[:, order]) for h, c in states]
    outputs, last = network.contextual(vectors, words[:, : len(sizes)].contiguous(), states, sizes)
    last = [(h[:, back], c[:, back]) for h, c in last]
    layers = [functional.embedding(index, vectors).repeat(1, 1, 2)]  # BT(2P)
    beyond = (0, 0, 0, 0, 0, index.shape[1] - len(sizes))
    rows = torch.arange(len(index), device=index.device)[:, None]
    for output in outputs:
        forward, backward = functional.pad(output, beyond).transpose(1, 2)[:, back]  # BTP
        layers.append(torch.cat([forward, backward[rows, mirror]], dim=2))
    return torch.stack(layers, dim=1), last


def _alive(lengths: Sequence[int], steps: int) -> list[int]:
    """How many rows still stand at each step, as far as any does."""
    ends = [0] * (steps + 1)
    for length in lengths:
        ends[length] += 1
    alive, sizes = len(lengths) - ends[0], []
    for t in range(1, steps + 1):
        if not alive:
            break
        sizes.append(alive)
        alive -= ends[t]
    return sizes


def behind_markers(network: Network, vectors: Tensor) -> list[State]:
    """The states of one row behind its first marker, each [2, 1, P or H]: forward `<S>`, backward `</S>`.

    vectors [3, P]: zeros, `<S>`, `</S>`. A text that starts there needs no markers, whose own layers nobody reads.
    """
    words = torch.tensor([1, 2], device=vectors.device)[:, None, None]
    return network.contextual(vectors, words, zero_states(network.options, 1, vectors), [1])[1]


class States:
    """What a stateful encoder carries from call to call: row i of a call goes on from row i of the one before."""

    def __init__(self, options: BiLMOptions):
        self.options = options
        self.kept: list[State] = []

    def start(self, rows: int, like: Tensor) -> list[State]:
        """The first `rows` states; zeros where there are not so many."""
        zeros = zero_states(self.options, rows, like)
        for new, old in zip(zeros, self.kept, strict=False):
            for part, kept in zip(new, old, strict=True):
                shared = min(rows, kept.shape[1])
                part[:, :shared] = kept[:, :shared]
        return zeros

    @torch.no_grad()
    def keep(self, last: list[State]) -> None:
        """Rows that this call did not have keep theirs; no gradient flows from call to call."""
        rows = last[0][0].shape[1]
        self.kept = [
            (torch.cat([h, old_h[:, rows:].to(h)], dim=1), torch.cat([c, old_c[:, rows:].to(c)], dim=1))
            for (h, c), (old_h, old_c) in zip(last, self.kept or last, strict=True)
        ]
