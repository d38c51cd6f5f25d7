"""Relations of words to their heads: the suites as sentences with a head and a relation for each word."""

from collections.abc import Sequence
from pathlib import Path

from elmo_bench.base.errors import UserError
from elmo_bench.tasks.deprel import mini
from elmo_bench.tasks.deprel.sentence import Sentence
from elmo_bench.text.columns import check_ended
from elmo_bench.text.conllu import DEPREL, FORM, HEAD, Row, read_conllu
from elmo_bench.text.token_data import TokenData


class Data(TokenData):
    """Reads the suites that `conf/task/deprel.yaml` names. Files are CoNLL-U."""

    schema, field = "deprel-1", "relations"
    generate = staticmethod(mini.generate)

    def read_file(self, path: Path) -> list[Sentence]:
        """The sentences of a CoNLL-U file, which has at least words and heads; a missing relation is `_`.

        Subtypes (`nmod:poss`) are relations of their own. Raises UserError.
        """
        check_ended(path)
        sentences = [_sentence(path, rows) for rows in read_conllu(path)]
        if not sentences:
            raise UserError(f"{path}: no sentences. Download the file again.")
        return sentences

    def columns(self, example: Sentence) -> Sequence[Sequence[str]]:
        """Word, head (from 1; 0 is the root) and gold relation."""
        return example.tokens, [str(head + 1) for head in example.heads], example.relations


def _sentence(path: Path, rows: Sequence[Row]) -> Sentence:
    position = {cells[0]: at for at, (_, cells) in enumerate(rows)} | {"0": -1}
    for number, cells in rows:
        if cells[HEAD] not in position:
            raise UserError(f"{path}:{number}: head {cells[HEAD][:20]!a} is not a word of the sentence. Fix this line.")
    words, relations = ([cells[column] for _, cells in rows] for column in (FORM, DEPREL))
    return Sentence(tuple(words), tuple(position[cells[HEAD]] for _, cells in rows), tuple(relations))
