"""Parts of speech: the suites as sentences with a tag for each word."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import read_lines
from elmo_bench.text.columns import cells_of, check_ended, read_columns
from elmo_bench.text.tags import TaggedSentence
from elmo_bench.text.token_labels import FORM, XPOS, TokenData, read_conllu

UNKNOWN = "_"  # as CoNLL-U writes what is unknown


class Data(TokenData):
    """Reads the suites that `conf/task/pos.yaml` names. Files are `.conllu`, or two or three columns, word and tag.

    Three columns are those that `write` wrote, and the tag is the predicted one.
    """

    schema, field = "pos-1", "tags"

    def read_file(self, path: Path) -> list[TaggedSentence]:
        """The sentences of a file, which may be of words alone, one a line; a missing tag is `_`."""
        check_ended(path)
        conllu = ([(cells[FORM], cells[XPOS]) for _, cells in rows] for rows in read_conllu(path))
        pairs = conllu if ".conllu" in path.suffixes[-2:] else _columns(path)
        sentences = [TaggedSentence(*zip(*each, strict=True)) for each in pairs]
        if not sentences:
            raise UserError(f"{path}: no sentences. Download the file again.")
        return sentences

    def columns(self, example: TaggedSentence) -> Sequence[Sequence[str]]:
        """Word and gold tag."""
        return example.tokens, example.tags


def _columns(path: Path) -> Iterator[list[tuple[str, str]]]:
    first = next((found for _, line in read_lines(path) if (found := cells_of(line))), [])
    for rows in read_columns(path, columns=min(max(len(first), 1), 3)):
        yield [(cells[0], cells[-1] if len(cells) > 1 else UNKNOWN) for _, cells in rows]
