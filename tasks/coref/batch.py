"""A document as tensors."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from elmo_bench.tasks.coref.conll import Document
from elmo_bench.text.batch import Indexer, TextBatch, by_length, pools

TOKENS_AT_ONCE = 4096  # padded tokens in a pool of sentences, which has at least one sentence


@dataclass
class DocumentBatch:
    """One document, T tokens. Its sentences go through the encoder in pools of similar length."""

    pools: list[TextBatch]
    positions: list[Tensor]  # for each pool int64 [B, T]: the positions of its tokens in the document
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
        """`number` sentences from the sentence `first` on, and the mentions within them."""
        inside = (self.sentences >= first) & (self.sentences < first + number)  # T
        begin, length = int(inside.int().argmax()), int(inside.sum())
        touched = [(pool, own, inside[own[:, 0]]) for pool, own in zip(self.pools, self.positions, strict=True)]
        cut = [(_rows(pool, rows), own[rows] - begin) for pool, own, rows in touched if rows.any()]
        kept = (self.starts >= begin) & (self.ends < begin + length)  # G
        return replace(
            self,
            pools=[pool for pool, _ in cut],
            positions=[own[:, : pool.mask.shape[1]] for pool, own in cut],
            sentences=self.sentences[inside] - first,
            speakers=self.speakers[inside],
            starts=self.starts[kept] - begin,
            ends=self.ends[kept] - begin,
            clusters=self.clusters[kept],
        )

    def in_order(self, pooled: Sequence[Tensor]) -> Tensor:
        """Values of each pool, [B, T, D], as [T, D] in the order of the document."""
        positions = torch.cat([own[pool.mask] for own, pool in zip(self.positions, self.pools, strict=True)])
        values = torch.cat([value[pool.mask] for value, pool in zip(pooled, self.pools, strict=True)])
        return values[torch.argsort(positions)]


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
    groups = list(pools(by_length(lengths), lengths, size=len(lengths), tokens=TOKENS_AT_ONCE))
    texts = [index([document.sentences[number] for number in group]) for group in groups]
    speakers = {speaker: number for number, speaker in enumerate(dict.fromkeys(document.speakers))}
    mentions = [(*span, number) for number, spans in enumerate(document.clusters, start=1) for span in spans]
    starts, ends, clusters = torch.tensor(mentions, dtype=torch.int64).reshape(-1, 3).unbind(1)
    return DocumentBatch(
        pools=texts,
        positions=[
            before[group][:, None] + torch.arange(text.mask.shape[1]) for group, text in zip(groups, texts, strict=True)
        ],
        sentences=torch.repeat_interleave(torch.tensor(lengths)),
        speakers=torch.tensor([speakers[speaker] for speaker in document.speakers]),
        genre=torch.tensor(genre),
        starts=starts,
        ends=ends,
        clusters=clusters,
    )


def _rows(pool: TextBatch, rows: Tensor) -> TextBatch:
    longest = int(pool.mask[rows].sum(dim=1).max())
    words, spellings = (None if each is None else each[rows, :longest] for each in (pool.words, pool.spellings))
    layers = {part: each[rows, :, :longest] for part, each in pool.layers.items()}
    return TextBatch(pool.mask[rows, :longest], words, pool.characters, spellings, layers)
