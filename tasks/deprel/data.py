"""Relations of words to their heads.

The suites are sentences with a head and a relation for each word.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import read_lines
from elmo_bench.text.columns import check_ended, read_columns
from elmo_bench.text.token_labels import DEPREL, FORM, HEAD, Row, TokenData, read_conllu

ROOT = -1  # stored as the head of a word without a head


@dataclass(frozen=True)
class Sentence:
    """A sentence, with the head of each of its words and its relation to that head."""

    tokens: tuple[str, ...]
    heads: tuple[int, ...]  # positions from 0, or ROOT
    relations: tuple[str, ...]

    @property
    def texts(self) -> tuple[tuple[str, ...]]:
        return (self.tokens,)

    @property
    def gold(self) -> tuple[str, ...]:
        return self.relations


WRITTEN = 4  # columns of a file of predictions


class Data(TokenData):
    """Reads the suites that `conf/task/deprel.yaml` names.

    Files are CoNLL-U, or what `write` wrote: then the relations are the predicted ones.
    """

    schema = "deprel-1"
    field = "relations"

    def read_file(self, path: Path) -> list[Sentence]:
        """The sentences of a file of words and heads at least.

        A missing relation of CoNLL-U is `_`. Subtypes (`nmod:poss`) are relations, too.
        Raises UserError.
        """
        check_ended(path)
        first = next((line for _, line in read_lines(path) if line.strip()), "")
        is_written = first.count("\t") == WRITTEN - 1
        blocks = _columns(path) if is_written else read_conllu(path)
        sentences = [_sentence(path, rows) for rows in blocks]
        if not sentences:
            raise UserError(f"{path}: no sentences. Download the file again.")
        return sentences

    def columns(self, example: Sentence) -> Sequence[Sequence[str]]:
        """Word, head (from 1; 0 is the root) and gold relation."""
        heads = [str(head + 1) for head in example.heads]
        return example.tokens, heads, example.relations


def _columns(path: Path) -> Iterator[list[Row]]:
    """The rows of a file of predictions, in the columns of CoNLL-U."""
    for rows in read_columns(path, columns=WRITTEN):
        block = []
        for place, (number, cells) in enumerate(rows, start=1):
            word, head, _, relation = cells
            full = [str(place), word, "_", "_", "_", "_", head, relation, "_", "_"]
            block.append((number, full))
        yield block


def _sentence(path: Path, rows: Sequence[Row]) -> Sentence:
    """The sentence of rows of CoNLL-U. Raises UserError."""
    position = {cells[0]: place for place, (_, cells) in enumerate(rows)}
    position["0"] = ROOT
    heads = []
    for number, cells in rows:
        head = cells[HEAD]
        if head not in position:
            raise UserError(
                f"{path}:{number}: head {head[:20]!a} is not a word of the sentence. "
                "Fix this line."
            )
        heads.append(position[head])
    words = tuple(cells[FORM] for _, cells in rows)
    relations = tuple(cells[DEPREL] for _, cells in rows)
    return Sentence(words, tuple(heads), relations)
