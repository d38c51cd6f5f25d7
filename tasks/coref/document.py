"""The example of this task: a document with clusters of mentions."""

from dataclasses import dataclass
from itertools import chain

Text = tuple[str, ...]
Span = tuple[int, int]  # first and last token, inclusive, from 0 over the whole document
Clusters = tuple[tuple[Span, ...], ...]


@dataclass(frozen=True)
class Document:
    """One part of a document. No span is in two clusters, and each cluster has at least two spans."""

    name: str
    part: str
    genre: str
    sentences: tuple[Text, ...]  # none of them empty
    speakers: tuple[str, ...]  # of each token, over all sentences; "-" if no speaker is named
    clusters: Clusters

    @property
    def texts(self) -> tuple[Text, ...]:
        """The sequences that the encoder reads: the sentences, each separately."""
        return self.sentences

    @property
    def gold(self) -> Clusters:
        """What predictions are compared with: the clusters."""
        return self.clusters

    @property
    def tokens(self) -> Text:
        """The tokens of all sentences."""
        return tuple(chain.from_iterable(self.sentences))


def genre_of(name: str) -> str:
    """OntoNotes: the first two letters of the document's id (`bc/cctv/00/cctv_0000`); GUM: the word after `GUM_`."""
    last = name.rpartition("/")[2]
    return last.split("_")[1] if last.startswith("GUM_") else name[:2]
