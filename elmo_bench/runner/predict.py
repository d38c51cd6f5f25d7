"""A trained head on new text: the head that a run kept, built again around the frozen
encoder of its record.

The record and the head may come from a stranger. They are data: names in them choose
among the tasks and encoders of this installation, and only weights and vectors that it
knows by name are loaded without being asked for.
"""

import itertools
import re
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
from elmo_bench.elmo.pretrained import PUBLISHED
from elmo_bench.encoders.hf_files import NAMES
from elmo_bench.encoders.static import KNOWN
from elmo_bench.ledger import Record
from elmo_bench.runner.data import build_data, note_long_words, words_of
from elmo_bench.runner.heads import AGAIN, KeptHead, read_head
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

_WORD = re.compile(r"\w[\w.-]*")
_BILMS = ("mini", *PUBLISHED)
# That each kind of encoder knows by name.
WEIGHTS = {"elmo": _BILMS, "random": _BILMS, "hf": NAMES}
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
    kept = _head_of(record, record_file, head_file)
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
    words.update(kept.about.lexicon["words"])
    setup = replace(
        setup,
        seed=record.seed,
        store={"mode": "off"},
        encoders=_encoders(spec, weights, vectors),
    )
    if spec.settings.get("encoder.words") == "static":
        named = spec.settings.get("encoder.vectors")
        setup = replace(setup, vectors=_vectors(spec, named, vectors))
    frozen = _frozen_of(spec, setup, words, record_file)
    head, index = build_kept(spec, setup, frozen, kept, head_file)
    batches = _batches(head, index, examples, usual, setup)
    data.write(out, examples, _predictions(head, batches, len(examples)))
    return len(examples)


def _head_of(record: Record, record_file: Path, head_file: Path) -> KeptHead:
    """The head that belongs to a record. Raises UserError."""
    kept = read_head(head_file)
    is_of_attempt = kept.about.attempt in ("", record.attempt)
    if kept.about.spec != record.spec or not is_of_attempt:
        raise UserError(
            f"{head_file}: the head of another run or seed than {record_file}. {AGAIN}"
        )
    return kept


def _check_kinds(spec: RunSpec, usual: RunSpec, record_file: Path) -> None:
    """Raise UserError for a number of the head that is of another kind than here.

    Also for numbers that shape no tensor of the head.
    """
    for key, value in spec.settings.items():
        known = usual.settings.get(key)
        if not key.startswith("task.head.") or known is None:
            continue
        kinds = (int, float) if isinstance(known, float) else type(known)
        if not isinstance(value, kinds):
            raise UserError(
                f"{record_file}: {key}={value!r:.60}: not of the kind of {known!r:.60}"
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
    config = compose("config", [f"task={spec.task}"])
    setup = Setup.of(config)
    offered = setup.data.keys() - {*OWN_FILES}
    options = {}
    for key, value in spec.part("task.data").items():
        if key in offered and not isinstance(value, dict):
            options[key] = value
    _check_plain("task", options)
    for key in OWN_COLUMNS:
        name = spec.settings.get(f"data.{key}")
        if key in offered and name is not None:
            options[key] = str(name)
    return RunSpec.of(config), replace(setup, data=setup.data | options)


def _encoders(
    spec: RunSpec, weights: str | None, vectors: str | None
) -> dict[str, dict[str, Any]]:
    """The options of a record's encoders, with the files that the user gave or with
    published ones. Raises UserError.

    weights: one name, or `PART=NAME,PART=NAME` for a stack.
    """
    parts = spec.encoders()
    given = _weights_by_part(weights, parts)
    encoders = {}
    for part, options in parts.items():
        named = options.pop("weights", None)
        kind = str(options.pop("kind"))
        encoder = {}
        for key, value in options.items():
            if key != "version" and value is not None:
                encoder[key] = value
        _check_plain("encoder", encoder)
        encoder["kind"] = kind
        # An encoder of the user's may be without weights.
        if kind in WEIGHTS or given.get(part) is not None or named is not None:
            known = WEIGHTS.get(kind, ())
            encoder["weights"] = _known(named, known, given.get(part), "weights")
        if "inputs" in encoder:
            encoder["inputs"] = _vectors(spec, encoder["inputs"], vectors)
        encoders[part] = encoder
    return encoders


def _weights_by_part(
    weights: str | None, parts: Mapping[str, Any]
) -> dict[str, str | None]:
    """The weights that the user gave. Raises UserError for an unknown part."""
    if weights is None or "" in parts:
        return {"": weights}
    given: dict[str, str | None] = {}
    for pair in weights.split(","):
        part, _, name = pair.partition("=")
        given[part] = name
    wrong = given.keys() - {"", *parts}
    if wrong:
        advice = "Leave out --weights: it has no encoder."
        if parts:
            advice = f"Give PART=NAME of: {', '.join(parts)}."
        raise UserError(f"--weights {weights}: no part {min(wrong)}. {advice}")
    return given


def _check_plain(part: str, options: Mapping[str, Any]) -> None:
    """Raises UserError unless the options of a record are null, a number, a word, or a
    list of these."""
    for key, value in options.items():
        items = value if isinstance(value, list) else [value]
        if not all(map(_is_plain, items)):
            raise UserError(
                f"the record's {part} has {key}={value!r:.60}, which is not a number "
                "or a word"
            )


def _is_plain(value: Any) -> bool:
    if isinstance(value, str):
        return _WORD.fullmatch(value) is not None
    return value is None or isinstance(value, int | float)


def _vectors(spec: RunSpec, name: Any, given: str | None) -> str:
    """As `_known`.

    Where the record has published vectors and others, `given` is the others.
    """
    names = set()
    for key, value in spec.settings.items():
        if key.endswith((".vectors", ".inputs")) and isinstance(value, str):
            names.add(value)
    is_meant = name not in KNOWN or names <= {*KNOWN}
    return _known(name, KNOWN, given if is_meant else None, "vectors")


def _known(name: Any, known: tuple[str, ...], given: str | None, option: str) -> str:
    """The path or name that the user gave, else the record's if it is published.

    A record's path is never opened.
    """
    if given is not None:
        return given
    if name not in known:
        raise UserError(
            f"the record's {option} ({name!r:.60}) are not published. "
            f"Say where they are: --{option} …"
        )
    return str(name)


def build_kept(
    spec: RunSpec, setup: Setup, frozen: Frozen, kept: KeptHead, head_file: Path
) -> tuple[Any, Indexer]:
    """The head with its trained parameters, and what makes its batches.

    The head is first built without memory: the file's tensors bound its sizes and its
    layers, whatever numbers a spec holds. Raises UserError if the file is of other
    sizes, or was trained on other numbers of an encoder that draws them.
    """
    about = kept.about
    if about.encoders != frozen.checksums:
        raise UserError(
            f"{head_file}: trained with other random numbers in its encoder than are "
            f"drawn here, of another seed or by another version of torch. {AGAIN}"
        )
    parts = (spec, frozen, about.lexicon, about.vocabulary)
    try:
        with torch.device("meta"), _few_tensors(10 * len(kept.tensors) + 1000):
            wanted = build_head(*parts).state_dict()
        if _shapes(wanted) != _shapes(kept.tensors):
            raise ValueError("its tensors have other names or shapes")
        head = build_head(*parts)
        head.load_state_dict(kept.tensors)
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
