"""The one item of this task."""

from dataclasses import dataclass
from itertools import chain

Text = tuple[str, ...]
Span = tuple[int, int]  # first and last token, inclusive, counted from 0 over the whole document
Clusters = tuple[tuple[Span, ...], ...]


@dataclass(frozen=True)
class Document:
    """One part of a document. No span stands in two of its clusters, and each cluster has two spans or more."""

    name: str
    part: str
    genre: str
    sentences: tuple[Text, ...]  # none of them empty
    speakers: tuple[str, ...]  # one a token, over all sentences; "-" where nobody is named
    clusters: Clusters

    @property
    def texts(self) -> tuple[Text, ...]:
        """The tokenised texts that an encoder must see: each sentence alone."""
        return self.sentences

    @property
    def gold(self) -> Clusters:
        """What predictions are compared with."""
        return self.clusters

    @property
    def tokens(self) -> Text:
        """The tokens of all sentences."""
        return tuple(chain.from_iterable(self.sentences))


def genre_of(name: str) -> str:
    """OntoNotes: the first two letters of the document's id (`bc/cctv/00/cctv_0000`); GUM: the word after `GUM_`."""
    last = name.rpartition("/")[2]
    return last.split("_")[1] if last.startswith("GUM_") else name[:2]
