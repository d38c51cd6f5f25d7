"""Natural language inference: the suites as labelled pairs of sentences.

A line of a file is a JSON object with raw sentences and, in the original files, their
parses.
"""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write
from elmo_bench.base.hub import hub_split
from elmo_bench.base.json import parse_json
from elmo_bench.base.notes import note
from elmo_bench.base.sources import SuiteData, check_texts, data_file
from elmo_bench.text.columns import (
    NO_GOLD,
    check_ended,
    filled_lines,
    line_of,
    tokens_of,
)
from elmo_bench.text.vocabulary import BRACKETS, tokeniser

LABELS = ("entailment", "neutral", "contradiction")  # in the Hub's order: 0, 1, 2


@dataclass(frozen=True)
class Pair:
    """Two tokenised sentences, and whether the second follows from the first.

    The label is one of LABELS, or NO_GOLD, which SNLI writes where its annotators did
    not agree.
    """

    premise: tuple[str, ...]
    hypothesis: tuple[str, ...]
    label: str

    @property
    def group(self) -> tuple[str, ...]:
        """Pairs of one premise stay together in a fraction of the training data."""
        return self.premise

    @property
    def texts(self) -> tuple[tuple[str, ...], ...]:
        return (self.premise, self.hypothesis)

    @property
    def gold(self) -> str:
        return self.label


def read_pairs(path: Path, *, tokenizer: str, labelled: bool = True) -> list[Pair]:
    """The pairs of a file, with or without gold label; other keys are ignored.

    A sentence is the leaves of its `sentence1_binary_parse` (`sentence2_…`) if the line
    has one, else `tokenizer` splits the raw text. Without `labelled` a line may lack
    `gold_label`. A file that `Data.write` wrote is read, too. Raises UserError with
    file and line.
    """
    check_ended(path)
    pairs = []
    for number, line in filled_lines(path):
        where = f"{path}:{number}"
        if line.startswith("gold_label\t"):
            raise UserError(
                f"{path}: SNLI's table with tabs (.txt). "
                "Give the .jsonl file of the same name."
            )
        pair = _written(line)
        if pair is None:
            row = parse_json(line, where)
            try:
                pair = _pair(row, tokenizer, labelled=labelled)
            except ValueError as error:
                raise UserError(f"{where}: {error}. Fix this line.") from None
        pairs.append(pair)
    if not pairs:
        raise UserError(f"{path}: no pairs. Download the file again.")
    return pairs


def _written(line: str) -> Pair | None:
    """The pair of a line of predictions; None for any other line."""
    cells = line.split("\t")
    if len(cells) != 4:
        return None
    gold, predicted, premise, hypothesis = cells
    if gold not in (*LABELS, NO_GOLD) or predicted not in LABELS:
        return None
    return Pair(tuple(tokens_of(premise)), tuple(tokens_of(hypothesis)), gold)


def _pair(row: Any, tokenizer: str, *, labelled: bool) -> Pair:
    if not isinstance(row, dict):
        raise ValueError("expected an object with sentence1, sentence2 and gold_label")
    label = row.get("gold_label")
    if label is None and not labelled:
        label = NO_GOLD
    if label not in (*LABELS, NO_GOLD):
        raise ValueError(
            f"gold_label is {label!r:.60}: expected {', '.join(LABELS)} or {NO_GOLD}"
        )
    premise = _tokens(row, "sentence1", tokenizer)
    hypothesis = _tokens(row, "sentence2", tokenizer)
    return Pair(premise, hypothesis, label)


def _tokens(row: dict[str, Any], name: str, tokenizer: str) -> tuple[str, ...]:
    text = row.get(name)
    tree = row.get(f"{name}_binary_parse") or ""
    if not isinstance(text, str) or not isinstance(tree, str):
        raise ValueError(f"{name} is missing, or it or its parse is not text")
    tokens = leaves(tree) if tree.strip() else tokeniser(tokenizer)(text)
    if not tokens:
        raise ValueError(f"{name} is empty")
    return tuple(tokens)


def leaves(tree: str) -> list[str]:
    """The words of a binary parse such as `( ( Two women ) ( talk . ) )`.

    A single word has no brackets. Treebank escapes are replaced: -LRB- by ( and so on.
    Raises ValueError if the brackets do not match.
    """
    parts = tree.split()
    depth = 0
    for place, part in enumerate(parts):
        if part == "(":
            depth += 1
        elif part == ")":
            depth -= 1
        if depth < 0 or (depth == 0 and place < len(parts) - 1):
            raise ValueError(
                f"a parse with unbalanced parentheses: {part!r} is outside of the tree"
            )
    if depth:
        raise ValueError(
            f"a parse with unbalanced parentheses: {depth} still open at the end"
        )
    return [BRACKETS.get(part, part) for part in parts if part not in ("(", ")")]


