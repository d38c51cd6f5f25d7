"""Slices of test: what finished runs score on parts of the test split, and on all of it with mistyped words.

`runner/units.py` says what the parts are. `mistyped` is all of test, read with 5 % of the letters mistyped
(`elmo_bench/text/mistyped.py`). Units that are no examples need the run's predictions, and mistyped text its head: both
are in the run's folder, where it was made.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from omegaconf import DictConfig

from elmo_bench import ledger
from elmo_bench.base.errors import UserError
from elmo_bench.base.threads import check_threads
from elmo_bench.encoders.static import load_static
from elmo_bench.ledger import Record, RunPaths
from elmo_bench.runner.data import (
    build_data,
    data_digest,
    read_splits,
    training_fraction,
    without_long_texts,
    words_of,
)
from elmo_bench.runner.kept_head import read_head
from elmo_bench.runner.model import load_frozen
from elmo_bench.runner.predict import build_kept, predictions
from elmo_bench.runner.units import Keeps, Outcomes, Rare, words_of_unit
from elmo_bench.spec.names import task_class
from elmo_bench.spec.run_spec import RunSpec
from elmo_bench.text.mistyped import mistype
from elmo_bench.training.contracts import Data, Metric

AGREES = 0.5  # percentage points between the record's score and the score of its head here, on another machine say


@dataclass(frozen=True)
class ScoredSplit:
    """The test split of a run, and which units belong to each slice."""

    data: Data
    metric: Metric
    digest: str  # of all splits
    examples: list[Any]
    keeps: dict[str, Keeps]

    @classmethod
    def of(cls, config: DictConfig) -> "ScoredSplit":
        """Read the data and the suite's vectors. Raises UserError."""
        data = build_data(config)
        splits = read_splits(config, data)
        given = config.data
        train = training_fraction(
            without_long_texts(splits["train"]),
            seed=config.seed,
            fraction=given.train_fraction,
            limit=given.max_train,
        )
        words = set(words_of([*splits["dev"], *splits["test"]]))
        rare = Rare.of(splits | {"train": train}, load_static(config.suite.vectors, words))
        metric = task_class(config.task.name, "metric")()
        return cls(data, metric, data_digest(data, splits), splits["test"], rare.keeps)

    @property
    def gold(self) -> list[Any]:
        return [example.gold for example in self.examples]


def make_slices(config: DictConfig, record: Record, paths: RunPaths, test: ScoredSplit) -> list[str]:
    """Write the slices of a finished run next to its record; returns why some could not be made, a line each.

    Raises UserError if the record is of other data.
    """
    if (record["spec"]["contents"] or {}).get("data") != test.digest:
        raise UserError(f"{paths.record}: scored on other data. Run it again.")
    stored = ledger.of_split(ledger.read_outcomes(paths), "test")
    if any(len(values) != len(test.examples) for values in stored.values()):
        raise UserError(f"{paths.outcomes}: outcomes of other items. Run it again with overwrite=true.")
    spec = RunSpec.from_json(record["spec"])
    found: dict[str, Outcomes] = {}
    problems: list[str] = []

    def attempt(make: Callable[[], dict[str, Outcomes]]) -> None:
        try:
            found.update(make())
        except UserError as error:
            problems.append(str(error))

    head = _Head(config, spec, record, paths, test)
    if hasattr(test.data, "within"):
        attempt(lambda: _of_units(test, stored, _as_scored(test, stored, head)))
    else:
        attempt(lambda: _of_examples(test, stored))
    attempt(lambda: {"mistyped": _outcomes(test, head.predictions(mistyped=True), stored)})
    problems = list(dict.fromkeys(problems))  # both may miss the head
    if found := {name: outcomes for name, outcomes in found.items() if len(next(iter(outcomes.values())))}:
        ledger.write_slices(paths, found)
    return problems


def _of_examples(test: ScoredSplit, stored: Outcomes) -> dict[str, Outcomes]:
    words = [*map(words_of_unit, test.examples)]
    masks = {name: np.array([*map(keeps, words)], bool) for name, keeps in test.keeps.items()}
    return {name: {key: values[mask] for key, values in stored.items()} for name, mask in masks.items()}


