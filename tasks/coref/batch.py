"""A document as tensors."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from elmo_bench.tasks.coref.conll import Document
from elmo_bench.text.batch import Indexer, TextBatch, by_length, pools

# Padded tokens in a pool of sentences, which has at least one sentence.
TOKENS_AT_ONCE = 4096


@dataclass
class DocumentBatch:
    """One document, T tokens.

    Its sentences go through the encoder in pools of similar length.
    """

    pools: list[TextBatch]
    positions: list[Tensor]  # of the tokens of each pool in the document: int64 [B, T]
    sentences: Tensor  # int64 [T], the sentence of each token, from 0
    speakers: Tensor  # int64 [T]
    genre: Tensor  # int64 []
    starts: Tensor  # int64 [G], first tokens of the gold mentions
    ends: Tensor  # int64 [G], last tokens
    clusters: Tensor  # int64 [G], from 1

    @property
    def mask(self) -> Tensor:
        """bool [T], all true; progress counts tokens by it."""
        return torch.ones_like(self.sentences, dtype=torch.bool)

    def window(self, first: int, number: int) -> "DocumentBatch":
        """`number` sentences from sentence `first` on, and the mentions within them."""
        inside = (self.sentences >= first) & (self.sentences < first + number)  # T
        begin, length = int(inside.int().argmax()), int(inside.sum())
        pools, positions = [], []
        for pool, places in zip(self.pools, self.positions, strict=True):
            rows = inside[places[:, 0]]  # B
            if rows.any():
                cut = _rows(pool, rows)
                pools.append(cut)
                positions.append(places[rows, : cut.mask.shape[1]] - begin)
        gold = (self.starts >= begin) & (self.ends < begin + length)  # G
        return replace(
            self,
            pools=pools,
            positions=positions,
            sentences=self.sentences[inside] - first,
            speakers=self.speakers[inside],
            starts=self.starts[gold] - begin,
            ends=self.ends[gold] - begin,
            clusters=self.clusters[gold],
        )

    def in_order(self, pooled: Sequence[Tensor]) -> Tensor:
        """Values of each pool, [B, T, D], as [T, D] in the order of the document."""
        positions = self._flat(self.positions)
        return self._flat(pooled)[torch.argsort(positions)]

    def _flat(self, pooled: Sequence[Tensor]) -> Tensor:
        """[B, T, ...] of each pool -> [T, ...] of the tokens of all pools."""
        pairs = zip(pooled, self.pools, strict=True)
        return torch.cat([values[pool.mask] for values, pool in pairs])


@dataclass
class Documents:
    """The documents of a batch."""

    items: list[DocumentBatch]

    @property
    def mask(self) -> Tensor:
        """bool, one true for each token of all documents."""
        return torch.cat([item.mask for item in self.items])


def document_batch(document: Document, index: Indexer, *, genre: int) -> DocumentBatch:
    """The tensors of a document."""
    lengths = [len(sentence) for sentence in document.sentences]
    before = torch.tensor([0, *lengths]).cumsum(0)
    order = by_length(lengths)
    texts, positions = [], []
    for group in pools(order, lengths, size=len(lengths), tokens=TOKENS_AT_ONCE):
        text = index([document.sentences[number] for number in group])
        texts.append(text)
        positions.append(before[group][:, None] + torch.arange(text.mask.shape[1]))
    speakers: dict[str, int] = {}
    for speaker in document.speakers:
        speakers.setdefault(speaker, len(speakers))
    mentions = []
    for number, spans in enumerate(document.clusters, start=1):
        mentions += [(*span, number) for span in spans]
    table = torch.tensor(mentions, dtype=torch.int64).reshape(-1, 3)
    starts, ends, clusters = table.unbind(1)
    return DocumentBatch(
        pools=texts,
        positions=positions,
        sentences=torch.repeat_interleave(torch.tensor(lengths)),
        speakers=torch.tensor([speakers[speaker] for speaker in document.speakers]),
        genre=torch.tensor(genre),
        starts=starts,
        ends=ends,
        clusters=clusters,
    )


def _rows(pool: TextBatch, rows: Tensor) -> TextBatch:
    """These rows of a pool (bool [B]), as long as the longest of them."""
    longest = int(pool.mask[rows].sum(dim=1).max())
    words = spellings = None
    if pool.words is not None:
        words = pool.words[rows, :longest]
    if pool.spellings is not None:
        spellings = pool.spellings[rows, :longest]
    layers = {name: part[rows, :, :longest] for name, part in pool.layers.items()}
    mask = pool.mask[rows, :longest]
    return TextBatch(mask, words, pool.characters, spellings, layers)
