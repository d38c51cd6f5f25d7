"""End-to-end span ranking (Lee et al. 2017) with ELMo (Peters et al. 2018).

[words; character CNN; ELMo] -> biLSTM over each sentence -> a vector for every span of a sentence -> mention scores ->
the best spans that do not cross -> scores of their antecedents, one of which is "none".
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from elmo_bench.encoders.embedder import Embedder
from elmo_bench.nn.dropout import Dropout, dropout_mask
from elmo_bench.nn.recurrence import Lstm, recur, slope_
from elmo_bench.tasks.coref.antecedents import Antecedents, clusters_of, marginal_loss, scorer
from elmo_bench.tasks.coref.batch import DocumentBatch, Documents, document_batch
from elmo_bench.tasks.coref.conll import Document
from elmo_bench.tasks.coref.spans import SpanVectors, enumerate_spans, keep_best_spans
from elmo_bench.text.batch import Indexer


class CoupledCell(Lstm):
    """j = tanh(x + U h), i, o = σ(x + U h), c' = (1 - i) ∘ c + i ∘ j, h' = o ∘ tanh(c'). Blocks: j, i, o."""

    gates, inner, scales = 3, 2, (2.0, 1.0, 1.0)

    def cell(self, c: Tensor, *blocks: Tensor, out: Tensor) -> Tensor:
        j, i, _ = blocks
        return torch.lerp(c, 4 * j, i, out=out)

    def slopes(self, c: Tensor, s: Tensor, *blocks: Tensor) -> tuple[Tensor, Tensor]:
        j, i, o = blocks
        through, to_c, d_i = 1 - i, o * (0.25 - s * s), (4 * j).sub_(c)
        slope_(o).mul_(s)
        torch.addcmul(i, 4 * j * j, i, value=-1, out=j)
        slope_(i).mul_(d_i)
        return to_c, through


class CoupledBiLstm(nn.Module):
    """One layer in both directions: [B, T, D] -> [B, T, 2H].

    In training, dropout zeroes units of the h that the next step reads: the same units at every step of a sequence, and
    different ones for the other direction. Recurrent weights start orthonormal, gate by gate.
    """

    def __init__(self, dim: int, hidden: int, *, dropout: float):
        super().__init__()
        self.hidden, self.dim, self.dropout = hidden, 2 * hidden, dropout
        self.inputs = nn.ModuleList(nn.Linear(dim, 3 * hidden) for _ in range(2))  # gates j, i, o
        gates = [nn.init.orthogonal_(torch.empty(hidden, hidden)) for _ in range(6)]
        self.recurrent = nn.Parameter(torch.stack([torch.cat(gates[:3]), torch.cat(gates[3:])]))  # 2(3H)H
        bound = (6 / (1 + hidden)) ** 0.5  # Glorot's of a row, as in e2e-coref
        self.first = nn.Parameter(torch.empty(2, 2, hidden).uniform_(-bound, bound))  # h and c of each direction
        for layer in self.inputs:
            nn.init.xavier_uniform_(layer.weight)  # type: ignore[arg-type]
            nn.init.zeros_(layer.bias)  # type: ignore[arg-type]

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """mask bool [B, T], padding last. Padded positions are never read and come out as zeros."""
        weight, bias = (torch.cat([getattr(layer, name) for layer in self.inputs]) for name in ("weight", "bias"))
        keep = None
        if self.training and self.dropout:
            keep = dropout_mask((len(x), 2, self.hidden), self.dropout, self.recurrent)  # B2H
        return recur(
            CoupledCell,
            x,
            mask,
            weight=weight,
            bias=bias,
            recurrent=self.recurrent,
            backwards=(False, True),
            first=self.first,
            keep=keep,
        )


class Head(nn.Module):
    """Span ranking. hidden: units per direction of each biLSTM layer; scored: sizes of both scorers' layers.

    width: maximum tokens of a span. kept: spans that pruning keeps, as a fraction of the tokens. antecedents: maximum
    candidates of a span. window: sentences of a document that one training step reads. feature: size of the learned
    vectors of widths, distances, speakers and genres. dropout: rates for the input (`lexical`), the recurrence
    (`lstm`), and the biLSTM's output, the scorers and the features (`hidden`).
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
        self.embedder, self.width, self.kept, self.window, self.items = embedder, width, kept, window, 1
        self.genres = {genre: number for number, genre in enumerate(genres, start=1)}
        # Words and characters come first in the embedder's vector; soft heads of spans average these alone.
        plain = [part.dim for part in (embedder.words, embedder.characters) if part is not None]
        self.lexical = sum(plain) or embedder.dim
        self.lexical_dropout, self.dropout = Dropout(dropout["lexical"]), Dropout(dropout["hidden"])
        sizes = [embedder.dim, 2 * hidden[0] + embedder.output_dim, *(2 * units for units in hidden[1:])]
        self.lstms = nn.ModuleList(
            CoupledBiLstm(size, units, dropout=dropout["lstm"]) for size, units in zip(sizes, hidden, strict=False)
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
        """{"documents": Documents}: each is computed separately, so none depends on another."""
        items = [document_batch(example, index, genre=self.genres.get(example.genre, 0)) for example in examples]
        return {"documents": Documents(items)}

    def forward(self, document: DocumentBatch) -> tuple[Tensor, Tensor, Tensor]:
        """First and last tokens [M] of the spans kept, in order, and the scores [M, 1 + K] of their antecedents."""
        lexical, context = self._read(document)  # T(lexical), T(context)
        starts, ends = enumerate_spans(document.sentences, width=self.width)  # S
        widths = self.spans.width_vectors(starts, ends)  # S(feature)
        x = self.spans.project(self.mention, context, lexical, starts, ends, widths=widths)  # S(hidden)
        mentions = self.mention_rest(x).squeeze(1)  # S
        mentions = mentions.to(torch.promote_types(mentions.dtype, torch.float32))
        number = max(1, int(self.kept * len(document.sentences)))
        kept = keep_best_spans(mentions, starts, ends, number=number)  # M
        starts, ends = starts[kept], ends[kept]
        vectors = self.spans(context, lexical, starts, ends, widths=widths[kept])  # MD
        return starts, ends, self.antecedents(vectors, mentions[kept], document.speakers[starts], document.genre)

    def loss(self, batch: dict[str, Any]) -> Tensor:
        """Negative marginal log-likelihood, summed over the kept spans; training reads a window of a long document."""
        total, self.items = torch.zeros(()), 0
        for whole in batch["documents"].items:
            document = self._window(whole) if self.training else whole
            starts, ends, scores = self(document)
            self.items += len(starts)
            total = total.to(scores) + marginal_loss(scores, gold_clusters(document, starts, ends))
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
        # Torch's generator, whose state is in the checkpoint, so that a resumed run draws the same windows.
        return document.window(int(torch.randint(surplus + 1, ())), self.window)

    def _read(self, document: DocumentBatch) -> tuple[Tensor, Tensor]:
        """Lexical and contextual vectors of the tokens: [T, lexical] and [T, context]."""
        words, contexts = [], []
        for text in document.pools:
            x = self.lexical_dropout(self.embedder(text))  # BT(dim)
            words.append(x[:, :, : self.lexical])
            for layer, lstm in enumerate(self.lstms):
                x = self.dropout(lstm(x, text.mask))  # BT(2H)
                if layer == 0:
                    x = torch.cat([x, self.embedder.output(text)], dim=2)  # place=output, place=both
            contexts.append(x)
        return document.in_order(words), document.in_order(contexts)


def gold_clusters(document: DocumentBatch, starts: Tensor, ends: Tensor) -> Tensor:
    """The gold cluster of each span, int64 [M], from 1; 0 for a span that is not a gold mention."""
    if not len(document.starts):
        return torch.zeros_like(starts)
    tokens = len(document.sentences)
    gold, order = torch.sort(document.starts * tokens + document.ends)  # G: a number for each span
    spans = starts * tokens + ends  # M
    place = torch.searchsorted(gold, spans).clamp(max=len(gold) - 1)
    return torch.where(gold[place] == spans, document.clusters[order][place], 0)


def _initialise(module: nn.Module) -> None:
    """As in e2e-coref, whose variables start with Glorot's values; biases with zeros."""
    if isinstance(module, nn.Linear):
        nn.init.xavier_uniform_(module.weight)
        if module.bias is not None:
            nn.init.zeros_(module.bias)