def _of_units(test: ScoredSplit, stored: Outcomes, predicted: Sequence[Any]) -> dict[str, Outcomes]:
    found = {}
    for name, keeps in test.keeps.items():
        pairs = zip(test.examples, predicted, strict=True)
        cut = [test.data.within(example, prediction, keeps) for example, prediction in pairs]  # type: ignore[attr-defined]
        kept = [pair for pair in cut if pair is not None]
        if kept:
            mask = np.array([pair is not None for pair in cut], bool)
            outcomes = _plain(test.metric.outcomes([gold for gold, _ in kept], [own for _, own in kept]))
            found[name] = outcomes | _clusters(stored, mask)
    return found


def _outcomes(test: ScoredSplit, predicted: Sequence[Any], stored: Outcomes) -> Outcomes:
    return _plain(test.metric.outcomes(test.gold, predicted)) | _clusters(stored, np.ones(len(test.examples), bool))


def _plain(outcomes: Outcomes) -> Outcomes:
    """Without the counts by type."""
    return {name: values for name, values in outcomes.items() if not name.startswith(ledger.TYPE)}


def _clusters(stored: Outcomes, mask: np.ndarray) -> Outcomes:
    return {ledger.CLUSTER: stored[ledger.CLUSTER][mask]} if ledger.CLUSTER in stored else {}


def _as_scored(test: ScoredSplit, stored: Outcomes, head: "_Head") -> list[Any]:
    """The run's predictions on test: of its file, if the task reads it and its outcomes are those stored, or anew."""
    work = head.paths.work
    for path in [] if work.is_symlink() else sorted(work.glob("test.predictions.*")):
        try:
            found = [example.gold for example in test.data.read_file(path)]
            outcomes = _plain(test.metric.outcomes(test.gold, found))
        except (UserError, ValueError):  # a format that the task writes and does not read, say
            continue
        if all(np.array_equal(outcomes[name], stored[name]) for name in outcomes):
            return found
    predicted = head.predictions()
    main = test.metric.main
    score = test.metric.score(test.gold, predicted)["overall"][main]
    if abs(score - (said := head.record["scores"]["test"]["overall"][main])) > AGREES:
        raise UserError(f"{head.paths.record}: its head has {main} {score:.2f} here, the record says {said:.2f}.")
    return predicted


@dataclass(frozen=True)
class _Head:
    """The kept head of a run."""

    config: DictConfig
    spec: RunSpec
    record: Record
    paths: RunPaths
    test: ScoredSplit

    def predictions(self, *, mistyped: bool = False) -> list[Any]:
        """On the test split, computed on the processor. Raises UserError if the head or its encoder are not here."""
        file: Path = self.paths.work / "head.safetensors"
        if not file.is_file():
            raise UserError("no head is kept here (heads are not committed). Run it again with overwrite=true.")
        kept = read_head(file)
        if kept.spec != self.spec:
            raise UserError(f"{file}: the head of another run. Run it again with overwrite=true.")
        texts = [text for example in self.test.examples for text in example.texts]
        words = {word for text in texts for each in (text, mistype(text)) for word in each}
        config = self.config.copy()
        config.trainer.device = "cpu"
        torch.set_num_threads(check_threads(config.trainer.threads) or 1)
        frozen = load_frozen(config, words.union(kept.lexicon.words))
        contents = self.spec.contents or {}
        if changed := [name for name, checksum in frozen.contents.items() if checksum != contents.get(name)]:
            raise UserError(f"{file}: trained with other {changed[0]} than these. Run it again.")
        head, index = build_kept(self.spec, frozen, kept, file)
        read = (lambda batch: index([mistype(text) for text in batch])) if mistyped else index
        title = f"{self.spec.task} {self.spec.encoder} seed {self.record['seed']}{', mistyped' if mistyped else ''}"
        return predictions(head, self.test.examples, read, training=config.task.training, title=title)
