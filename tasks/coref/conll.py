"""Files of CoNLL-2012: documents between `#begin document` and `#end document`.

A line has a token, with its chains in the last column: `(3` opens a mention of chain 3,
`3)` closes it, `(3)` is one token.
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
Span = tuple[int, int]  # first and last token, inclusive, from 0 over the document
Clusters = tuple[tuple[Span, ...], ...]


@dataclass(frozen=True)
class Document:
    """One part of a document.

    No span is in two clusters, and each cluster has at least two spans.
    """

    name: str
    part: str
    genre: str
    sentences: tuple[Text, ...]  # none of them empty
    speakers: Text  # of each token, over all sentences; "-" if no speaker is named
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
    """The genre of the document with this id.

    OntoNotes: the id's first two letters (`bc/cctv/00/cctv_0000`); GUM: the word after
    `GUM_`.
    """
    last = name.rpartition("/")[2]
    return last.split("_")[1] if last.startswith("GUM_") else name[:2]


BEGIN = "#begin document"
END = "#end document"
_BEGIN = re.compile(rf"{BEGIN} \((?P<name>.*)\); *+(?:part (?P<part>[0-9]{{1,9}}) *+)?")
EMPTY = ("-", "_")
_PART = re.compile(r"(\()?([^()|]+)(\))?")


@dataclass
class Part:
    """One part of a document as written in a file."""

    name: str
    number: str  # "000"
    line: int  # where it begins
    sentences: list[list[list[str]]]  # rows of cells by sentence
    chains: list[list[Span]]  # unchecked

    @property
    def tokens(self) -> int:
        return sum(map(len, self.sentences))


def read_parts(
    path: Path, *, columns: int = 2, single_first: bool = False
) -> Iterator[Part]:
    """The parts of a file whose tokens have `columns` cells or more.

    single_first: chains are in the order of the reference scorer, see `parse_column`.
    Raises UserError, with file and line.
    """
    part: Part | None = None
    column: list[tuple[int, str]] = []
    seen: dict[tuple[str, int], int] = {}
    number = 0
    for number, line in read_lines(path):
        where = f"{path}:{number}"
        text = line.strip(" \t")
        if text.startswith(BEGIN):
            if part is not None:
                raise UserError(
                    f"{where}: a document begins, but the document of line {part.line} "
                    "has no #end. Add it."
                )
            part = _begun(text, number)
            column = []
            first = seen.setdefault((part.name, int(part.number)), number)
            if first != number:
                raise UserError(
                    f"{where}: the part of line {first} again. "
                    "A part may appear in a file once; remove one."
                )
            continue
        is_end = text.startswith(END)
        is_comment = text.startswith("#") and not is_end
        if is_comment or (part is None and not text):
            continue
        if part is None:
            raise UserError(f"{where}: outside of {BEGIN} and {END}. Fix this line.")
        if is_end:
            yield _ended(part, column, path, single_first=single_first)
            part = None
        elif text:
            cells = [unescaped(cell) for cell in cells_of(text)]
            if len(cells) < columns:
                raise UserError(
                    f"{where}: expected {columns} columns or more, found {len(cells)}. "
                    "Fix it."
                )
            part.sentences[-1].append(cells)
            column.append((number, cells[-1]))
        else:
            part.sentences.append([])
    if part is not None:
        raise UserError(
            f"{path}:{number}: cut off: the document of line {part.line} has no #end. "
            "Add it, or download the file again."
        )
    if not seen:
        raise UserError(
            f"{path}: no documents: no line begins with {BEGIN}. "
            "Give a CoNLL-2012 file."
        )


def _begun(text: str, line: int) -> Part:
    """The part that begins with this text, still empty."""
    match = _BEGIN.fullmatch(text)
    if match:
        name, number = match["name"], match["part"] or "000"
    else:
        name, number = text.removeprefix(BEGIN).strip(), "000"
    return Part(unescaped(name), number, line, sentences=[[]], chains=[])


def write_documents(
    path: Path,
    documents: Sequence[Document],
    predicted: Sequence[Iterable[Sequence[Span]]],
) -> None:
    """Write the documents with predicted clusters in the last of twelve columns.

    Unknown cells are `-` or `*`. The official scorer reads the file as the response to
    the file that the documents came from.
    """
    with atomic_write(path, "w") as handle:
        for document, clusters in zip(documents, predicted, strict=True):
            speakers = document.speakers
            column = format_column(clusters, len(speakers))
            ends = iter(zip(speakers, column, strict=True))
            # A name that begins with # is escaped, so that its lines are no comments.
            reserved = [document.name] if document.name.startswith("#") else []
            name = escaped(document.name, reserved=reserved)
            part = str(int(document.part))
            handle.write(f"{BEGIN} ({name}); part {document.part}\n")
            for sentence in document.sentences:
                for place, word in enumerate(sentence):
                    speaker, chains = next(ends)
                    first = [name, part, str(place), escaped(word), "-", "*"]
                    last = ["-", "-", "-", escaped(speaker), "*", chains]
                    handle.write("\t".join([*first, *last]) + "\n")
                handle.write("\n")
            handle.write(f"{END}\n")


def tidy(chains: Iterable[Sequence[Span]]) -> tuple[Clusters, int, int]:
    """The chains without repeated spans and singletons.

    Also the number of spans and the number of chains removed. A span in two chains
    stays in the one whose first bracket comes first.
    """
    seen: set[Span] = set()
    clusters = []
    repeated = single = 0
    for chain in chains:
        new = sorted(set(chain) - seen)
        repeated += len(chain) - len(new)
        seen.update(new)
        if len(new) > 1:
            clusters.append(tuple(new))
        else:
            single += 1
    return tuple(clusters), repeated, single


def _ended(
    part: Part, column: list[tuple[int, str]], path: Path, *, single_first: bool
) -> Part:
    part.sentences = [rows for rows in part.sentences if rows]
    try:
        part.chains = list(parse_column(column, single_first=single_first).values())
    except BracketError as error:
        raise UserError(f"{path}:{error.line}: {error}. Fix this line.") from None
    return part


def parse_column(
    column: Iterable[tuple[int, str]], *, single_first: bool = False
) -> dict[str, list[Span]]:
    """The chains of a column of (line number, cell), by their id, spans sorted.

    Chains are in the order of their first brackets. single_first: of brackets in a
    cell, mentions of one token come first, as the reference scorer numbers chains.

    A closing bracket ends the latest open one of its chain, and as in the scorer a cell
    opens its brackets before it closes any: where `(3` is open, the cell `3)|(3` is a
    mention of one token, and the earlier bracket stays open. Raises BracketError.
    """
    chains: dict[str, list[Span]] = {}
    # Token and line of open brackets, by chain.
    opened: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for token, (line, cell) in enumerate(column):
        texts = cell.split("|") if cell not in EMPTY else []
        if single_first:
            texts.sort(key=_several)
        closed = []
        for text in texts:
            opens, chain, closes = _bracket(text, cell, line)
            spans = chains.setdefault(chain, [])
            if opens and closes:
                spans.append((token, token))
            elif opens:
                opened[chain].append((token, line))
            else:
                closed.append(chain)
        for chain in closed:
            if not opened[chain]:
                problem = f"'{chain})' closes a chain that no '({chain}' opened"
                raise BracketError(line, problem)
            start, _ = opened[chain].pop()
            chains[chain].append((start, token))
    for chain, places in opened.items():
        if places:
            problem = f"'({chain}' is never closed in its document"
            raise BracketError(places[-1][1], problem)
    return {chain: sorted(spans) for chain, spans in chains.items()}


def _bracket(text: str, cell: str, line: int) -> tuple[bool, str, bool]:
    """Whether a part of a cell opens a mention, its chain, and whether it closes one.

    Raises BracketError.
    """
    part = _PART.fullmatch(text)
    if part is None or not (part[1] or part[3]):
        raise BracketError(
            line,
            f"'{cell}' is not a cell of coreference brackets, "
            "such as -, (3, 3) or (3)|(5",
        )
    return bool(part[1]), part[2], bool(part[3])


def _several(text: str) -> bool:
    """Whether a part of a cell is not a mention of this one token."""
    return not (text.startswith("(") and text.endswith(")"))


class BracketError(ValueError):
    """An error in a column, with its line."""

    def __init__(self, line: int, problem: str):
        super().__init__(problem)
        self.line = line


def format_column(clusters: Iterable[Sequence[Span]], tokens: int) -> list[str]:
    """The cells of `tokens` tokens, one number a cluster.

    Spans of one cluster must not cross.
    """
    # By token: what sorts a part of its cell, and the part.
    opening: defaultdict[int, list[tuple[int, str]]] = defaultdict(list)
    closing: defaultdict[int, list[tuple[int, str]]] = defaultdict(list)
    single: defaultdict[int, list[str]] = defaultdict(list)
    for number, spans in enumerate(clusters):
        for start, end in spans:
            if start == end:
                single[start].append(f"({number})")
            else:
                opening[start].append((-end, f"({number}"))
                closing[end].append((-start, f"{number})"))
    cells = []
    for token in range(tokens):
        closed = [text for _, text in sorted(closing[token])]
        begun = [text for _, text in sorted(opening[token])]
        cells.append("|".join([*closed, *begun, *single[token]]) or "-")
    return cells
