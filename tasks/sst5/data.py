"""Fine-grained sentiment: the suites as phrases with a label from 0 to 4."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write, read_lines
from elmo_bench.base.sources import SuiteData, data_file
from elmo_bench.tasks.sst5.trees import LABELS, Phrase, Tree, read_trees
from elmo_bench.text.columns import line_of, tokens_of


class Data(SuiteData):
    """Reads the suites that `conf/task/sst5.yaml` names.

    They also have `phrases`: the minimum tokens of the labelled phrases that training reads (null: whole sentences
    only). Dev and test are whole sentences.
    """

    schema = "sst5-1"
    ending = ".tsv"
    sources = ("files",)

    def read(self, suite: str, root: Path | None) -> dict[str, list[Phrase]]:
        shortest = self.options(suite)["phrases"]
        if shortest is not None and (not isinstance(shortest, int) or shortest < 1):
            raise UserError(f"task.data.{suite}.phrases={shortest}: give a number of tokens from 1, or null")
        trees = super().read(suite, root)
        train = _phrases(trees["train"], shortest)
        if not train:
            raise UserError(f"task.data.{suite}.phrases={shortest}: no training phrase is as long. Lower it.")
        return {"train": train, "dev": _phrases(trees["dev"], None), "test": _phrases(trees["test"], None)}

    def from_files(self, options: Mapping[str, Any], split: str, root: Path | None) -> list[Tree]:
        return read_trees(data_file(root, options["folder"], options[split]))

    def canonical(self, example: Phrase) -> dict[str, Any]:
        return {"tokens": example.tokens, "label": example.label}

    def vocabulary(self, train: Sequence[Phrase]) -> dict[str, int]:
        """{"labels": 5}, even if the training data lacks one."""
        return {"labels": len(LABELS)}

    def read_file(self, path: Path) -> list[Phrase]:
        """The sentences of a file: trees, what `write` wrote, or tokenised sentences without labels, one a line."""
        lines = (line for _, line in read_lines(path) if line.strip())
        if re.match(r"\([0-4][ (]", first := next(lines, "")):
            return _phrases(read_trees(path), None)
        if not first:
            raise UserError(f"{path}: no sentence in it")
        return [_written(line) or Phrase(tuple(tokens_of(line)), None) for line in (first, *lines)]

    def write(self, path: Path, examples: Sequence[Phrase], predicted: Sequence[int]) -> None:
        """Write gold (`-` if unknown), predicted label and text, separated by tabs, a line for each sentence."""
        with atomic_write(path, "w") as handle:
            for phrase, label in zip(examples, predicted, strict=True):
                gold = "-" if phrase.label is None else phrase.label
                handle.write(f"{gold}\t{label}\t{line_of(phrase.tokens)}\n")


def _written(line: str) -> Phrase | None:
    """The sentence of a line that `write` wrote; None for any other line."""
    found = re.fullmatch(r"([-0-4])\t[0-4]\t(.*)", line)
    return Phrase(tuple(tokens_of(found[2])), None if found[1] == "-" else int(found[1])) if found else None


def _phrases(trees: Iterable[Tree], shortest: int | None) -> list[Phrase]:
    return [phrase for tree in trees for phrase in tree.phrases(shortest=shortest)]
