"""Batches of sentences through a network: sorting, reversing, carried states, character ids.

Shape letters: B sentences, T tokens, C characters, N distinct words, L layers, P projection, H cell; a leading 2 is the
direction.
"""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from elmo_bench.base.errors import UserError
from elmo_bench.elmo.kernels import Network
from elmo_bench.elmo.model import State
from elmo_bench.elmo.options import BiLMOptions
from elmo_bench.text.chars import SENTENCE_END, SENTENCE_START, WORD_LENGTH, batch_ids, words_ids


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
    sizes = (options.projection_dim, options.lstm_dim)
    h, c = (like.new_zeros(2, rows, size, dtype=torch.float32) for size in sizes)
    return [(h.clone(), c.clone()) for _ in range(options.layers)]


def states_after_markers(network: Network, vectors: Tensor) -> list[State]:
    """The states of one row after its first marker, each [2, 1, P or H]: forward `<S>`, backward `</S>`.

    vectors [3, P]: zeros, `<S>`, `</S>`. A sentence that starts there needs no markers, whose layers nobody reads.
    """
    words = torch.tensor([1, 2], device=vectors.device)[:, None, None]  # 2TB
    return network.contextual(vectors, words, zero_states(network.options, 1, vectors), [1])[1]


class States:
    """The states of a stateful encoder: row i of a call starts where row i of the call before ended."""

    def __init__(self, options: BiLMOptions):
        self.options = options
        self.kept: list[State] = []

    def start(self, rows: int, like: Tensor) -> list[State]:
        """The states of the first `rows` rows; zeros for rows that no call had."""
        zeros = zero_states(self.options, rows, like)
        for new, old in zip(zeros, self.kept, strict=False):
            for part, kept in zip(new, old, strict=True):
                shared = min(rows, kept.shape[1])
                part[:, :shared] = kept[:, :shared]
        return zeros

    @torch.no_grad()
    def keep(self, last: list[State]) -> None:
        """Remember the last states. Rows that this call did not have keep theirs; gradients stop here."""
        rows = last[0][0].shape[1]
        self.kept = [
            (torch.cat([h, old_h[:, rows:].to(h)], dim=1), torch.cat([c, old_c[:, rows:].to(c)], dim=1))
            for (h, c), (old_h, old_c) in zip(last, self.kept or last, strict=True)
        ]


ID = np.dtype(np.int16)
START, END = (row.astype(ID).tobytes() for row in words_ids([SENTENCE_START, SENTENCE_END]))
HOLE = bytes(len(START))  # a padded position between tokens


def batch_to_ids(batch: Iterable[Sequence[str]]) -> Tensor:
    """Tokenised sentences -> character ids int64 [B, T, 50], zeros after a sentence's end; no sentence markers.

    No sentences give [0, 0, 50] and empty ones [B, 0, 50], which `Elmo` accepts (AllenNLP returned two axes there).
    Raises UserError for a sentence that is a string, and for a token that is none.
    """
    sentences = batch if isinstance(batch, str) else list(batch)
    check_tokens(sentences, "batch_to_ids")
    return torch.from_numpy(batch_ids([list(sentence) for sentence in sentences]))


def check_tokens(sentences: Iterable[Sequence[str]], call: str) -> None:
    """Raises UserError unless these are sentences of strings; a string would be read as a sentence of letters."""
    if isinstance(sentences, str):
        start = f"{sentences[:20]!r}"
        raise UserError(f"{call}: {start} is a string, expected a list of sentences. Give [{start}.split()].")
    for number, sentence in enumerate(sentences):
        if isinstance(sentence, str) or not isinstance(sentence, Iterable):
            what = f"{sentence[:20]!r} is a string" if isinstance(sentence, str) else f"{sentence!r:.40}"
            raise UserError(f"{call}: {what}, expected a list of tokens. Split it.")
        for position, token in enumerate(sentence):
            if not isinstance(token, str):
                raise UserError(
                    f"{call}: token {position} of sentence {number} (counted from 0) is {token!r:.60}. Give strings."
                )


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
