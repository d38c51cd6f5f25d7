"""Parts of speech: the suites as sentences with a tag for each word."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import read_lines
from elmo_bench.text.columns import NO_GOLD, cells_of, check_ended, read_columns, read_plain
from elmo_bench.text.tags import TaggedSentence
from elmo_bench.text.token_labels import FORM, XPOS, TokenData, read_conllu


class Data(TokenData):
    """Reads the suites that `conf/task/pos.yaml` names. Files are `.conllu`, or two or three columns, word and tag.

    Three columns are those that `write` wrote, and the tag is the predicted one.
    """

    schema, field = "pos-1", "tags"

    def read_file(self, path: Path) -> list[TaggedSentence]:
        """The sentences of a file, which may be of words alone, one a line, or of a sentence a line.

        It has a sentence a line if it has no tabs, and a line of over three words, or a single line of several. The
        tag of a word without one is NO_GOLD.
        """
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
    lines = [line for _, line in read_lines(path) if line.strip(" \t")]
    sizes = [len(cells_of(line)) for line in lines]
    if max(sizes, default=0) > (3 if len(sizes) > 1 else 1) and not any("\t" in line for line in lines):
        yield from ([(word, NO_GOLD) for word in words] for words in read_plain(path))
        return
    for rows in read_columns(path, columns=min(sizes[0] if sizes else 1, 3)):
        yield [(cells[0], cells[-1] if len(cells) > 1 else NO_GOLD) for _, cells in rows]
