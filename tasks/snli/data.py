"""Natural language inference: the suites as pairs of sentences with one of three labels."""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write
from elmo_bench.base.progress import note
from elmo_bench.base.sources import SPLITS, SuiteData, check_texts, data_file, hub_table
from elmo_bench.tasks.snli.jsonl import LABELS, NO_GOLD, Pair, read_pairs
from elmo_bench.text.columns import line_of
from elmo_bench.text.vocabulary import tokeniser


class Data(SuiteData):
    """Reads the suites that `conf/task/snli.yaml` names.

    `files` and `hub` also have `tokenizer`, for sentences without a parse; the one next to the suites is for
    `read_file`. If `dev` of `files` is null, it is cut from train with the options `cut` (see `cut_by_premise`).
    """

    schema = "snli-1"
    ending = ".tsv"

    def __init__(self, *, tokenizer: str, **suites: Mapping[str, Any]):
        super().__init__(**suites)
        self.tokenizer = tokenizer

    def read(self, suite: str, root: Path | None) -> dict[str, list[Pair]]:
        """{"train": [...], "dev": [...], "test": [...]}; `root` is the data folder. Raises UserError.

        Pairs without a gold label are dropped, with a note.
        """
        options = self.options(suite)
        if options["source"] != "files" or options["dev"] is not None:
            return super().read(suite, root)
        train, test = (self.from_files(options, split, root) for split in ("train", "test"))
        cut = options["cut"]
        if not isinstance(cut, Mapping) or any(type(cut[key]) is not int for key in ("pairs", "seed")):
            raise UserError(f"task.data.{suite}.cut={cut}: give the whole numbers pairs and seed")
        train, dev = cut_by_premise(train, pairs=cut["pairs"], seed=cut["seed"])
        return dict(zip(SPLITS, (train, dev, test), strict=True))

    def from_files(self, options: Mapping[str, Any], split: str, root: Path | None) -> list[Pair]:
        path = data_file(root, options["folder"], options[split])
        return _labelled(read_pairs(path, tokenizer=options["tokenizer"]), split)

    def from_hub(self, options: Mapping[str, Any], split: str, root: Path | None) -> list[Pair]:
        hub = options["hub"]
        where = f"{hub['repo']}/{hub[split]}"
        table = hub_table(hub["repo"], hub[split], revision=hub["revision"])
        if not {"premise", "hypothesis", "label"} <= set(table.column_names):
            raise UserError(f"{where}: no columns premise, hypothesis and label. Check hub in conf/task/snli.yaml")
        cut = tokeniser(options["tokenizer"])
        labels = {-1: NO_GOLD, **dict(enumerate(LABELS))}
        pairs = []
        rows = zip(table["premise"], table["hypothesis"], table["label"], strict=True)
        for number, (premise, hypothesis, label) in enumerate(rows):
            check_texts((premise, hypothesis), f"{where}: row {number}")
            pair = Pair(tuple(cut(premise)), tuple(cut(hypothesis)), labels.get(label, ""))
            if not all((pair.premise, pair.hypothesis, pair.label)):
                raise UserError(f"{where}: row {number} has an empty sentence, or a label that is not -1, 0, 1 or 2")
            pairs.append(pair)
        return _labelled(pairs, split)

    def vocabulary(self, train: Sequence[Pair]) -> dict[str, list[str]]:
        """{"labels": the three labels}, even if the training data lacks one."""
        return {"labels": list(LABELS)}

    def read_file(self, path: Path) -> list[Pair]:
        """The pairs of a file in SNLI's format, whose gold labels may be missing. Raises UserError."""
        return read_pairs(path, tokenizer=self.tokenizer, labelled=False)

    def write(self, path: Path, examples: Sequence[Pair], predicted: Sequence[str]) -> None:
        """Write a line for each pair: gold label (- if there is none), predicted label, premise, hypothesis."""
        with atomic_write(path, "w") as handle:
            for pair, label in zip(examples, predicted, strict=True):
                handle.write("\t".join((pair.label, label, line_of(pair.premise), line_of(pair.hypothesis))) + "\n")


def cut_by_premise(train: Sequence[Pair], *, pairs: int, seed: int) -> tuple[list[Pair], list[Pair]]:
    """(rest, dev): whole premises are drawn for dev until it has `pairs` pairs.

    The same pairs and seed give the same cut on every machine; both sides keep the order of the file.
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
        raise UserError(f"cut.pairs={pairs}: dev would hold {taken} of {len(train)} pairs. Leave some on both sides.")
    dev = [pair for pair in train if pair.premise in chosen]
    return [pair for pair in train if pair.premise not in chosen], dev


def _labelled(pairs: Sequence[Pair], split: str) -> list[Pair]:
    kept = [pair for pair in pairs if pair.label != NO_GOLD]
    if len(kept) < len(pairs):
        note(f"{split}: {len(pairs) - len(kept)} pairs without a gold label dropped, {len(kept)} kept")
    if not kept:
        raise UserError(f"{split}: no pair has a gold label. Use files of labelled pairs.")
    return kept
