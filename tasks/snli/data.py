"""Natural language inference: the three suites as pairs of sentences with one of three labels."""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write
from elmo_bench.base.notes import note
from elmo_bench.base.sources import SPLITS, data_file, hub_table, suite_files, suite_options
from elmo_bench.tasks.snli import mini
from elmo_bench.tasks.snli.jsonl import read_pairs
from elmo_bench.tasks.snli.pair import LABELS, NO_GOLD, Pair
from elmo_bench.text.tokenisers import tokeniser

SOURCES = ("generated", "files", "hub")


class Data:
    """Reads the suites that `conf/task/snli.yaml` names; each is a mapping whose `source` says how it is read.

    `generated`: `seed`. `files`: `folder`, for each split a file name, and `tokenizer` (of sentences without a parse);
    where `dev` is null it is cut out of train, as `cut` says (see `cut_by_premise`). `hub`: `hub` with `repo`,
    `revision` and a parquet file for each split, and `tokenizer`. `tokenizer` beside the suites is that of `read_file`.
    """

    schema = "snli-1"
    ending = ".tsv"

    def __init__(self, *, tokenizer: str, **suites: Mapping[str, Any]):
        self.tokenizer, self.suites = tokenizer, suites

    def read(self, suite: str, root: Path | None) -> dict[str, list[Pair]]:
        """{"train": [...], "dev": [...], "test": [...]}; `root` is the data folder. Raises UserError.

        Pairs without a gold label are dropped; how many is printed.
        """
        options = suite_options(self.suites, suite, SOURCES)
        if options["source"] == "generated":
            return mini.generate(seed=options["seed"])
        read = _from_files if options["source"] == "files" else _from_hub
        from_train = options["source"] == "files" and options["dev"] is None
        splits = {
            split: _labelled(read(options, split, root), split) for split in SPLITS if split != "dev" or not from_train
        }
        if from_train:
            splits["train"], splits["dev"] = cut_by_premise(splits["train"], **options["cut"])
        return {split: splits[split] for split in SPLITS}

    def files(self, suite: str, root: Path | None) -> list[Path]:
        """The files that `read` reads; none for generated data. Raises UserError."""
        return suite_files(suite_options(self.suites, suite, SOURCES), root)

    def canonical(self, example: Pair) -> dict[str, Any]:
        """The example as JSON in the schema `snli-1`."""
        return {"premise": example.premise, "hypothesis": example.hypothesis, "label": example.label}

    def vocabulary(self, train: Sequence[Pair]) -> dict[str, list[str]]:
        """{"labels": the three labels}, whatever part of them the training data holds."""
        return {"labels": list(LABELS)}

    def read_file(self, path: Path) -> list[Pair]:
        """The pairs of a file in SNLI's format, whose gold labels may be missing. Raises UserError."""
        return read_pairs(path, tokenizer=self.tokenizer, labelled=False)

    def write(self, path: Path, examples: Sequence[Pair], predicted: Sequence[str]) -> None:
        """A line a pair: gold label (- where there is none), predicted label, premise, hypothesis, parted by tabs."""
        with atomic_write(path, "w") as handle:
            for pair, label in zip(examples, predicted, strict=True):
                handle.write("\t".join((pair.label, label, " ".join(pair.premise), " ".join(pair.hypothesis))) + "\n")


def cut_by_premise(train: Sequence[Pair], *, pairs: int, seed: int) -> tuple[list[Pair], list[Pair]]:
    """(the rest, dev): premises are drawn for dev until they have so many pairs; no premise is on both sides.

    The same cut for the same pairs and seed everywhere; both sides keep the order of the file.
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
        raise UserError(f"cut.pairs={pairs}: dev would hold {taken} of {len(train)} pairs; leave some on both sides")
    dev = [pair for pair in train if pair.premise in chosen]
    return [pair for pair in train if pair.premise not in chosen], dev


def _labelled(pairs: Sequence[Pair], split: str) -> list[Pair]:
    kept = [pair for pair in pairs if pair.label != NO_GOLD]
    if len(kept) < len(pairs):
        note(f"{split}: {len(pairs) - len(kept)} pairs without a gold label dropped, {len(kept)} kept")
    if not kept:
        raise UserError(f"{split}: no pair has a gold label; use files of labelled pairs")
    return kept


def _from_files(options: Mapping[str, Any], split: str, root: Path | None) -> list[Pair]:
    return read_pairs(data_file(root, options["folder"], options[split]), tokenizer=options["tokenizer"])


def _from_hub(options: Mapping[str, Any], split: str, root: Path | None) -> list[Pair]:
    hub = options["hub"]
    where = f"{hub['repo']}/{hub[split]}"
    table = hub_table(hub["repo"], hub[split], revision=hub["revision"])
    if not {"premise", "hypothesis", "label"} <= set(table.column_names):
        raise UserError(f"{where}: no columns premise, hypothesis and label; check hub in conf/task/snli.yaml")
    cut = tokeniser(options["tokenizer"])
    labels = {-1: NO_GOLD, **dict(enumerate(LABELS))}
    pairs = []
    rows = zip(table["premise"], table["hypothesis"], table["label"], strict=True)
    for number, (premise, hypothesis, label) in enumerate(rows):
        pair = Pair(tuple(cut(premise)), tuple(cut(hypothesis)), labels.get(label, ""))
        if not all((pair.premise, pair.hypothesis, pair.label)):
            raise UserError(f"{where}: row {number} has an empty sentence, or a label that is not -1, 0, 1 or 2")
        pairs.append(pair)
    return pairs
