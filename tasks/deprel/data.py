"""Relations of words to their heads: the suites as sentences with a head and a relation for each word."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import read_lines
from elmo_bench.text.columns import check_ended, read_columns
from elmo_bench.text.token_labels import DEPREL, FORM, HEAD, Row, TokenData, read_conllu

ROOT = -1  # the head of a word that has none


@dataclass(frozen=True)
class Sentence:
    """A sentence, the head of each of its words (a position from 0, or ROOT) and its relation to that head."""

    tokens: tuple[str, ...]
    heads: tuple[int, ...]
    relations: tuple[str, ...]

    @property
    def texts(self) -> tuple[tuple[str, ...]]:
        return (self.tokens,)

    @property
    def gold(self) -> tuple[str, ...]:
        return self.relations


WRITTEN = 4  # columns of a file of predictions


class Data(TokenData):
    """Reads the suites that `conf/task/deprel.yaml` names. Files are CoNLL-U, or what `write` wrote.

    The relations of a file that `write` wrote are the predicted ones.
    """

    schema, field = "deprel-1", "relations"

    def read_file(self, path: Path) -> list[Sentence]:
        """The sentences of a file of words and heads at least; a missing relation of CoNLL-U is `_`.

        Subtypes (`nmod:poss`) are relations of their own. Raises UserError.
        """
        check_ended(path)
        written = len(next((line for _, line in read_lines(path) if line.strip()), "").split("\t")) == WRITTEN
        blocks = _columns(path) if written else read_conllu(path)
        sentences = [_sentence(path, rows) for rows in blocks]
        if not sentences:
            raise UserError(f"{path}: no sentences. Download the file again.")
        return sentences

    def columns(self, example: Sentence) -> Sequence[Sequence[str]]:
        """Word, head (from 1; 0 is the root) and gold relation."""
        return example.tokens, [str(head + 1) for head in example.heads], example.relations


def _columns(path: Path) -> Iterator[list[Row]]:
    """The rows of a file of predictions, in the columns of CoNLL-U."""
    for rows in read_columns(path, columns=WRITTEN):
        yield [
            (number, [str(place), word, *"____", head, relation, *"__"])
            for place, (number, (word, head, _, relation)) in enumerate(rows, 1)
        ]


def _sentence(path: Path, rows: Sequence[Row]) -> Sentence:
    position = {cells[0]: at for at, (_, cells) in enumerate(rows)} | {"0": -1}
    for number, cells in rows:
        if cells[HEAD] not in position:
            raise UserError(f"{path}:{number}: head {cells[HEAD][:20]!a} is not a word of the sentence. Fix this line.")
    words, relations = ([cells[column] for _, cells in rows] for column in (FORM, DEPREL))
    return Sentence(tuple(words), tuple(position[cells[HEAD]] for _, cells in rows), tuple(relations))