class Data(SuiteData):
    """Reads the suites that `conf/task/snli.yaml` names.

    `files` and `hub` also have `tokenizer`, for sentences without a parse; the one next
    to the suites is for `read_file`. If `dev` of `files` is null, it is cut from train
    with the options `cut` (see `cut_by_premise`).
    """

    schema = "snli-1"
    ending = ".tsv"

    def __init__(self, *, tokenizer: str, **suites: Mapping[str, Any]):
        super().__init__(**suites)
        self.tokenizer = tokenizer

    def read(self, suite: str, root: Path | None) -> dict[str, list[Pair]]:
        """{"train": [...], "dev": [...], "test": [...]}; `root` is the data folder.

        Pairs without a gold label are dropped, with a note. Raises UserError.
        """
        options = self.options(suite)
        if options["source"] != "files" or options["dev"] is not None:
            return super().read(suite, root)
        train = self.from_files(options, "train", root)
        test = self.from_files(options, "test", root)
        cut = options["cut"]
        numbers = [cut["pairs"], cut["seed"]] if isinstance(cut, Mapping) else [None]
        if any(type(number) is not int for number in numbers):
            raise UserError(
                f"task.data.{suite}.cut={cut}: give the whole numbers pairs and seed"
            )
        train, dev = cut_by_premise(train, pairs=cut["pairs"], seed=cut["seed"])
        return {"train": train, "dev": dev, "test": test}

    def from_files(
        self, options: Mapping[str, Any], split: str, root: Path | None
    ) -> list[Pair]:
        path = data_file(root, options["folder"], options[split])
        return _labelled(read_pairs(path, tokenizer=options["tokenizer"]), split)

    def from_hub(
        self, options: Mapping[str, Any], split: str, root: Path | None
    ) -> list[Pair]:
        columns = ("premise", "hypothesis", "label")
        where, table = hub_split(options["hub"], split, columns=columns)
        cut = tokeniser(options["tokenizer"])
        labels = {-1: NO_GOLD, **dict(enumerate(LABELS))}
        pairs = []
        rows = zip(table["premise"], table["hypothesis"], table["label"], strict=True)
        for number, (premise, hypothesis, label) in enumerate(rows):
            check_texts((premise, hypothesis), f"{where}: row {number}")
            first, second = tuple(cut(premise)), tuple(cut(hypothesis))
            if not (first and second) or label not in labels:
                raise UserError(
                    f"{where}: row {number} has an empty sentence, "
                    "or a label that is not -1, 0, 1 or 2"
                )
            pairs.append(Pair(first, second, labels[label]))
        return _labelled(pairs, split)

    def vocabulary(self, train: Sequence[Pair]) -> dict[str, list[str]]:
        """{"labels": the three labels}, even if the training data lacks one."""
        return {"labels": list(LABELS)}

    def read_file(self, path: Path) -> list[Pair]:
        """The pairs of a file in SNLI's format, whose gold labels may be missing.

        Raises UserError.
        """
        return read_pairs(path, tokenizer=self.tokenizer, labelled=False)

    def write(
        self, path: Path, examples: Sequence[Pair], predicted: Sequence[str]
    ) -> None:
        """Write gold label, predicted label, premise and hypothesis, a line a pair.

        The gold label is - if there is none.
        """
        with atomic_write(path, "w") as handle:
            for pair, label in zip(examples, predicted, strict=True):
                texts = f"{line_of(pair.premise)}\t{line_of(pair.hypothesis)}"
                handle.write(f"{pair.label}\t{label}\t{texts}\n")


def cut_by_premise(
    train: Sequence[Pair], *, pairs: int, seed: int
) -> tuple[list[Pair], list[Pair]]:
    """(rest, dev): whole premises are drawn for dev until it has `pairs` pairs.

    The same pairs and seed give the same cut on every machine; both sides keep the
    order of the file.
    """
    counts = Counter(pair.premise for pair in train)
    premises = list(counts)
    random.Random(seed).shuffle(premises)
    chosen: set[tuple[str, ...]] = set()
    taken = 0
    for premise in premises:
        if taken >= pairs:
            break
        chosen.add(premise)
        taken += counts[premise]
    if not 0 < taken < len(train):
        raise UserError(
            f"cut.pairs={pairs}: dev would hold {taken} of {len(train)} pairs. "
            "Leave some on both sides."
        )
    dev = [pair for pair in train if pair.premise in chosen]
    return [pair for pair in train if pair.premise not in chosen], dev


def _labelled(pairs: Sequence[Pair], split: str) -> list[Pair]:
    labelled = [pair for pair in pairs if pair.label != NO_GOLD]
    without = len(pairs) - len(labelled)
    if without:
        note(
            f"{split}: {without} pairs without a gold label dropped, "
            f"{len(labelled)} kept"
        )
    if not labelled:
        raise UserError(
            f"{split}: no pair has a gold label. Use files of labelled pairs."
        )
    return labelled
