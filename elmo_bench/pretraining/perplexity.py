"""Perplexity of held-out text, defined in docs/pretraining.md: each sentence alone from zero state, full softmax.

Shape letters: B sentences, T steps, N words, P projection, V vocabulary; a leading 2 is the direction.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from elmo_bench.base.errors import UserError
from elmo_bench.base.progress import progress
from elmo_bench.base.threads import parallel_map
from elmo_bench.elmo.batches import zero_states
from elmo_bench.elmo.frozen import FrozenBiLM, frozen
from elmo_bench.elmo.model import BiLM, State
from elmo_bench.pretraining.corpus import Corpus, Skipped
from elmo_bench.pretraining.model import LanguageModel
from elmo_bench.pretraining.vocabulary import MARKERS, UNKNOWN, TargetVocabulary
from elmo_bench.text.chars import SENTENCE_END, SENTENCE_START
from elmo_bench.text.pools import by_length, pools

ROWS, TOKENS = 128, 4096  # at most, of a pool of sentences that go through the network together
STRETCH = 2048  # sentences in memory, of which pools are made
OUTSIDE = -1  # the target after a row's end


class Alone:
    """A frozen biLM that reads each sentence alone."""

    def __init__(self, bilm: BiLM, vocabulary: TargetVocabulary, *, device: str = "cpu"):
        self.options, self.vocabulary, self.device = bilm.options, vocabulary, device
        self.frozen = FrozenBiLM(bilm, device=device)

    def tops(self, pool: Sequence[list[str]]) -> Iterator[tuple[Tensor, Tensor]]:
        """Top layer [2, N, P] and targets int64 [2, N] of all words, in parts: N is bounded for any sentence.

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
        """Some steps of rows that start from `states`. A row has one word more than targets."""
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


BLOCK = 1024  # rows and columns of the logits in memory at once: 4 MiB, which stay in the cache


@dataclass(frozen=True)
class Perplexity:
    """The figures. Targets are counted for one direction, sentence ends (`</S>` or `<S>`) included."""

    forward: float
    backward: float
    average: float  # exp of the mean of both directions' mean losses
    forward_without_unknown: float  # over the targets that are not <UNK>, with the same softmax
    backward_without_unknown: float
    average_without_unknown: float
    unknown_percent: float  # of the targets
    sentences: int
    skipped: int  # lines that were too long
    targets: int
    words: int  # of the softmax


def perplexity(
    model: LanguageModel, vocabulary: TargetVocabulary, corpus: Corpus, *, device: str = "cpu"
) -> Perplexity:
    """Perplexity of held-out files, which are read twice, as streams. Raises UserError if they have no sentence."""
    skipped = Skipped()
    count = sum(1 for file in corpus.files for _ in corpus.lines(file, skipped))
    if not count:
        raise UserError(
            f"{', '.join(map(str, corpus.files))}: no sentence in the held-out text. Give one sentence a line."
        )
    alone = Alone(model.bilm, vocabulary, device=device)
    weight, bias = (parameter.detach().float().to(device) for parameter in (model.softmax.weight, model.softmax.bias))
    unknown = MARKERS.index(UNKNOWN)

    @frozen
    def sums(pool: Sequence[list[str]]) -> Tensor:
        """[2, 2, 2]: direction x (all, without <UNK>) x (loss, targets)."""
        total = torch.zeros(2, 2, 2, dtype=torch.double)
        for top, targets in alone.tops(pool):
            for d in (0, 1):
                found, known = losses(top[d], targets[d], weight, bias).double(), targets[d] != unknown
                for kind, some in enumerate((found, found[known])):
                    total[d, kind] += torch.tensor([some.sum(), len(some)], dtype=torch.double)
        return total

    total = torch.zeros(2, 2, 2, dtype=torch.double)
    each = parallel_map if torch.device(device).type == "cpu" else map
    with progress("evaluate", total=count) as meter:
        if skipped.lines:
            meter.say(str(skipped))
        for stretch in pooled(chain.from_iterable(map(corpus.sentences, corpus.files))):
            for pool, part in zip(stretch, each(sums, stretch), strict=True):
                total += part
                meter.advance(sum(map(len, pool)), steps=len(pool))
    return _figures(total, sentences=count, skipped=skipped.lines, words=len(vocabulary))


def losses(x: Tensor, targets: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Cross-entropy [N] of features [N, P] against softmax weights [V, P] and bias [V]; float32, logits in blocks."""
    found = []
    for some, wanted in zip(x.split(BLOCK), targets.split(BLOCK), strict=True):
        blocks = zip(weight.split(BLOCK), bias.split(BLOCK), strict=True)
        total = torch.stack([torch.logsumexp(functional.linear(some, *block), dim=1) for block in blocks])
        found.append(torch.logsumexp(total, dim=0) - (some * weight[wanted]).sum(dim=1) - bias[wanted])
    return torch.cat(found)


def _figures(total: Tensor, *, sentences: int, skipped: int, words: int) -> Perplexity:
    means = total[:, :, 0] / total[:, :, 1]  # direction x (all, without <UNK>)
    (forward, forward_known), (backward, backward_known) = means.exp().tolist()
    average, average_known = means.mean(dim=0).exp().tolist()
    targets, known = total[0, :, 1].tolist()
    return Perplexity(
        forward=forward,
        backward=backward,
        average=average,
        forward_without_unknown=forward_known,
        backward_without_unknown=backward_known,
        average_without_unknown=average_known,
        unknown_percent=100 * (1 - known / targets),
        sentences=sentences,
        skipped=skipped,
        targets=int(targets),
        words=words,
    )
