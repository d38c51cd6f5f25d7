"""A trained head on new text: the head that a run kept, built again around the frozen
encoder of its record.

The record and the head may come from a stranger. They are data: names in them choose
among the tasks and encoders of this installation, and only weights and vectors that it
knows by name are loaded without being asked for.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from elmo_bench import ledger
from elmo_bench.base.errors import UserError
from elmo_bench.base.include import included_lines
from elmo_bench.base.progress import progress
from elmo_bench.ledger import Record
from elmo_bench.runner.data import build_data, note_long_words, words_of
from elmo_bench.runner.head_files import AGAIN, UNFIT, KeptHead, build_kept, read_head
from elmo_bench.runner.named_parts import (
    check_plain,
    check_vectors,
    columns_of,
    encoders_of,
    vectors_of,
)
from elmo_bench.runner.prepare import Frozen, load_frozen, with_words
from elmo_bench.spec.config import compose
from elmo_bench.spec.describe import needs_gpu
from elmo_bench.spec.names import tasks
from elmo_bench.spec.run_setup import Setup
from elmo_bench.spec.run_spec import RunSpec
from elmo_bench.spec.settings import OWN_COLUMNS, OWN_FILES
from elmo_bench.text.batch import Indexer
from elmo_bench.text.own_data import OwnData
from elmo_bench.training.batches import DataModule
from elmo_bench.training.module import predictions_of
from elmo_bench.training.quiet import quiet

# {label: probability} of an example, or of each token of one that is tagged.
Shares = dict[str, float] | list[dict[str, float]]
# Asks a head about a batch of so many examples.
Ask = Callable[[Any, dict[str, Any], int], list[Any]]


@dataclass(frozen=True)
class Loaded:
    """The frozen parts, and the head that is built on them."""

    words: set[str]  # that were looked for in the vectors
    frozen: Frozen
    head: Any
    index: Indexer


class TrainedHead:
    """A kept head with its frozen parts, which predicts examples of its task.

    The encoder is loaded once, vectors when texts first contain their words. Threads
    may share a head; their calls wait for each other. A call that fails changes
    nothing.
    """

    def __init__(
        self,
        record_file: Path,
        *columns: str,
        weights: str | None = None,
        vectors: str | None = None,
    ):
        """As `predict.predict`. Raises UserError."""
        record = ledger.read_record(record_file)
        spec = RunSpec.of_record(record)
        self.head_file = record_file.with_suffix("") / "head.safetensors"
        check_predicts(spec, record_file)
        self.saved = head_of(record, record_file, self.head_file)
        self.usual, setup = installed(spec)
        _check_kinds(spec, self.usual, record_file)
        chosen = columns_of(spec.task, columns)
        setup = replace(setup, data=setup.data | chosen)
        self.record_file = record_file
        self.spec = spec
        self.data = build_data(spec, setup)
        if isinstance(self.data, OwnData):
            self.data.columns_of_train = self.saved.about.columns
        check_vectors(spec, vectors)
        encoders = encoders_of(spec, weights, vectors)
        setup = replace(
            setup, seed=record.seed, store={"mode": "off"}, encoders=encoders
        )
        if spec.settings.get("encoder.words") == "static":
            named = spec.settings.get("encoder.vectors")
            setup = replace(setup, vectors=vectors_of(spec, named, vectors))
        self.setup = setup
        self._loaded: Loaded | None = None
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        """What a copy has; `pickle` refuses locks."""
        return {**vars(self), "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._lock = threading.Lock()

    def predictions(self, examples: Sequence[Any]) -> list[Any]:
        """A prediction for each example; None for an example without text."""
        return self._ask(examples, predictions_of)

    def probabilities(self, examples: Sequence[Any]) -> list[Shares | None]:
        """The probability of each label, for each example or token; None as above.

        Raises UserError for a head that gives none.
        """
        return self._ask(examples, _probabilities_of)

    def _ask(self, examples: Sequence[Any], ask: Ask) -> list[Any]:
        complete = _complete(self.data, examples)
        answers: list[Any] = [None] * len(examples)
        if complete:
            with self._lock, quiet():
                self._loaded = loaded = self._with_words(words_of(examples))
                batches = self._batches(loaded, list(complete.values()))
                of_complete = self._answers(loaded.head, batches, len(complete), ask)
            for place, answer in zip(complete, of_complete, strict=True):
                answers[place] = answer
        return answers

    def _with_words(self, words: Sequence[str]) -> Loaded:
        """The frozen parts for these words, too, and the head on them.

        They are loaded in the first call. The head is built again only if a new word
        has a vector.
        """
        if self.spec.part("task.characters"):
            note_long_words(set(words))
        loaded = self._loaded
        if loaded is None:
            all_words = {*self.saved.about.lexicon["words"], *words}
            frozen = _frozen_of(self.spec, self.setup, all_words, self.record_file)
            return Loaded(all_words, frozen, *self._build(frozen))
        new = {*words} - loaded.words
        if not new:
            return loaded
        all_words = loaded.words | new
        frozen = with_words(loaded.frozen, self.setup, all_words, new)
        if frozen.vectors is loaded.frozen.vectors:
            return replace(loaded, words=all_words)
        return Loaded(all_words, frozen, *self._build(frozen))

    def _build(self, frozen: Frozen) -> tuple[Any, Indexer]:
        return build_kept(self.spec, self.setup, frozen, self.saved, self.head_file)

    def _answers(
        self, head: Any, batches: DataModule, count: int, ask: Ask
    ) -> list[Any]:
        """An answer for each example, in order.

        Raises UserError where the head's numbers fit no text, and the error of code of
        the user's own.
        """
        try:
            return _answers(head, batches, count, ask)
        except (torch.OutOfMemoryError, MemoryError):
            raise
        except UNFIT as error:
            if included_lines(error):  # the user's own code, whose lines are shown
                raise
            why = str(error).partition("\n")[0]
            raise UserError(
                f"{self.head_file}: gives no answers ({type(error).__name__}: {why}). "
                f"{AGAIN}"
            ) from error

    def _batches(self, loaded: Loaded, examples: list[Any]) -> DataModule:
        return DataModule(
            {"text": examples},
            loaded.head.collate,
            loaded.index,
            seed=self.setup.seed,
            batch=self.usual.settings["task.training.batch"],
            tokens=self.usual.settings["task.training.tokens"],
        )


def no_probabilities(task: str) -> str:
    """The sentence for a task whose head gives none."""
    return (
        f"task={task} gives no probabilities of labels. "
        "The tasks classification, pairs and tagging do."
    )


def _probabilities_of(head: Any, batch: dict[str, Any], count: int) -> list[Shares]:
    """The probability of each label for each of so many examples. Raises UserError."""
    if not hasattr(head, "probabilities"):
        raise UserError(no_probabilities(type(head).__module__.split(".")[-2]))
    answers: list[Shares] = head.probabilities(batch)
    return answers


def check_predicts(spec: RunSpec, record_file: Path) -> None:
    """Raise UserError for the record of a head that cannot predict."""
    if needs_gpu(spec):
        raise UserError(
            f"{record_file}: its encoder has precision=tf32, which needs a GPU, and "
            "prediction is on the CPU. Run it again with encoder.precision=float32."
        )


def head_of(record: Record, record_file: Path, head_file: Path) -> KeptHead:
    """The head that belongs to a record. Raises UserError."""
    saved = read_head(head_file)
    is_of_attempt = saved.about.attempt == record.attempt
    if saved.about.spec != record.spec or not is_of_attempt:
        raise UserError(
            f"{head_file}: the head of another run or seed than {record_file}. {AGAIN}"
        )
    if saved.about.refit and record.refit is None:  # a refit was killed
        raise UserError(
            f"{head_file}: trained on train and dev, but {record_file} does not say "
            "so. Run it again with refit=true."
        )
    return saved


def _check_kinds(spec: RunSpec, usual: RunSpec, record_file: Path) -> None:
    """Raise UserError for a number of the head that is of another kind than here.

    Also for numbers that shape no tensor of the head.
    """
    for key, value in spec.settings.items():
        default = usual.settings.get(key)
        if not key.startswith("task.head.") or default is None:
            continue
        kinds = (int, float) if isinstance(default, float) else type(default)
        if not isinstance(value, kinds):
            raise UserError(
                f"{record_file}: {key}={value!r:.60}: not of the kind of "
                f"{default!r:.60}"
            )


def _frozen_of(
    spec: RunSpec, setup: Setup, words: set[str], record_file: Path
) -> Frozen:
    """The frozen parts. Raises UserError unless the head was trained with them."""
    try:
        frozen = load_frozen(spec, setup, words)
    except TypeError as error:
        raise UserError(
            f"the record's encoder has an option of another kind ({error})"
        ) from None
    for name, checksum in frozen.contents.items():
        trained = (spec.contents or {}).get(name)
        if checksum != trained:
            raise UserError(
                f"{record_file}: the head was trained with {name} of checksum "
                f"{trained}, but these have {checksum}. Give the right ones with "
                f"--{name}."
            )
    return frozen


def _complete(data: Any, examples: Sequence[Any]) -> dict[int, Any]:
    """The examples that a head reads, by their place.

    Without those that have no text, of data that leaves their prediction blank.
    """
    leaves_blank = getattr(data, "leaves_blank", False)
    complete = {}
    for place, example in enumerate(examples):
        if not leaves_blank or all(example.texts):
            complete[place] = example
    return complete


def _answers(head: Any, batches: DataModule, count: int, ask: Ask) -> list[Any]:
    """An answer for each example, in order."""
    answered: dict[int, Any] = {}
    with torch.no_grad(), progress("predict", total=count) as meter:
        for batch in batches.loader("text"):
            numbers = batch["numbers"]
            answered |= zip(numbers, ask(head, batch, len(numbers)), strict=True)
            meter.advance(steps=len(numbers))
    return [answered[number] for number in range(count)]


def installed(spec: RunSpec) -> tuple[RunSpec, Setup]:
    """This installation's default run of the task.

    Its data has the record's options and columns, but no suite or file. Raises
    UserError for a task that is not installed here.
    """
    names = tasks()
    if spec.task not in names:
        raise UserError(
            f"task {spec.task}: not installed here. The tasks are: {', '.join(names)}."
        )
    config = compose("config", [f"task={spec.task}", f"head={spec.head}"])
    setup = Setup.of(config)
    offered = setup.data.keys() - {*OWN_FILES}
    options = {}
    for key, value in spec.part("task.data").items():
        if key in offered and not isinstance(value, dict):
            options[key] = value
    check_plain("task", options)
    for key in OWN_COLUMNS:
        name = spec.settings.get(f"data.{key}")
        if key in offered and name is not None:
            options[key] = str(name)
    return RunSpec.of(config), replace(setup, data=setup.data | options)
