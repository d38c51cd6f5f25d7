"""End-to-end span ranking (Lee et al. 2017) with ELMo (Peters et al. 2018).

[words; character CNN; ELMo] -> biLSTM over each sentence -> a vector for every span of
a sentence -> mention scores -> the best spans that do not cross -> scores of their
antecedents, one of which is "none".
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from elmo_bench.encoders.embedder import Embedder
from elmo_bench.nn.cells import Lstm, slope_
from elmo_bench.nn.dropout import Dropout, dropout_mask
from elmo_bench.nn.recurrence import recur
from elmo_bench.tasks.coref.antecedents import (
    Antecedents,
    clusters_of,
    marginal_loss,
    scorer,
)
from elmo_bench.tasks.coref.batch import DocumentBatch, Documents, document_batch
from elmo_bench.tasks.coref.conll import Document
from elmo_bench.tasks.coref.spans import SpanVectors, enumerate_spans, keep_best_spans
from elmo_bench.text.batch import Indexer


class CoupledCell(Lstm):
    """An LSTM whose input and forget gates sum to 1.

    j = tanh(x + U h), i, o = σ(x + U h), c' = (1 - i) ∘ c + i ∘ j, h' = o ∘ tanh(c').
    Blocks: j, i, o.
    """

    gates = 3
    inner = 2
    scales = (2.0, 1.0, 1.0)

    def cell(self, c: Tensor, *blocks: Tensor, out: Tensor) -> Tensor:
        j, i, _ = blocks
        return torch.lerp(c, 4 * j, i, out=out)

    def slopes(self, c: Tensor, s: Tensor, *blocks: Tensor) -> tuple[Tensor, Tensor]:
        j, i, o = blocks
        through = 1 - i
        to_c = o * (0.25 - s * s)
        d_i = (4 * j).sub_(c)
        slope_(o).mul_(s)
        torch.addcmul(i, 4 * j * j, i, value=-1, out=j)
        slope_(i).mul_(d_i)
        return to_c, through


class CoupledBiLstm(nn.Module):
    """One layer in both directions: [B, T, D] -> [B, T, 2H].

    In training, dropout zeroes units of the h that the next step reads: the same units
    at every step of a sequence, and different ones for the other direction. Recurrent
    weights start orthonormal, gate by gate.
    """

    def __init__(self, dim: int, hidden: int, *, dropout: float):
        super().__init__()
        self.hidden = hidden
        self.dim = 2 * hidden
        self.dropout = dropout
        # Gates j, i, o.
        self.inputs = nn.ModuleList(nn.Linear(dim, 3 * hidden) for _ in range(2))
        gates = [nn.init.orthogonal_(torch.empty(hidden, hidden)) for _ in range(6)]
        forward, backward = torch.cat(gates[:3]), torch.cat(gates[3:])
        self.recurrent = nn.Parameter(torch.stack([forward, backward]))  # 2(3H)H
        bound = (6 / (1 + hidden)) ** 0.5  # Glorot's of a row, as in e2e-coref
        # The first h and c of each direction.
        first = torch.empty(2, 2, hidden).uniform_(-bound, bound)
        self.first = nn.Parameter(first)
        for layer in self.inputs:
            nn.init.xavier_uniform_(layer.weight)  # type: ignore[arg-type]
            nn.init.zeros_(layer.bias)  # type: ignore[arg-type]

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """mask bool [B, T], padding last.

        Padded positions are never read and come out as zeros.
        """
        keep = None
        if self.training and self.dropout:
            shape = (len(x), 2, self.hidden)
            keep = dropout_mask(shape, self.dropout, self.recurrent)
        forward, backward = self.inputs
        return recur(
            CoupledCell,
            x,
            mask,
            weight=torch.cat([forward.weight, backward.weight]),  # type: ignore[list-item]
            bias=torch.cat([forward.bias, backward.bias]),  # type: ignore[list-item]
            recurrent=self.recurrent,
            backwards=(False, True),
            first=self.first,
            keep=keep,
            layer=self,
        )


class Head(nn.Module):
    """Span ranking.

    hidden: units per direction of each biLSTM layer; scored: sizes of both scorers'
    layers. width: maximum tokens of a span. kept: spans that pruning keeps, as a
    fraction of the tokens. antecedents: maximum candidates of a span. window: sentences
    of a document that one training step reads. feature: size of the learned vectors of
    widths, distances, speakers and genres. dropout: rates for the input (`lexical`),
    the recurrence (`lstm`), and the biLSTM's output, the scorers and the features
    (`hidden`).
    """

    def __init__(
        self,
        embedder: Embedder,
        *,
        genres: Sequence[str],
        hidden: Sequence[int],
        scored: Sequence[int],
        width: int,
        kept: float,
        antecedents: int,
        window: int,
        feature: int,
        dropout: dict[str, float],
    ):
        super().__init__()
        self.embedder = embedder
        self.width = width
        self.kept = kept
        self.window = window
        self.items = 1
        self.genres = {genre: number for number, genre in enumerate(genres, start=1)}
        # Words and characters come first in the embedder's vector; soft heads of spans
        # average these alone.
        plain = (embedder.words, embedder.characters)
        lexical = sum(part.dim for part in plain if part is not None)
        self.lexical = lexical or embedder.dim
        self.lexical_dropout = Dropout(dropout["lexical"])
        self.dropout = Dropout(dropout["hidden"])
        second = 2 * hidden[0] + embedder.output_dim
        sizes = [embedder.dim, second, *(2 * units for units in hidden[1:])]
        self.lstms = nn.ModuleList(
            CoupledBiLstm(size, units, dropout=dropout["lstm"])
            for size, units in zip(sizes, hidden, strict=False)
        )
        self.spans = SpanVectors(
            context=sizes[len(hidden)],
            lexical=self.lexical,
            longest=width,
            feature=feature,
            dropout=dropout["hidden"],
        )
        self.mention = nn.Linear(self.spans.dim, scored[0])
        self.mention_rest = scorer(scored, dropout["hidden"])
        self.antecedents = Antecedents(
            self.spans.dim,
            most=antecedents,
            genres=len(self.genres),
            feature=feature,
            hidden=scored,
            dropout=dropout["hidden"],
        )
        self.apply(_initialise)

    def collate(self, examples: Sequence[Document], index: Indexer) -> dict[str, Any]:
        """{"documents": Documents}.

        Each document is computed separately, so none depends on another.
        """
        items = []
        for example in examples:
            genre = self.genres.get(example.genre, 0)
            items.append(document_batch(example, index, genre=genre))
        return {"documents": Documents(items)}

    def forward(self, document: DocumentBatch) -> tuple[Tensor, Tensor, Tensor]:
        """First and last tokens [M] of the spans that pruning keeps, in order.

        Also the scores [M, 1 + K] of their antecedents.
        """
        lexical, context = self._read(document)  # T(lexical), T(context)
        starts, ends = enumerate_spans(document.sentences, width=self.width)  # S
        widths = self.spans.width_vectors(starts, ends)  # S(feature)
        # S(hidden)
        x = self.spans.project(
            self.mention, context, lexical, starts, ends, widths=widths
        )
        mentions = self.mention_rest(x).squeeze(1)  # S
        mentions = mentions.to(torch.promote_types(mentions.dtype, torch.float32))
        number = max(1, int(self.kept * len(document.sentences)))
        best = keep_best_spans(mentions, starts, ends, number=number)  # M
        starts, ends = starts[best], ends[best]
        vectors = self.spans(context, lexical, starts, ends, widths=widths[best])  # MD
        speakers = document.speakers[starts]  # M
        scores = self.antecedents(vectors, mentions[best], speakers, document.genre)
        return starts, ends, scores

    def loss(self, batch: dict[str, Any]) -> Tensor:
        """Negative marginal log-likelihood, summed over the spans that pruning keeps.

        Training reads a window of a long document.
        """
        total = torch.zeros(())
        self.items = 0
        for whole in batch["documents"].items:
            document = self._window(whole) if self.training else whole
            starts, ends, scores = self(document)
            self.items += len(starts)
            gold = gold_clusters(document, starts, ends)
            total = total.to(scores) + marginal_loss(scores, gold)
        return total

    def predict(self, batch: dict[str, Any]) -> list[list[list[list[int]]]]:
        """The clusters of each document, as lists of [first token, last token]."""
        clusters = []
        for document in batch["documents"].items:
            starts, ends, scores = self(document)
            clusters.append(clusters_of(scores, starts, ends))
        return clusters

    def _window(self, document: DocumentBatch) -> DocumentBatch:
        """At most `window` consecutive sentences, drawn uniformly."""
        surplus = int(document.sentences[-1]) + 1 - self.window
        if surplus <= 0:
            return document
        # Torch's generator, whose state is in the checkpoint, so that a resumed run
        # draws the same windows.
        return document.window(int(torch.randint(surplus + 1, ())), self.window)

    def _read(self, document: DocumentBatch) -> tuple[Tensor, Tensor]:
        """Lexical and contextual vectors of the tokens: [T, lexical], [T, context]."""
        words, contexts = [], []
        for text in document.pools:
            x = self.lexical_dropout(self.embedder(text))  # BT(dim)
            words.append(x[:, :, : self.lexical])
            for layer, lstm in enumerate(self.lstms):
                x = self.dropout(lstm(x, text.mask))  # BT(2H)
                if layer == 0:  # place=output, place=both
                    x = torch.cat([x, self.embedder.output(text)], dim=2)
            contexts.append(x)
        return document.in_order(words), document.in_order(contexts)


def gold_clusters(document: DocumentBatch, starts: Tensor, ends: Tensor) -> Tensor:
    """The gold cluster of each span, int64 [M], from 1; 0 without one."""
    if not len(document.starts):
        return torch.zeros_like(starts)
    tokens = len(document.sentences)
    # A number for each span.
    gold, order = torch.sort(document.starts * tokens + document.ends)  # G
    spans = starts * tokens + ends  # M
    place = torch.searchsorted(gold, spans).clamp(max=len(gold) - 1)
    return torch.where(gold[place] == spans, document.clusters[order][place], 0)


def _initialise(module: nn.Module) -> None:
    """Start as in e2e-coref: weights with Glorot's values, biases with zeros."""
    if isinstance(module, nn.Linear):
        nn.init.xavier_uniform_(module.weight)
        if module.bias is not None:
            nn.init.zeros_(module.bias)
