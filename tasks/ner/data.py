"""Named entities: the three suites as sentences with canonical BIO tags."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import index
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write, read_lines
from elmo_bench.base.hub import hub_split
from elmo_bench.base.notes import note
from elmo_bench.base.sources import SuiteData, check_texts, data_file
from elmo_bench.tasks.ner.metric import SENTENCE_BOUNDARY
from elmo_bench.text.columns import (
    NO_GOLD,
    cells_of,
    check_ended,
    escaped,
    read_columns,
    read_plain,
)
from elmo_bench.text.own_texts import list_of
from elmo_bench.text.tags import (
    LETTERS,
    TaggedSentence,
    scheme_of,
    spans,
    split_tag,
    to_bio,
)

BOUNDARY = "-DOCSTART-"  # the first cell of a line between documents
RESERVED = (BOUNDARY, SENTENCE_BOUNDARY)  # tokens that would be read as such lines


class Data(SuiteData):
    """Reads the suites that `conf/task/ner.yaml` names.

    `files` also has `columns` (token first, tag last), and `hub` has `labels`, the tag
    of each id.
    """

    schema = "ner-1"
    ending = ".conll"

    def from_files(
        self, options: Mapping[str, Any], split: str, root: Path | None
    ) -> list[TaggedSentence]:
        path = data_file(root, options["folder"], options[split])
        return read_file(path, columns=options["columns"])

    def from_hub(
        self, options: Mapping[str, Any], split: str, root: Path | None
    ) -> list[TaggedSentence]:
        hub = options["hub"]
        where, table = hub_split(hub, split, columns=("tokens", "ner_tags"))
        labels = list(hub["labels"])
        sentences = []
        rows = zip(table["tokens"], table["ner_tags"], strict=True)
        for number, (tokens, ids) in enumerate(rows):
            try:
                check_texts(tokens, f"{where}: row {number}")
                fits = len(tokens) == len(ids)
                fits = fits and all(0 <= index(i) < len(labels) for i in ids)
            except TypeError:  # nothing, or something else than lists
                fits = False
            if not fits:
                raise UserError(
                    f"{where}: row {number} has tags outside hub.labels, or not one "
                    "for each token. Check hub.labels."
                )
            if tokens:
                sentences.append(_sentence(tokens, [labels[i] for i in ids]))
        empty = len(table["tokens"]) - len(sentences)
        if empty:
            note(f"{where}: {empty:,} rows without tokens skipped")
        return sentences

    def vocabulary(self, train: Sequence[TaggedSentence]) -> dict[str, list[str]]:
        """{"labels": every BIOUL tag of every type in the training data, O first}."""
        tags: set[str] = set()
        for sentence in train:
            tags.update(sentence.tags)
        kinds = {tag[2:] for tag in tags if tag != "O"}
        labels = ["O"]
        for kind in sorted(kinds):
            labels += [f"{letter}-{kind}" for letter in "BIUL"]
        return {"labels": labels}

    def of_texts(self, texts: Iterable[Sequence[str]]) -> list[TaggedSentence]:
        """Sentences of a program: lists of tokens. Raises UserError."""
        sentences = list_of(texts)
        for number, tokens in enumerate(sentences, 1):
            is_list = isinstance(tokens, Sequence) and not isinstance(tokens, str)
            if not is_list or not tokens:
                raise UserError(f"sentence {number}: give a list of tokens.")
            check_texts(tokens, f"sentence {number}")
        return [_untagged(tuple(tokens)) for tokens in sentences]

    def read_file(self, path: Path) -> list[TaggedSentence]:
        """The sentences of a column file, of tokens one a line, or of sentences.

        A column file has the token first and the tag last. A file has a sentence a line
        if lines have several cells and few end in a tag. Without tags, all are NO_GOLD.
        """
        lines = (cells_of(line) for _, line in read_lines(path))
        rows = [cells for cells in lines if cells and cells[0] != BOUNDARY]
        if _has_tags(rows):
            if len(rows[0]) == 3 and all(scheme_of([cells[1:2]]) for cells in rows):
                note(
                    "gold is the last of three columns; where `predict` wrote them, "
                    "that is its prediction",
                    path,
                )
            return read_file(path, columns=len(rows[0]))
        if any(len(cells) > 1 for cells in rows):
            texts = read_plain(path)
        else:
            texts = []
            for block in read_columns(path, columns=1, boundary=BOUNDARY):
                texts.append(tuple(cells[0] for _, cells in block))
        return [_untagged(tokens) for tokens in texts]

    def write(
        self,
        path: Path,
        examples: Sequence[TaggedSentence],
        predicted: Sequence[Sequence[str]],
    ) -> None:
        """Write token, gold and predicted tag on a line each, as conlleval reads them.

        White space is escaped.
        """
        with atomic_write(path, "w") as handle:
            for sentence, tags in zip(examples, predicted, strict=True):
                rows = zip(sentence.tokens, sentence.tags, tags, strict=True)
                for token, gold, tag in rows:
                    word = escaped(token, reserved=RESERVED)
                    handle.write(f"{word} {escaped(gold)} {escaped(tag)}\n")
                handle.write("\n")

    def within(
        self,
        example: TaggedSentence,
        predicted: Sequence[str],
        keeps: Callable[[Sequence[str]], bool],
    ) -> tuple[list[str], list[str]]:
        """Gold and predicted tags of the entities whose words `keeps` accepts.

        All other tags are O.
        """
        tokens = example.tokens
        gold = _only(example.tags, tokens, keeps)
        return gold, _only(predicted, tokens, keeps)


def _has_tags(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the last cells of most rows are tags.

    Of two rows or more, if all are equally short.
    """
    last = [cells[-1:] for cells in rows if len(cells) > 1]
    tagged = sum(scheme_of([tag]) is not None for tag in last)
    if 2 * tagged > len(rows):
        return True
    return tagged > 1 and len({*map(len, rows)}) == 1 and len(rows[0]) < 5


def read_file(path: Path, *, columns: int) -> list[TaggedSentence]:
    """The sentences of a CoNLL file of `columns` columns, token first, tag last.

    Tags of one of the schemes in LETTERS become BIO; a note names BIOES and BILOU.
    -DOCSTART- lines are dropped. Raises UserError with file and line.
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
        tokens = [cells[0] for _, cells in rows]
        tags = [cells[-1] for _, cells in rows]
        sentences.append(_sentence(tokens, tags, scheme))
    if not sentences:
        raise UserError(f"{path}: no sentences. Download the file again.")
    return sentences


def _only(
    tags: Sequence[str], tokens: Sequence[str], keeps: Callable[[Sequence[str]], bool]
) -> list[str]:
    """The tags of the entities whose words `keeps` accepts; O elsewhere."""
    accepted = ["O"] * len(tags)
    for kind, first, last in spans(tags):
        if keeps(tokens[first : last + 1]):
            accepted[first] = f"B-{kind}"
            for place in range(first + 1, last + 1):
                accepted[place] = f"I-{kind}"
    return accepted


def _sentence(
    tokens: Sequence[str], tags: Sequence[str], scheme: str = "BIO"
) -> TaggedSentence:
    return TaggedSentence(tuple(tokens), tuple(to_bio(tags, scheme)))


def _untagged(tokens: tuple[str, ...]) -> TaggedSentence:
    return TaggedSentence(tokens, (NO_GOLD,) * len(tokens))
