"""Files of CoNLL-2012: documents between `#begin document` and `#end document`, a token a line, the chains last.

In the column of chains, `(3` opens a mention of chain 3, `3)` closes it, `(3)` is one token.
"""

import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write, read_lines
from elmo_bench.text.columns import cells_of, escaped, unescaped

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
        """The clusters, with which predictions are compared."""
        return self.clusters

    @property
    def tokens(self) -> Text:
        """The tokens of all sentences."""
        return tuple(itertools.chain.from_iterable(self.sentences))


def genre_of(name: str) -> str:
    """OntoNotes: the first two letters of the document's id (`bc/cctv/00/cctv_0000`); GUM: the word after `GUM_`."""
    last = name.rpartition("/")[2]
    return last.split("_")[1] if last.startswith("GUM_") else name[:2]


_BEGIN = re.compile(r"#begin document \((?P<name>.*)\); *+(?:part (?P<part>[0-9]{1,9}) *+)?")
EMPTY = ("-", "_")
_PART = re.compile(r"(\()?([^()|]+)(\))?")


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


def read_parts(path: Path, *, columns: int = 2, single_first: bool = False) -> Iterator[Part]:
    """The parts of a file whose tokens have `columns` cells or more. Raises UserError, with file and line.

    single_first: chains are in the order of the reference scorer, see `parse_column`.
    """
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
            begin = _BEGIN.fullmatch(text)
            name = begin["name"] if begin else text.removeprefix("#begin document").strip()
            part, column = Part(unescaped(name), (begin and begin["part"]) or "000", number, [[]], []), []
            if (known := seen.setdefault((part.name, int(part.number)), number)) != number:
                raise UserError(
                    f"{path}:{number}: the part of line {known} again. A part may appear in a file once; remove one."
                )
        elif part is None and text and (text.startswith("#end document") or not text.startswith("#")):
            raise UserError(f"{path}:{number}: outside of #begin document and #end document. Fix this line.")
        elif part is None or (text.startswith("#") and not text.startswith("#end document")):
            continue
        elif text.startswith("#end document"):
            yield _ended(part, column, path, single_first=single_first)
            part = None
        elif text:
            cells = [unescaped(cell) for cell in cells_of(text)]
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
            name = escaped(document.name, reserved=[document.name] if document.name[:1] == "#" else ())  # no comment
            handle.write(f"#begin document ({name}); part {document.part}\n")
            for sentence in document.sentences:
                for place, word in enumerate(sentence):
                    speaker, cell = next(cells)
                    begin = [name, str(int(document.part)), str(place), escaped(word)]
                    handle.write("\t".join([*begin, "-", "*", "-", "-", "-", escaped(speaker), "*", cell]) + "\n")
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


def _ended(part: Part, column: list[tuple[int, str]], path: Path, *, single_first: bool) -> Part:
    part.sentences = [rows for rows in part.sentences if rows]
    try:
        part.chains = list(parse_column(column, single_first=single_first).values())
    except BracketError as error:
        raise UserError(f"{path}:{error.line}: {error}. Fix this line.") from None
    return part


def parse_column(column: Iterable[tuple[int, str]], *, single_first: bool = False) -> dict[str, list[Span]]:
    """The chains of a column of (line number, cell), by their id in the order of their first brackets, spans sorted.

    single_first: of brackets in a cell, mentions of one token come first, as the reference scorer numbers chains.
    A closing bracket ends the latest open one of its chain, whatever the order within a cell. Raises BracketError.
    """
    chains: dict[str, list[Span]] = {}
    opened: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)  # token and line of open brackets
    for token, (line, cell) in enumerate(column):
        late, new = [], []
        texts = cell.split("|") if cell not in EMPTY else []
        for text in sorted(texts, key=_several) if single_first else texts:
            part = _PART.fullmatch(text)
            if part is None or not (part[1] or part[3]):
                raise BracketError(line, f"'{cell}' is not a cell of coreference brackets, such as -, (3, 3) or (3)|(5")
            spans = chains.setdefault(part[2], [])
            if part[1] and part[3]:
                spans.append((token, token))
            elif part[1]:
                new.append(part[2])
            elif opened[part[2]]:  # closing brackets refer to earlier mentions first
                spans.append((opened[part[2]].pop()[0], token))
            else:
                late.append(part[2])
        for chain in new:
            opened[chain].append((token, line))
        for chain in late:  # "(3|3)" without an open chain is one token
            if not opened[chain]:
                raise BracketError(line, f"'{chain})' closes a chain that no '({chain}' opened")
            chains[chain].append((opened[chain].pop()[0], token))
    for chain, places in opened.items():
        if places:
            raise BracketError(places[-1][1], f"'({chain}' is never closed in its document")
    return {chain: sorted(spans) for chain, spans in chains.items()}


def _several(text: str) -> bool:
    """Whether a part of a cell is no mention of this one token."""
    return not (text.startswith("(") and text.endswith(")"))


class BracketError(ValueError):
    """An error in a column, with its line."""

    def __init__(self, line: int, problem: str):
        super().__init__(problem)
        self.line = line


def format_column(clusters: Iterable[Sequence[Span]], tokens: int) -> list[str]:
    """The cells of `tokens` tokens, one number a cluster. Spans of one cluster must not cross."""
    opening: defaultdict[int, list[tuple[int, str]]] = defaultdict(list)  # by token: what sorts it, and the part
    single: defaultdict[int, list[str]] = defaultdict(list)
    closing: defaultdict[int, list[tuple[int, str]]] = defaultdict(list)
    for number, spans in enumerate(clusters):
        for start, end in spans:
            if start == end:
                single[start].append(f"({number})")
            else:
                opening[start].append((-end, f"({number}"))
                closing[end].append((-start, f"{number})"))
    return [
        "|".join(
            [text for _, text in sorted(closing[token])] + [text for _, text in sorted(opening[token])] + single[token]
        )
        or "-"
        for token in range(tokens)
    ]
