"""Coreference: the three suites as documents with clusters of mentions."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import note
from elmo_bench.base.sources import SuiteData, check_texts, hub_table
from elmo_bench.tasks.coref.conll import Clusters, Document, Part, Span, genre_of, read_parts, tidy, write_documents

COLUMNS = 12  # cells of a token, at least; the word is the fourth, the speaker the tenth
ESCAPED = {"/.": ".", "/?": "?"}  # as OntoNotes writes them


class Data(SuiteData):
    """Reads the suites that `conf/task/coref.yaml` names.

    width, window: limits of the head (tokens of a mention, sentences that training reads), for notes about mentions and
    documents that exceed them.
    """

    schema = "coref-1"
    ending = ".conll"
    pattern = "*_gold_conll"

    def __init__(self, *, width: int, window: int, **suites: Mapping[str, Any]):
        super().__init__(**suites)
        self.width, self.window = width, window

    def read(self, suite: str, root: Path | None) -> dict[str, list[Document]]:
        splits = super().read(suite, root)
        for split, documents in splits.items():
            self._note_limits(split, documents)
        return splits

    def from_hub(self, options: Mapping[str, Any], split: str, root: Path | None) -> list[Document]:
        """A row of the table is a file; its sentences belong to parts, and each part numbers its own chains."""
        hub = options["hub"]
        where = f"{hub['repo']}/{hub[split]}"
        table = hub_table(hub["repo"], hub[split], revision=hub["revision"])
        if not {"document_id", "sentences"} <= set(table.column_names):
            raise UserError(f"{where}: no columns document_id and sentences. Check hub in conf/task/coref.yaml")
        documents, raw = [], []
        for name, sentences in zip(table["document_id"], table["sentences"], strict=True):
            parts: dict[int, list[Mapping[str, Any]]] = {}
            for sentence in sentences:
                if sentence["words"]:
                    check_texts(sentence["words"], f"{where}: document {name}")
                    parts.setdefault(sentence["part_id"], []).append(sentence)
            for number, rows in parts.items():
                chains = _chains(rows)
                raw.append((name, chains))
                documents.append(
                    Document(
                        name,
                        f"{number:03d}",
                        genre_of(name),
                        tuple(tuple(ESCAPED.get(word, word) for word in row["words"]) for row in rows),
                        tuple(row["speaker"] or "-" for row in rows for _ in row["words"]),
                        tidy(chains)[0],
                    )
                )
        if not documents:
            raise UserError(f"{where}: no documents. Check hub in conf/task/coref.yaml")
        if empty := sum(not sentence["words"] for sentences in table["sentences"] for sentence in sentences):
            note(f"{where}: {empty:,} sentences without words skipped")
        _report(Path(where), raw)
        return documents

    def canonical(self, example: Document) -> dict[str, Any]:
        return {
            "document": example.name,
            "part": example.part,
            "genre": example.genre,
            "sentences": example.sentences,
            "speakers": example.speakers,
            "clusters": example.clusters,
        }

    def vocabulary(self, train: Sequence[Document]) -> dict[str, list[str]]:
        """{"genres": of the training documents}."""
        return {"genres": sorted({document.genre for document in train})}

    def read_file(self, path: Path) -> list[Document]:
        """The documents of a CoNLL-2012 file, tidied, with a note about changes; their column of chains may be all `-`.

        Raises UserError with file and line.
        """
        parts = list(read_parts(path, columns=COLUMNS))
        documents = [_document(part) for part in parts if part.tokens]
        if not documents:
            raise UserError(f"{path}: no tokens in any document. Download the file again.")
        _report(path, [(part.name, part.chains) for part in parts])
        if len(documents) < len(parts):
            note(f"{len(parts) - len(documents)} documents without tokens are skipped", path)
        return documents

    def write(self, path: Path, examples: Sequence[Document], predicted: Sequence[Iterable[Sequence[Span]]]) -> None:
        """Predicted clusters as a CoNLL-2012 file: the response to the file that the documents came from."""
        write_documents(path, examples, predicted)

    def within(
        self, example: Document, predicted: Clusters, keeps: Callable[[Sequence[str]], bool]
    ) -> tuple[list[tuple[Span, ...]], list[tuple[Span, ...]]]:
        """The gold and predicted chains whose words, of all mentions together, `keeps` accepts."""
        tokens = example.tokens
        kept = [
            [chain for chain in chains if keeps([word for first, last in chain for word in tokens[first : last + 1]])]
            for chains in (example.clusters, predicted)
        ]
        return kept[0], kept[1]

    def _note_limits(self, split: str, documents: Sequence[Document]) -> None:
        spans = [span for document in documents for cluster in document.clusters for span in cluster]
        wide = sum(end - start >= self.width for start, end in spans)
        if wide:
            note(
                f"{split}: {wide} of {len(spans)} mentions are over {self.width} tokens long. They count, but are "
                "never found."
            )
        long = sum(len(document.sentences) > self.window for document in documents)
        if split == "train" and long:
            note(
                f"{split}: {long} of {len(documents)} documents have over {self.window} sentences: each epoch reads "
                f"{self.window} of them in a row"
            )


def _document(part: Part) -> Document:
    rows = [row for sentence in part.sentences for row in sentence]
    return Document(
        part.name,
        part.number,
        genre_of(part.name),
        tuple(tuple(ESCAPED.get(row[3], row[3]) for row in sentence) for sentence in part.sentences),
        tuple(row[9] for row in rows),
        tidy(part.chains)[0],
    )


def _report(where: Path, documents: Sequence[tuple[str, Sequence[Sequence[Span]]]]) -> None:
    """Note what `tidy` changed in all documents of a file."""
    changed = [(name, *tidy(chains)[1:]) for name, chains in documents]
    repeated, single = sum(row[1] for row in changed), sum(row[2] for row in changed)
    if repeated or single:
        first = next(name for name, double, alone in changed if double or alone)
        text = f"{repeated} mentions are in two chains (kept in the first), {single} chains have one mention (dropped)"
        note(f"{text}; the first of them in {first}", where)


def _chains(rows: Sequence[Mapping[str, Any]]) -> list[list[Span]]:
    chains: defaultdict[int, list[Span]] = defaultdict(list)
    before = 0  # tokens of earlier sentences: in the table, spans are relative to their sentence
    for row in rows:
        for chain, start, end in row["coref_spans"]:
            chains[chain].append((before + start, before + end))
        before += len(row["words"])
    return [sorted(spans) for spans in chains.values()]
