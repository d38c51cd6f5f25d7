"""Coreference: the three suites as documents with clusters of mentions."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from operator import index
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.hub import hub_split
from elmo_bench.base.notes import note
from elmo_bench.base.sources import SuiteData, check_texts
from elmo_bench.tasks.coref.conll import (
    Clusters,
    Document,
    Part,
    Span,
    genre_of,
    read_parts,
    tidy,
    write_documents,
)

COLUMNS = 12  # cells of a token, at least
WORD, SPEAKER = 3, 9  # the fourth and the tenth of them
ESCAPED = {"/.": ".", "/?": "?"}  # as OntoNotes writes them


class Data(SuiteData):
    """Reads the suites that `conf/task/coref.yaml` names.

    width, window: limits of the head (tokens of a mention, sentences that training
    reads), for notes about mentions and documents that exceed them.
    """

    schema = "coref-1"
    ending = ".conll"
    pattern = "*_gold_conll"

    def __init__(self, *, width: int, window: int, **suites: Mapping[str, Any]):
        super().__init__(**suites)
        self.width = width
        self.window = window

    def read(self, suite: str, root: Path | None) -> dict[str, list[Document]]:
        splits = super().read(suite, root)
        for split, documents in splits.items():
            self._note_limits(split, documents)
        return splits

    def from_hub(
        self, options: Mapping[str, Any], split: str, root: Path | None
    ) -> list[Document]:
        """A row of the table is a file, whose sentences belong to parts.

        Each part numbers its own chains.
        """
        columns = ("document_id", "sentences")
        where, table = hub_split(options["hub"], split, columns=columns)
        documents: list[Document] = []
        raw: list[tuple[str, list[list[Span]]]] = []
        empty = 0
        files = zip(table["document_id"], table["sentences"], strict=True)
        for row, (name, sentences) in enumerate(files):
            try:
                check_texts([name], f"{where}: row {row}")
                parts = _parts(sentences, f"{where}: document {name}")
                for number, rows in parts.items():
                    chains = _chains(rows)
                    raw.append((name, chains))
                    documents.append(_of_rows(name, number, rows, chains))
                empty += len(sentences) - sum(map(len, parts.values()))
            except (KeyError, TypeError, ValueError) as error:
                why = f"row {row} is not as expected ({error!r})"
                raise UserError(
                    f"{where}: {why}. Use your own files instead."
                ) from None
        if not documents:
            raise UserError(f"{where}: no documents. Check hub in the task's yaml.")
        if empty:
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
        """The documents of a CoNLL-2012 file, tidied, with a note about changes.

        Their column of chains may be all `-`. Raises UserError with file and line.
        """
        parts = list(read_parts(path, columns=COLUMNS))
        documents = [_document(part) for part in parts if part.tokens]
        if not documents:
            raise UserError(
                f"{path}: no tokens in any document. Download the file again."
            )
        _report(path, [(part.name, part.chains) for part in parts])
        empty = len(parts) - len(documents)
        if empty:
            note(f"{empty} documents without tokens are skipped", path)
        return documents

    def write(
        self,
        path: Path,
        examples: Sequence[Document],
        predicted: Sequence[Iterable[Sequence[Span]]],
    ) -> None:
        """Write predicted clusters as a CoNLL-2012 file.

        It is the response to the file that the documents came from.
        """
        write_documents(path, examples, predicted)

    def within(
        self,
        example: Document,
        predicted: Clusters,
        keeps: Callable[[Sequence[str]], bool],
    ) -> tuple[list[tuple[Span, ...]], list[tuple[Span, ...]]]:
        """The gold and predicted chains whose words `keeps` accepts.

        A chain's words are the words of all of its mentions together.
        """
        tokens = example.tokens

        def accepted(mentions: Iterable[Span]) -> bool:
            words: list[str] = []
            for first, last in mentions:
                words += tokens[first : last + 1]
            return keeps(words)

        return [*filter(accepted, example.clusters)], [*filter(accepted, predicted)]

    def _note_limits(self, split: str, documents: Sequence[Document]) -> None:
        spans: list[Span] = []
        for document in documents:
            spans += chain.from_iterable(document.clusters)
        wide = sum(end - start >= self.width for start, end in spans)
        if wide:
            note(
                f"{split}: {wide} of {len(spans)} mentions are over {self.width} "
                "tokens long. They count, but are never found."
            )
        long = sum(len(document.sentences) > self.window for document in documents)
        if split == "train" and long:
            note(
                f"{split}: {long} of {len(documents)} documents have over "
                f"{self.window} sentences: each epoch reads {self.window} of them in a "
                "row"
            )


def _document(part: Part) -> Document:
    """The document of a part of a file."""
    sentences = []
    speakers: list[str] = []
    for rows in part.sentences:
        sentences.append(_unescaped([row[WORD] for row in rows]))
        speakers += [row[SPEAKER] for row in rows]
    clusters, _, _ = tidy(part.chains)
    return Document(
        name=part.name,
        part=part.number,
        genre=genre_of(part.name),
        sentences=tuple(sentences),
        speakers=tuple(speakers),
        clusters=clusters,
    )


def _parts(
    sentences: Sequence[Mapping[str, Any]], where: str
) -> dict[int, list[Mapping[str, Any]]]:
    """The sentences that have words, by the number of their part. Raises UserError."""
    parts: dict[int, list[Mapping[str, Any]]] = {}
    for sentence in sentences:
        if sentence["words"]:
            check_texts(sentence["words"], where)
            check_texts([sentence["speaker"] or "-"], where)
            parts.setdefault(sentence["part_id"], []).append(sentence)
    return parts


def _of_rows(
    name: str,
    number: int,
    rows: Sequence[Mapping[str, Any]],
    chains: Sequence[Sequence[Span]],
) -> Document:
    """The document of a part whose sentences are rows of a table of the Hub."""
    speakers: list[str] = []
    for row in rows:
        speakers += [row["speaker"] or "-"] * len(row["words"])
    clusters, _, _ = tidy(chains)
    return Document(
        name=name,
        part=f"{number:03d}",
        genre=genre_of(name),
        sentences=tuple(_unescaped(row["words"]) for row in rows),
        speakers=tuple(speakers),
        clusters=clusters,
    )


def _unescaped(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(ESCAPED.get(word, word) for word in words)


def _report(
    where: Path, documents: Sequence[tuple[str, Sequence[Sequence[Span]]]]
) -> None:
    """Note what `tidy` changed in all documents of a file."""
    repeated = single = 0
    first = None
    for name, chains in documents:
        _, spans, alone = tidy(chains)
        repeated += spans
        single += alone
        if first is None and (spans or alone):
            first = name
    if first is not None:
        note(
            f"{repeated} mentions are in two chains (kept in the first), {single} "
            f"chains have one mention (dropped); the first of them in {first}",
            where,
        )


def _chains(rows: Sequence[Mapping[str, Any]]) -> list[list[Span]]:
    """The chains of a part. Raises ValueError for a span outside its sentence."""
    chains: defaultdict[int, list[Span]] = defaultdict(list)
    # Tokens of earlier sentences: in the table, spans are relative to their sentence.
    before = 0
    for row in rows:
        words = len(row["words"])
        for number, start, end in row["coref_spans"]:
            if not 0 <= index(start) <= index(end) < words:
                raise ValueError(f"span {start}-{end} in a sentence of {words} words")
            chains[number].append((before + start, before + end))
        before += words
    return [sorted(spans) for spans in chains.values()]
