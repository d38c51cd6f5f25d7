"""A trained head on new text: the head that a run kept, built again around the frozen
encoder of its record.

The record and the head may come from a stranger. They are data: names in them choose
among the tasks and encoders of this installation, and only weights and vectors that it
knows by name are loaded without being asked for.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.modules.module import register_module_parameter_registration_hook
from torch.utils.hooks import RemovableHandle

from elmo_bench import ledger
from elmo_bench.base.errors import UserError
from elmo_bench.base.files import keep_inputs
from elmo_bench.base.progress import progress
from elmo_bench.base.reading import check_regular
from elmo_bench.ledger import Record
from elmo_bench.runner.data import build_data, note_long_words, words_of
from elmo_bench.runner.heads import AGAIN, KeptHead, read_head
from elmo_bench.runner.named_parts import check_plain, encoders_of, vectors_of
from elmo_bench.runner.prepare import (
    Frozen,
    build_head,
    build_indexer,
    build_stores,
    load_frozen,
)
from elmo_bench.spec.config import compose
from elmo_bench.spec.names import tasks
from elmo_bench.spec.run_spec import RunSpec, Setup
from elmo_bench.spec.settings import OWN_COLUMNS, OWN_FILES
from elmo_bench.text.batch import Indexer
from elmo_bench.training.module import DataModule, predictions_of

# What building a head of a stranger's numbers may raise.
_UNFIT = (
    TypeError,
    ValueError,
    KeyError,
    IndexError,
    RuntimeError,
    MemoryError,
    OverflowError,
)


def predict(
    record_file: Path,
    text: Path,
    out: Path,
    *columns: str,
    weights: str | None = None,
    vectors: str | None = None,
) -> int:
    """Write the predictions of a record's head for a file in its task's native format;
    the number of examples.

    columns: options such as `data.text=body`, in place of the record's. weights and
    vectors say where the frozen parts are; needed if the record does not name published
    ones. Raises UserError, also if they are not the ones that the head was trained
    with.
    """
    keep_inputs(out, (text, record_file))
    check_regular(text, once=False)
    record = ledger.read_record(record_file)
    spec = RunSpec.of_record(record)
    head_file = record_file.with_suffix("") / "head.safetensors"
    saved = _head_of(record, record_file, head_file)
    usual, setup = installed(spec)
    _check_kinds(spec, usual, record_file)
    setup = _with_columns(setup, spec, columns)
    data = build_data(spec, setup)
    examples = data.read_file(text)
    if not examples:
        raise UserError(
            f"{text}: no example in it. Give text in the format of the task's card."
        )
    words = set(words_of(examples))
    note_long_words(spec, words)
    words.update(saved.about.lexicon["words"])
    setup = replace(
        setup,
        seed=record.seed,
        store={"mode": "off"},
        encoders=encoders_of(spec, weights, vectors),
    )
    if spec.settings.get("encoder.words") == "static":
        named = spec.settings.get("encoder.vectors")
        setup = replace(setup, vectors=vectors_of(spec, named, vectors))
    frozen = _frozen_of(spec, setup, words, record_file)
    head, index = build_kept(spec, setup, frozen, saved, head_file)
    complete = _complete(data, examples)
    batches = _batches(head, index, list(complete.values()), usual, setup)
    predictions = _predictions(head, batches, len(complete))
    predicted = dict(zip(complete, predictions, strict=True))
    data.write(out, examples, [predicted.get(place) for place in range(len(examples))])
    return len(examples)


def _head_of(record: Record, record_file: Path, head_file: Path) -> KeptHead:
    """The head that belongs to a record. Raises UserError."""
    saved = read_head(head_file)
    is_of_attempt = saved.about.attempt in ("", record.attempt)
    if saved.about.spec != record.spec or not is_of_attempt:
        raise UserError(
            f"{head_file}: the head of another run or seed than {record_file}. {AGAIN}"
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


def _with_columns(setup: Setup, spec: RunSpec, columns: Sequence[str]) -> Setup:
    """With the columns that the user names. Raises UserError."""
    offered = [key for key in OWN_COLUMNS if key in setup.data]
    named = {}
    for option in columns:
        key, _, name = option.removeprefix("data.").partition("=")
        if key not in offered or not name:
            fit = ", ".join(f"data.{key}=COLUMN" for key in offered) or "none"
            raise UserError(
                f"data.{key}: not the option of a column of task={spec.task}. "
                f"It has: {fit}"
            )
        named[key] = name
    return replace(setup, data=setup.data | named)


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


def _batches(
    head: Any, index: Indexer, examples: list[Any], usual: RunSpec, setup: Setup
) -> DataModule:
    return DataModule(
        {"text": examples},
        lambda some: head.collate(some, index),
        seed=setup.seed,
        batch=usual.settings["task.training.batch"],
        tokens=usual.settings["task.training.tokens"],
    )


def _predictions(head: Any, batches: DataModule, count: int) -> list[Any]:
    """A prediction for each example, in order."""
    predicted: dict[int, Any] = {}
    with torch.no_grad(), progress("predict", total=count) as meter:
        for batch in batches.loader("text"):
            numbers = batch["numbers"]
            answers = predictions_of(head, batch, len(numbers))
            predicted |= zip(numbers, answers, strict=True)
            meter.advance(steps=len(numbers))
    return [predicted[number] for number in range(count)]


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


def build_kept(
    spec: RunSpec, setup: Setup, frozen: Frozen, saved: KeptHead, head_file: Path
) -> tuple[Any, Indexer]:
    """The head with its trained parameters, and what makes its batches.

    The head is first built without memory: the file's tensors bound its sizes and its
    layers, whatever numbers a spec holds. Raises UserError if the file is of other
    sizes, or was trained on other numbers of an encoder that draws them.
    """
    about = saved.about
    if about.encoders != frozen.checksums:
        raise UserError(
            f"{head_file}: trained with other random numbers in its encoder than are "
            f"drawn here, of another seed or by another version of torch. {AGAIN}"
        )
    parts = (spec, frozen, about.lexicon, about.vocabulary)
    try:
        with torch.device("meta"), _few_tensors(10 * len(saved.tensors) + 1000):
            wanted = build_head(*parts).state_dict()
        if _shapes(wanted) != _shapes(saved.tensors):
            raise ValueError("its tensors have other names or shapes")
        head = build_head(*parts)
        head.load_state_dict(saved.tensors)
    except _UNFIT as error:
        why = str(error).partition("\n")[0]
        raise UserError(
            f"{head_file}: does not fit the {spec.task} head of this version ({why}). "
            f"{AGAIN}"
        ) from None
    stores = build_stores(setup, frozen.encoders)
    return head.eval(), build_indexer(head.embedder, stores)


def _shapes(tensors: Mapping[str, Tensor]) -> dict[str, torch.Size]:
    return {name: tensor.shape for name, tensor in tensors.items()}


def _few_tensors(most: int) -> RemovableHandle:
    """For `with`: a block in which no more parameters than this can be made.

    ValueError for one more.
    """
    numbers = itertools.count(1)

    def count(*_: Any) -> None:
        if next(numbers) > most:
            raise ValueError("its spec asks for far more tensors than it has")

    return register_module_parameter_registration_hook(count)
