"""Parts of speech: the suites as sentences with a tag for each word."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import read_lines
from elmo_bench.base.notes import note
from elmo_bench.text.columns import (
    NO_GOLD,
    cells_of,
    check_ended,
    read_columns,
    read_plain,
)
from elmo_bench.text.tags import TaggedSentence
from elmo_bench.text.token_labels import FORM, XPOS, TokenData, read_conllu

Pairs = list[tuple[str, str]]  # word and tag


class Data(TokenData):
    """Reads the suites that `conf/task/pos.yaml` names.

    Files are `.conllu`, or two or three columns, word and tag. Three columns are those
    that `write` wrote, and the tag is the predicted one.
    """

    schema = "pos-1"
    field = "tags"

    def read_file(self, path: Path) -> list[TaggedSentence]:
        """The sentences of a file, which may be of words alone.

        It has a word a line, or a sentence a line if it has no tabs, and a line of over
        three words, or a single line of several. The tag of a word without one is
        NO_GOLD.
        """
        return _sentences(path, is_new=True)

    def from_files(
        self, options: Mapping[str, Any], split: str, root: Path | None
    ) -> list[TaggedSentence]:
        """As of every suite; that its files have a word a line needs no note."""
        sentences: list[TaggedSentence] = []
        for path in self.paths(options, split, root):
            sentences += _sentences(path, is_new=False)
        return sentences

    def columns(self, example: TaggedSentence) -> Sequence[Sequence[str]]:
        """Word and gold tag."""
        return example.tokens, example.tags


def _sentences(path: Path, *, is_new: bool) -> list[TaggedSentence]:
    """The sentences of a file. Raises UserError.

    is_new: it is no file of a suite, so its lines may be sentences.
    """
    check_ended(path)
    is_conllu = ".conllu" in path.suffixes[-2:]
    blocks = _conllu(path) if is_conllu else _columns(path, is_new=is_new)
    sentences = [TaggedSentence(*zip(*pairs, strict=True)) for pairs in blocks]
    if not sentences:
        raise UserError(f"{path}: no sentences. Download the file again.")
    return sentences


def _conllu(path: Path) -> Iterator[Pairs]:
    for rows in read_conllu(path):
        yield [(cells[FORM], cells[XPOS]) for _, cells in rows]


def _columns(path: Path, *, is_new: bool) -> Iterator[Pairs]:
    lines = [(number, line) for number, line in read_lines(path) if cells_of(line)]
    sizes = [len(cells_of(line)) for _, line in lines]
    most = 3 if len(sizes) > 1 else 1  # cells in a line of columns
    has_tabs = any("\t" in line for _, line in lines)
    if max(sizes, default=0) > most and not has_tabs:
        for words in read_plain(path):
            yield [(word, NO_GOLD) for word in words]
        return
    columns = min(sizes[0], 3) if sizes else 1
    if not has_tabs:
        for (number, _), size in zip(lines, sizes, strict=True):
            if size != columns:
                raise UserError(
                    f"{path}:{number}: expected {columns} columns, found {size}. Fix "
                    "this line. A file of sentences, one a line, needs a line of more "
                    "than three words."
                )
        if columns > 1 and is_new:
            note(f"read as {len(lines):,} words with tags, a word a line", path)
    for rows in read_columns(path, columns=columns):
        if columns == 1:
            yield [(cells[0], NO_GOLD) for _, cells in rows]
        else:
            yield [(cells[0], cells[-1]) for _, cells in rows]
