"""Parts of speech: the three suites as sentences with a tag a word."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write, read_lines
from elmo_bench.base.sources import SPLITS, data_file, suite_files, suite_options
from elmo_bench.tasks.pos import mini
from elmo_bench.tasks.pos.sentence import UNKNOWN, Sentence
from elmo_bench.text.columns import check_ended, read_columns

SOURCES = ("generated", "files")
CONLLU = 10  # columns; the word stands in the second, Penn's tag in the fifth


class Data:
    """Reads the suites that `conf/task/pos.yaml` names; each is a mapping whose `source` says how it is read.

    `generated`: `seed`. `files`: `folder`, and for each split a file name: `.conllu`, or two columns, word and tag.
    """

    schema = "pos-1"
    ending = ".txt"

    def __init__(self, **suites: Mapping[str, Any]):
        self.suites = suites

    def read(self, suite: str, root: Path | None) -> dict[str, list[Sentence]]:
        """{"train": [...], "dev": [...], "test": [...]}; `root` is the data folder. Raises UserError."""
        options = suite_options(self.suites, suite, SOURCES)
        if options["source"] == "generated":
            return mini.generate(seed=options["seed"])
        return {split: read_file(data_file(root, options["folder"], options[split])) for split in SPLITS}

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
        """The sentences of a file as `read` takes it, or of words alone, one a line."""
        return read_file(path)

    def write(self, path: Path, examples: Sequence[Sentence], predicted: Sequence[Sequence[str]]) -> None:
        """Word, gold and predicted tag a line, parted by tabs; a blank line after each sentence."""
        with atomic_write(path, "w") as handle:
            for sentence, tags in zip(examples, predicted, strict=True):
                rows = zip(sentence.tokens, sentence.tags, tags, strict=True)
                handle.write("".join(f"{token}\t{gold}\t{tag}\n" for token, gold, tag in rows) + "\n")


def read_file(path: Path) -> list[Sentence]:
    """The sentences of a file; a tag that is not told is `_`. Raises UserError, with file and line."""
    check_ended(path)
    rows = _conllu(path) if path.suffix == ".conllu" else _columns(path)
    sentences = [Sentence(tuple(words), tuple(tags)) for words, tags in rows]
    if not sentences:
        raise UserError(f"{path}: no sentences; fetch the file again")
    return sentences


def _columns(path: Path) -> Iterator[tuple[list[str], list[str]]]:
    first = next((line.split() for _, line in read_lines(path) if line.strip()), [])
    for rows in read_columns(path, columns=min(max(len(first), 1), 2)):
        cells = [[*found, UNKNOWN][:2] for _, found in rows]
        yield [word for word, _ in cells], [tag for _, tag in cells]


def _conllu(path: Path) -> Iterator[tuple[list[str], list[str]]]:
    """Words with a whole number: neither ranges (`3-4`) nor words that are only understood (`8.1`)."""
    words: list[str] = []
    tags: list[str] = []
    for number, line in [*read_lines(path), (0, "")]:
        cells = line.rstrip("\r\n").split("\t")
        if not line.strip():
            if words:
                yield words, tags
            words, tags = [], []
        elif line.startswith("#"):
            continue
        elif len(cells) != CONLLU:
            raise UserError(f"{path}:{number}: expected {CONLLU} columns, found {len(cells)}; mend this line")
        elif cells[0].isdecimal():
            words.append(cells[1])
            tags.append(cells[4])
