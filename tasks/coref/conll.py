"""Files of CoNLL-2012: documents between `#begin document` and `#end document`, a token a line, the chains last."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write, read_lines
from elmo_bench.tasks.coref.brackets import BracketError, format_column, parse_column
from elmo_bench.tasks.coref.document import Clusters, Document, Span

_BEGIN = re.compile(r"#begin document \((?P<name>.*)\); *(?:part (?P<part>[0-9]{1,9}))? *")


@dataclass
class Part:
    """One part of a document as written in a file: rows of cells by sentence, and unchecked chains."""

    name: str
    number: str  # "000"
    line: int  # of its beginning
    sentences: list[list[list[str]]]
    chains: list[list[Span]]

    @property
    def tokens(self) -> int:
        return sum(map(len, self.sentences))


def read_parts(path: Path, *, columns: int = 2) -> Iterator[Part]:
    """The parts of a file whose tokens have `columns` cells or more. Raises UserError, with file and line."""
    part: Part | None = None
    column: list[tuple[int, str]] = []
    seen: dict[tuple[str, int], int] = {}
    number = 0
    for number, line in read_lines(path):
        text = line.strip(" \t")
        if text.startswith("#begin document"):
            if part is not None:
                raise UserError(
                    f"{path}:{number}: a document begins, but the document of line {part.line} has no #end. Add it."
                )
            part, column = _begin(text, number), []
            if (known := seen.setdefault((part.name, int(part.number)), number)) != number:
                raise UserError(
                    f"{path}:{number}: the part of line {known} again. A part may appear in a file once; remove one."
                )
        elif part is None and text and (text.startswith("#end document") or not text.startswith("#")):
            raise UserError(f"{path}:{number}: outside of #begin document and #end document. Fix this line.")
        elif part is None or (text.startswith("#") and not text.startswith("#end document")):
            continue
        elif text.startswith("#end document"):
            yield _ended(part, column, path)
            part = None
        elif text:
            cells = re.split(r"[ \t]+", text)
            if len(cells) < columns:
                raise UserError(f"{path}:{number}: expected {columns} columns or more, found {len(cells)}. Fix it.")
            part.sentences[-1].append(cells)
            column.append((number, cells[-1]))
        else:
            part.sentences.append([])
    if part is not None:
        raise UserError(f"{path}:{number}: cut off: the document of line {part.line} has no #end. Download it again.")
    if not seen:
        raise UserError(f"{path}: no documents: no line begins with #begin document. Download the file again.")


def write_documents(path: Path, documents: Sequence[Document], predicted: Sequence[Iterable[Sequence[Span]]]) -> None:
    """Write the documents with predicted clusters in the last of twelve columns; unknown cells are `-` or `*`.

    The official scorer reads it as the response to the file that the documents came from.
    """
    with atomic_write(path, "w") as handle:
        for document, clusters in zip(documents, predicted, strict=True):
            cells = iter(zip(document.speakers, format_column(clusters, len(document.speakers)), strict=True))
            handle.write(f"#begin document ({document.name}); part {document.part}\n")
            for sentence in document.sentences:
                for place, word in enumerate(sentence):
                    speaker, cell = next(cells)
                    row = (document.name, int(document.part), place, word, "-", "*", "-", "-", "-", speaker, "*", cell)
                    handle.write("\t".join(map(str, row)) + "\n")
                handle.write("\n")
            handle.write("#end document\n")


def tidy(chains: Iterable[Sequence[Span]]) -> tuple[Clusters, int, int]:
    """The chains without repeated spans and singletons, and the numbers of spans and chains removed.

    A span in two chains stays in the one whose first bracket comes first.
    """
    seen: set[Span] = set()
    kept, repeated, single = [], 0, 0
    for chain in chains:
        new = sorted(set(chain) - seen)
        repeated += len(chain) - len(new)
        seen.update(new)
        if len(new) > 1:
            kept.append(tuple(new))
        else:
            single += 1
    return tuple(kept), repeated, single


def _begin(text: str, line: int) -> Part:
    found = _BEGIN.fullmatch(text)
    name = found["name"] if found else text.removeprefix("#begin document").strip()
    return Part(name, (found and found["part"]) or "000", line, [[]], [])


def _ended(part: Part, column: list[tuple[int, str]], path: Path) -> Part:
    part.sentences = [rows for rows in part.sentences if rows]
    try:
        part.chains = list(parse_column(column).values())
    except BracketError as error:
        raise UserError(f"{path}:{error.line}: {error}. Fix this line.") from None
    return part
