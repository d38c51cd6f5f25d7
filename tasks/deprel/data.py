"""Relations of words to their heads: the suites as sentences with a head and a relation for each word."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write
from elmo_bench.base.sources import SPLITS, data_file, suite_files, suite_options
from elmo_bench.tasks.deprel import mini
from elmo_bench.tasks.deprel.sentence import Sentence
from elmo_bench.text.columns import check_ended
from elmo_bench.text.conllu import DEPREL, FORM, HEAD, Row, read_conllu
from elmo_bench.text.token_labels import CONTROL, GOLD, check_labels, control_labels

SOURCES = ("generated", "files")


class Data:
    """Reads the suites that `conf/task/deprel.yaml` names; each is a mapping whose `source` says how it is read.

    `generated`: `seed`. `files`: `folder`, and for each split the name of a CoNLL-U file.
    labels: `gold`, or `control`: a random relation for each word (`control_labels`).
    """

    schema = "deprel-1"
    ending = ".txt"

    def __init__(self, *, labels: str = GOLD, **suites: Mapping[str, Any]):
        check_labels(labels)
        self.labels, self.suites = labels, suites

    def read(self, suite: str, root: Path | None) -> dict[str, list[Sentence]]:
        """{"train": [...], "dev": [...], "test": [...]}; `root` is the data folder. Raises UserError."""
        options = suite_options(self.suites, suite, SOURCES)
        if options["source"] == "generated":
            splits = mini.generate(seed=options["seed"])
        else:
            splits = {split: read_file(data_file(root, options["folder"], options[split])) for split in SPLITS}
        if self.labels == CONTROL:
            control = control_labels(relation for sentence in splits["train"] for relation in sentence.relations)
            for split, sentences in splits.items():
                splits[split] = [replace(each, relations=tuple(map(control, each.tokens))) for each in sentences]
        return splits

    def files(self, suite: str, root: Path | None) -> list[Path]:
        """The files that `read` reads; none for generated data. Raises UserError."""
        return suite_files(suite_options(self.suites, suite, SOURCES), root)

    def canonical(self, example: Sentence) -> dict[str, Any]:
        """The example as JSON in the schema `deprel-1`."""
        return {"tokens": example.tokens, "heads": example.heads, "relations": example.relations}

    def vocabulary(self, train: Sequence[Sentence]) -> dict[str, list[str]]:
        """{"labels": every relation of the training data}."""
        return {"labels": sorted({relation for sentence in train for relation in sentence.relations})}

    def read_file(self, path: Path) -> list[Sentence]:
        """The sentences of a CoNLL-U file, which has at least words and heads; a missing relation is `_`."""
        return read_file(path)

    def write(self, path: Path, examples: Sequence[Sentence], predicted: Sequence[Sequence[str]]) -> None:
        """Write word, head (from 1; 0 is the root), gold and predicted relation on a line each, separated by tabs."""
        with atomic_write(path, "w") as handle:
            for sentence, found in zip(examples, predicted, strict=True):
                rows = zip(sentence.tokens, sentence.heads, sentence.relations, found, strict=True)
                handle.write("".join(f"{word}\t{head + 1}\t{gold}\t{own}\n" for word, head, gold, own in rows) + "\n")


def read_file(path: Path) -> list[Sentence]:
    """The sentences of a CoNLL-U file; subtypes (`nmod:poss`) are relations of their own. Raises UserError."""
    check_ended(path)
    sentences = [_sentence(path, rows) for rows in read_conllu(path)]
    if not sentences:
        raise UserError(f"{path}: no sentences. Download the file again.")
    return sentences


def _sentence(path: Path, rows: Sequence[Row]) -> Sentence:
    position = {cells[0]: at for at, (_, cells) in enumerate(rows)} | {"0": -1}
    for number, cells in rows:
        if cells[HEAD] not in position:
            raise UserError(f"{path}:{number}: head {cells[HEAD][:20]!a} is no word of the sentence. Fix this line.")
    words, relations = ([cells[column] for _, cells in rows] for column in (FORM, DEPREL))
    return Sentence(tuple(words), tuple(position[cells[HEAD]] for _, cells in rows), tuple(relations))
