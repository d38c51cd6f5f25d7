"""Parts of speech: the suites as sentences with a tag for each word."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write, read_lines
from elmo_bench.base.sources import SPLITS, data_file, suite_files, suite_options
from elmo_bench.tasks.pos import mini
from elmo_bench.tasks.pos.sentence import UNKNOWN, Sentence
from elmo_bench.text.columns import check_ended, read_columns
from elmo_bench.text.conllu import FORM, XPOS, read_conllu
from elmo_bench.text.token_labels import CONTROL, GOLD, check_labels, control_labels

SOURCES = ("generated", "files")


class Data:
    """Reads the suites that `conf/task/pos.yaml` names; each is a mapping whose `source` says how it is read.

    `generated`: `seed`. `files`: `folder`, and for each split a file name: `.conllu`, or two columns, word and tag.
    labels: `gold`, or `control`: a random tag for each word (`control_labels`).
    """

    schema = "pos-1"
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
            control = control_labels(tag for sentence in splits["train"] for tag in sentence.tags)
            for split, sentences in splits.items():
                splits[split] = [replace(each, tags=tuple(map(control, each.tokens))) for each in sentences]
        return splits

    def files(self, suite: str, root: Path | None) -> list[Path]:
        """The files that `read` reads; none for generated data. Raises UserError."""
        return suite_files(suite_options(self.suites, suite, SOURCES), root)

    def canonical(self, example: Sentence) -> dict[str, Any]:
        """The example as JSON in the schema `pos-1`."""
        return {"tokens": example.tokens, "tags": example.tags}

    def vocabulary(self, train: Sequence[Sentence]) -> dict[str, list[str]]:
        """{"labels": every tag of the training data}."""
        return {"labels": sorted({tag for sentence in train for tag in sentence.tags})}

    def read_file(self, path: Path) -> list[Sentence]:
        """The sentences of a file in a format of `read`, or of words alone, one a line."""
        return read_file(path)

    def write(self, path: Path, examples: Sequence[Sentence], predicted: Sequence[Sequence[str]]) -> None:
        """Write word, gold and predicted tag on a line each, separated by tabs; a blank line after each sentence."""
        with atomic_write(path, "w") as handle:
            for sentence, tags in zip(examples, predicted, strict=True):
                rows = zip(sentence.tokens, sentence.tags, tags, strict=True)
                handle.write("".join(f"{token}\t{gold}\t{tag}\n" for token, gold, tag in rows) + "\n")


def read_file(path: Path) -> list[Sentence]:
    """The sentences of a file; a missing tag is `_`. Raises UserError with file and line."""
    check_ended(path)
    rows = _conllu(path) if path.suffix == ".conllu" else _columns(path)
    sentences = [Sentence(tuple(words), tuple(tags)) for words, tags in rows]
    if not sentences:
        raise UserError(f"{path}: no sentences. Download the file again.")
    return sentences


def _columns(path: Path) -> Iterator[tuple[list[str], list[str]]]:
    first = next((line.split() for _, line in read_lines(path) if line.strip()), [])
    for rows in read_columns(path, columns=min(max(len(first), 1), 2)):
        cells = [[*found, UNKNOWN][:2] for _, found in rows]
        yield [word for word, _ in cells], [tag for _, tag in cells]


def _conllu(path: Path) -> Iterator[tuple[list[str], list[str]]]:
    for rows in read_conllu(path):
        yield [cells[FORM] for _, cells in rows], [cells[XPOS] for _, cells in rows]
