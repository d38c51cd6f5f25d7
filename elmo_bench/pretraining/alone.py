"""Sentences, each alone from zero state, through a frozen biLM: what the softmax sees of them, and its targets.

Shape letters: B sentences, T steps, N places of words, P projection; the leading 2 is the direction.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from elmo_bench.elmo.batches import zero_states
from elmo_bench.elmo.frozen import FrozenBiLM, frozen
from elmo_bench.elmo.model import BiLM, State
from elmo_bench.pretraining.vocabulary import TargetVocabulary
from elmo_bench.text.chars import SENTENCE_END, SENTENCE_START
from elmo_bench.text.pools import by_length, pools

ROWS, TOKENS = 128, 4096  # at most, of a pool of sentences that go through the network together
STRETCH = 2048  # sentences in memory, of which pools are made
OUTSIDE = -1  # the target behind a row's end


class Alone:
    """A frozen biLM that reads sentences without what stood before them."""

    def __init__(self, bilm: BiLM, vocabulary: TargetVocabulary, *, device: str = "cpu"):
        self.options, self.vocabulary, self.device = bilm.options, vocabulary, device
        self.frozen = FrozenBiLM(bilm, device=device)

    def tops(self, pool: Sequence[list[str]]) -> Iterator[tuple[Tensor, Tensor]]:
        """Top layer [2, N, P] and targets int64 [2, N], every word once; N is bounded however long a sentence is.

        Forward rows are `<S> w1 … wn` with targets `w1 … wn </S>`, backward rows `</S> wn … w1` with `wn … w1 <S>`.
        """
        ahead = [[SENTENCE_START, *sentence, SENTENCE_END] for sentence in sorted(pool, key=len, reverse=True)]
        sides = ahead, [row[::-1] for row in ahead]
        lengths = torch.tensor([len(row) - 1 for row in ahead])
        states = zero_states(self.options, len(ahead), torch.empty(0, device=self.device))
        start = 0
        while alive := int((lengths > start).sum()):
            stop = min(start + max(1, TOKENS // alive), int(lengths[0]))
            part = [[row[start : stop + 1] for row in side[:alive]] for side in sides]
            states = [(h[:, :alive], c[:, :alive]) for h, c in states]
            top, targets, states = self._steps(part, states, (lengths[:, None] > torch.arange(start, stop)).sum(dim=0))
            yield top, targets
            start = stop

    @frozen
    def _steps(
        self, sides: Sequence[Sequence[list[str]]], states: list[State], sizes: Tensor
    ) -> tuple[Tensor, Tensor, list[State]]:
        """Some steps of rows that go on from `states`; the words of a row stand one place before its targets."""
        places: dict[str, int] = {}
        words = torch.stack(
            [
                pad_sequence(
                    [torch.tensor([places.setdefault(word, 1 + len(places)) for word in row[:-1]]) for row in side]
                )
                for side in sides
            ]
        )  # 2TB
        targets = torch.stack(
            [
                pad_sequence([torch.tensor(self.vocabulary.ids(row[1:])) for row in side], padding_value=OUTSIDE)
                for side in sides
            ]
        )
        outputs, states = self.frozen.network.contextual(
            self.frozen.vectors(list(places)), words.to(self.device), states, sizes.tolist()
        )
        inside = targets[0] != OUTSIDE  # TB, of both directions
        return outputs[-1][:, inside.to(self.device)], targets[:, inside].to(self.device), states


def pooled(sentences: Iterable[list[str]]) -> Iterator[list[list[list[str]]]]:
    """Pools of sentences of similar lengths, a stretch of the text at a time; nothing else of it is in memory."""
    rest = iter(sentences)
    while stretch := list(islice(rest, STRETCH)):
        lengths = [len(sentence) + 1 for sentence in stretch]
        yield [
            [stretch[number] for number in pool]
            for pool in pools(by_length(lengths), lengths, size=ROWS, tokens=TOKENS)
        ]
