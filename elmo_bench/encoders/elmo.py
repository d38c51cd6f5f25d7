"""ELMo as a frozen encoder: tokenised sentences in, layers [L, T, 2P] out."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from elmo_bench.encoders.bilm import BiLM, State
from elmo_bench.encoders.pretrained import load_bilm
from elmo_bench.text.chars import SENTENCE_END, SENTENCE_START, words_ids


class ElmoEncoder:
    """A biLM under the interface of an encoder (see `features.py`): `.layers`, `.dim`, `.checksum`, `.encode`.

    Stateless by default: every sentence starts from zero state, so its vectors depend on nothing else. With
    `stateful=True` row i of a call goes on from row i of the call before, as the original does (facts sheet 2.4).
    """

    def __init__(self, *, weights: str = "mini", stateful: bool = False, device: str = "cpu"):
        bilm, self.checksum = load_bilm(weights)
        self.bilm: BiLM = bilm
        self.bilm.to(device)
        self.stateful, self.device = stateful, device
        self._states: list[State] | None = None

    @property
    def layers(self) -> int:
        return 1 + self.bilm.options.layers

    @property
    def dim(self) -> int:
        return 2 * self.bilm.options.projection_dim

    @property
    def parameters(self) -> int:
        return sum(parameter.numel() for parameter in self.bilm.parameters())

    @property
    def states(self) -> list[State] | None:
        """With `stateful`, what the next call goes on from, rows in the caller's order; plain tensors, to be kept."""
        return self._states

    @states.setter
    def states(self, states: list[State] | None) -> None:
        self._states = states and [(h.to(self.device), c.to(self.device)) for h, c in states]

    @torch.no_grad()
    def encode(self, sentences: Sequence[Sequence[str]], *, markers: bool = False) -> list[Tensor]:
        """The layers of each sentence, float32 [L, T, D] on the CPU; with `markers`, from `<S>` to `</S>`.

        Layer 0 is the character vector twice; every other layer is [forward; backward].
        """
        if not sentences:
            return []
        marked = [[SENTENCE_START, *sentence, SENTENCE_END] for sentence in sentences]
        order = sorted(range(len(marked)), key=lambda row: -len(marked[row]))  # so that no padding is computed
        lengths = torch.tensor([len(marked[row]) for row in order])
        index: dict[str, int] = {}
        rows = [torch.tensor([index.setdefault(word, len(index)) for word in marked[row]]) for row in order]
        ahead = torch.nn.utils.rnn.pad_sequence(rows)  # TB
        back = torch.nn.utils.rnn.pad_sequence([row.flip(0) for row in rows])
        sizes = [int((lengths > t).sum()) for t in range(int(lengths[0]))]
        vectors = self.bilm.characters(torch.from_numpy(words_ids(list(index))).to(self.device))
        x = functional.embedding(torch.stack([ahead, back]).to(self.device), vectors)  # 2TBP
        outputs, last = self.bilm.contextual(x, self._start(order, x), sizes)
        if self.stateful:
            self._keep(order, last)
        results: list[Tensor] = [torch.empty(0)] * len(order)
        outputs = [layer.cpu() for layer in (x, *outputs)]
        for column, (row, length) in enumerate(zip(order, lengths.tolist(), strict=True)):
            cut = slice(0, length) if markers else slice(1, length - 1)
            layers = [outputs[0][0, :length, column].repeat(1, 2)]
            layers += [torch.cat([y[0, :length, column], y[1, :length, column].flip(0)], dim=1) for y in outputs[1:]]
            results[row] = torch.stack(layers)[:, cut]
        return results

    def _start(self, order: list[int], like: Tensor) -> list[State]:
        zeros = self.bilm.zero_states(len(order), like)
        if self._states is None:
            return zeros
        known = self._states[0][0].shape[1]
        for (h, c), (kept_h, kept_c) in zip(zeros, self._states, strict=True):
            for column, row in enumerate(order):
                if row < known:
                    h[:, column], c[:, column] = kept_h[:, row], kept_c[:, row]
        return zeros

    def _keep(self, order: list[int], last: list[State]) -> None:
        """States back in the caller's order; rows that this call did not have keep theirs."""
        back = torch.argsort(torch.tensor(order))
        now = [(h[:, back], c[:, back]) for h, c in last]
        if self._states is not None and self._states[0][0].shape[1] > len(order):
            now = [
                (torch.cat([h, old_h[:, len(order) :]], 1), torch.cat([c, old_c[:, len(order) :]], 1))
                for (h, c), (old_h, old_c) in zip(now, self._states, strict=True)
            ]
        self._states = now
