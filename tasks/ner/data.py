"""Named entities: the three suites as sentences with canonical BIO tags."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write, read_lines
from elmo_bench.base.notes import note
from elmo_bench.base.sources import SuiteData, check_texts, data_file, hub_table
from elmo_bench.tasks.ner.metric import SENTENCE_BOUNDARY
from elmo_bench.text.columns import NO_GOLD, cells_of, check_ended, escaped, read_columns, read_plain
from elmo_bench.text.tags import LETTERS, TaggedSentence, scheme_of, spans, split_tag, to_bio

BOUNDARY = "-DOCSTART-"  # the first cell of a line between documents
RESERVED = (BOUNDARY, SENTENCE_BOUNDARY)  # tokens that would be read as such lines


class Data(SuiteData):
    """Reads the suites that `conf/task/ner.yaml` names.

    `files` also has `columns` (token first, tag last), and `hub` has `labels`, the tag of each id.
    """

    schema = "ner-1"
    ending = ".conll"

    def from_files(self, options: Mapping[str, Any], split: str, root: Path | None) -> list[TaggedSentence]:
        return read_file(data_file(root, options["folder"], options[split]), columns=options["columns"])

    def from_hub(self, options: Mapping[str, Any], split: str, root: Path | None) -> list[TaggedSentence]:
        hub = options["hub"]
        table = hub_table(hub["repo"], hub[split], revision=hub["revision"])
        where = f"{hub['repo']}/{hub[split]}"
        if not {"tokens", "ner_tags"} <= set(table.column_names):
            raise UserError(f"{where}: no columns tokens and ner_tags. Check hub in conf/task/ner.yaml")
        labels, sentences = list(hub["labels"]), []
        for number, (tokens, ids) in enumerate(zip(table["tokens"], table["ner_tags"], strict=True)):
            check_texts(tokens, f"{where}: row {number}")
            if len(tokens) != len(ids) or not all(0 <= i < len(labels) for i in ids):
                raise UserError(
                    f"{where}: row {number} has tags outside hub.labels, or not one for each token. Check hub.labels."
                )
            if tokens:
                sentences.append(_sentence(tokens, [labels[i] for i in ids]))
        if empty := len(table["tokens"]) - len(sentences):
            note(f"{where}: {empty:,} rows without tokens skipped")
        return sentences

    def vocabulary(self, train: Sequence[TaggedSentence]) -> dict[str, list[str]]:
        """{"labels": every BIOUL tag of every type in the training data, O first}."""
        kinds = sorted({tag[2:] for sentence in train for tag in sentence.tags if tag != "O"})
        return {"labels": ["O", *(f"{letter}-{kind}" for kind in kinds for letter in "BIUL")]}

    def read_file(self, path: Path) -> list[TaggedSentence]:
        """The sentences of a column file, token first, tag last; or tokens alone, one a line; or a sentence a line.

        It has a sentence a line if lines have several cells and few end in a tag. Without tags, all are NO_GOLD.
        """
        lines = (cells_of(line) for _, line in read_lines(path))
        rows = [cells for cells in lines if cells and cells[0] != BOUNDARY]
        tagged = sum(len(cells) > 1 and scheme_of([cells[-1:]]) is not None for cells in rows)
        if 2 * tagged > len(rows) or (tagged and len({*map(len, rows)}) == 1 and len(rows[0]) < 5):
            if len(rows[0]) == 3 and all(scheme_of([cells[1:2]]) for cells in rows):
                note("gold is the last of three columns; where `predict` wrote them, that is its prediction", path)
            return read_file(path, columns=len(rows[0]))
        if any(len(cells) > 1 for cells in rows):
            texts = read_plain(path)
        else:
            texts = [tuple(cells[0] for _, cells in each) for each in read_columns(path, columns=1, boundary=BOUNDARY)]
        return [TaggedSentence(tokens, (NO_GOLD,) * len(tokens)) for tokens in texts]

    def write(self, path: Path, examples: Sequence[TaggedSentence], predicted: Sequence[Sequence[str]]) -> None:
        """Write token, gold and predicted tag on a line each, as conlleval reads them; white space is escaped."""
        with atomic_write(path, "w") as handle:
            for sentence, tags in zip(examples, predicted, strict=True):
                rows = zip(sentence.tokens, sentence.tags, tags, strict=True)
                spelt = ((escaped(token, reserved=RESERVED), escaped(gold), escaped(tag)) for token, gold, tag in rows)
                handle.write("".join(" ".join(row) + "\n" for row in spelt) + "\n")

    def within(
        self, example: TaggedSentence, predicted: Sequence[str], keeps: Callable[[Sequence[str]], bool]
    ) -> tuple[list[str], list[str]]:
        """Gold and predicted tags of the entities whose words `keeps` accepts; all other tags are O."""
        return _only(example.tags, example.tokens, keeps), _only(predicted, example.tokens, keeps)


def read_file(path: Path, *, columns: int) -> list[TaggedSentence]:
    """The sentences of a CoNLL file: token in the first of `columns` columns, tag in the last.

    Tags of one of the schemes in LETTERS become BIO; a note names BIOES and BILOU. -DOCSTART- lines are dropped. Raises
    UserError with file and line.
    """
    check_ended(path)
    blocks = list(read_columns(path, columns=columns, boundary=BOUNDARY))
    scheme = scheme_of([cells[-1] for _, cells in rows] for rows in blocks) or "BIO"
    if scheme in ("BIOES", "BILOU"):
        note(f"the tags are {scheme}, and are converted to BIO", path)
    sentences = []
    for rows in blocks:
        for number, cells in rows:
            try:
                split_tag(cells[-1], LETTERS[scheme])
            except ValueError as error:
                raise UserError(f"{path}:{number}: {error}. Fix this line.") from None
        sentences.append(_sentence([cells[0] for _, cells in rows], [cells[-1] for _, cells in rows], scheme))
    if not sentences:
        raise UserError(f"{path}: no sentences. Download the file again.")
    return sentences


def _only(tags: Sequence[str], tokens: Sequence[str], keeps: Callable[[Sequence[str]], bool]) -> list[str]:
    kept = ["O"] * len(tags)
    for kind, first, last in spans(tags):
        if keeps(tokens[first : last + 1]):
            kept[first : last + 1] = [f"B-{kind}", *[f"I-{kind}"] * (last - first)]
    return kept


def _sentence(tokens: Sequence[str], tags: Sequence[str], scheme: str = "BIO") -> TaggedSentence:
    return TaggedSentence(tuple(tokens), tuple(to_bio(tags, scheme)))
