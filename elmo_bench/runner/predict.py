"""A trained head on new text: the head that a run kept, built again around the frozen encoder of its record.

The record and the head may come from a stranger. They are data: names in them choose among the tasks and encoders of
this installation, and only weights and vectors that it knows by name are loaded without being asked for.
"""

import itertools
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple, NotRequired

import torch
from pydantic import Field
from safetensors import safe_open
from safetensors.torch import save
from torch import Tensor
from torch.nn.modules.module import register_module_parameter_registration_hook
from torch.utils.hooks import RemovableHandle
from typing_extensions import TypedDict

from elmo_bench import ledger
from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write, keep_inputs
from elmo_bench.base.json import parse_json
from elmo_bench.base.progress import progress
from elmo_bench.base.reading import check_regular, reader, reading
from elmo_bench.elmo.pretrained import PUBLISHED
from elmo_bench.encoders.hf_files import NAMES
from elmo_bench.encoders.static import KNOWN
from elmo_bench.ledger import Spec
from elmo_bench.ledger.schema import check
from elmo_bench.runner.data import build_data, note_long_words, words_of
from elmo_bench.runner.prepare import Frozen, Lexicon, build_head, build_indexer, build_stores, load_frozen
from elmo_bench.spec.config import compose
from elmo_bench.spec.names import tasks
from elmo_bench.spec.run_spec import RunSpec, Setup
from elmo_bench.spec.settings import OWN_COLUMNS, OWN_FILES
from elmo_bench.text.batch import Indexer
from elmo_bench.training.module import DataModule, predictions_of

_WORD = re.compile(r"\w[\w.-]*")
_BILMS = ("mini", *PUBLISHED)
WEIGHTS = {"elmo": _BILMS, "random": _BILMS, "hf": NAMES}  # that each kind of encoder knows by name
AGAIN = "Run it again with overwrite=true."


class About(TypedDict):
    """The metadata of the file."""

    spec: Spec
    vocabulary: dict[str, list[str] | Annotated[int, Field(gt=0, le=1_000_000)]]  # labels, or how many there are
    lexicon: Lexicon
    encoders: dict[str, str]  # `Frozen.checksums`
    attempt: NotRequired[str]  # of the record; heads of earlier versions lack it


class KeptHead(NamedTuple):
    """The contents of the file."""

    tensors: dict[str, Tensor]
    about: About


def write_head(path: Path, head: KeptHead) -> Path:
    """Write the trained parameters; the encoder and the static table are not among them."""
    tensors = {name: each.contiguous() for name, each in head.tensors.items()}
    with atomic_write(path) as handle:
        handle.write(save(tensors, {"about": json.dumps(head.about)}))
    return path


@reader
def read_head(path: Path) -> KeptHead:
    """The head in this file. Raises UserError if there is none, or if anything in it has another form."""
    if not path.is_file():
        raise UserError(f"{path}: the head of this run is not here (heads are not committed). {AGAIN}")
    with reading(path, "a head that this version wrote", AGAIN):
        with safe_open(path, framework="pt") as kept:
            about = parse_json((kept.metadata() or {})["about"], f"{path}: metadata")
            tensors = {name: kept.get_tensor(name) for name in kept.keys()}  # noqa: SIM118
        check(about, About, f"{path}: metadata")
        return KeptHead(tensors, about)


def predict(
    record_file: Path, text: Path, out: Path, *columns: str, weights: str | None = None, vectors: str | None = None
) -> int:
    """Write the predictions of a record's head for a file in its task's native format; the number of examples.

    `columns`: options such as `data.text=body`, in place of the record's. `weights` and `vectors` say where the frozen
    parts are; needed if the record does not name published ones. Raises UserError, also if they are not the ones that
    the head was trained with.
    """
    keep_inputs(out, (text, record_file))
    check_regular(text, once=False)
    record = ledger.read_record(record_file)
    spec = RunSpec(**record["spec"])
    head_file = record_file.with_suffix("") / "head.safetensors"
    kept = read_head(head_file)
    if kept.about["spec"] != record["spec"] or kept.about.get("attempt", record["attempt"]) != record["attempt"]:
        raise UserError(f"{head_file}: the head of another run or seed than {record_file}. {AGAIN}")
    usual, setup = installed(spec)
    for key, value in spec.settings.items():  # numbers that shape no tensor of the head, too
        own = usual.settings.get(key)
        kinds = (int, float) if isinstance(own, float) else type(own)
        if key.startswith("task.head.") and own is not None and not isinstance(value, kinds):
            raise UserError(f"{record_file}: {key}={value!r:.60}: not of the kind of {own!r:.60}")
    named = dict(each.removeprefix("data.").partition("=")[::2] for each in columns)
    known = [key for key in OWN_COLUMNS if key in setup.data]
    if wrong := [key for key, name in named.items() if key not in known or not name]:
        fit = ", ".join(f"data.{key}=COLUMN" for key in known) or "none"
        raise UserError(f"data.{wrong[0]}: not the option of a column of task={spec.task}. It has: {fit}")
    setup = replace(setup, data=setup.data | named)
    data = build_data(spec, setup)
    if not (examples := data.read_file(text)):
        raise UserError(f"{text}: no example in it. Give text in the format of the task's card.")
    words = set(words_of(examples))
    note_long_words(spec, words)
    setup = replace(setup, seed=record["seed"], store={"mode": "off"}, encoders=_encoders(spec, weights, vectors))
    if spec.settings.get("encoder.words") == "static":
        setup = replace(setup, vectors=_vectors(spec, spec.settings.get("encoder.vectors"), vectors))
    try:
        frozen = load_frozen(spec, setup, words.union(kept.about["lexicon"]["words"]))
    except TypeError as error:
        raise UserError(f"the record's encoder has an option of another kind ({error})") from None
    for name, checksum in frozen.contents.items():
        if checksum != (trained := (spec.contents or {}).get(name)):
            said = f"the head was trained with {name} of checksum {trained}, but these have {checksum}"
            raise UserError(f"{record_file}: {said}. Give the right ones with --{name}.")
    head, index = build_kept(spec, setup, frozen, kept, head_file)
    sizes = {key: usual.settings[f"task.training.{key}"] for key in ("batch", "tokens")}
    blank = getattr(data, "leaves_blank", False)
    places = [place for place, example in enumerate(examples) if not blank or all(example.texts)]
    complete = [examples[place] for place in places]
    batches = DataModule({"text": complete}, lambda some: head.collate(some, index), seed=setup.seed, **sizes)
    predicted: dict[int, Any] = {}
    with torch.no_grad(), progress("predict", total=len(complete)) as meter:
        for batch in batches.loader("text"):
            numbers = batch["numbers"]
            predicted |= zip(numbers, predictions_of(head, batch, len(numbers)), strict=True)
            meter.advance(steps=len(numbers))
    by_place = {places[number]: guess for number, guess in predicted.items()}
    data.write(out, examples, [by_place.get(place) for place in range(len(examples))])
    return len(examples)


def installed(spec: RunSpec) -> tuple[RunSpec, Setup]:
    """This installation's default run of the task; its data has the record's options and columns, but no suite or file.

    Raises UserError for a task that is not installed here.
    """
    if spec.task not in (known := tasks()):
        raise UserError(f"task {spec.task}: not installed here. The tasks are: {', '.join(known)}.")
    config = compose("config", [f"task={spec.task}", f"head={spec.head}"])
    setup, options = Setup.of(config), spec.part("task.data")
    ours = setup.data.keys() - {*OWN_FILES}
    taken = {key: value for key, value in options.items() if key in ours and not isinstance(value, dict)}
    _check_plain("task", taken)
    columns = {key: spec.settings.get(f"data.{key}") for key in OWN_COLUMNS if key in ours}
    taken |= {key: str(name) for key, name in columns.items() if name is not None}
    return RunSpec.of(config), replace(setup, data=setup.data | taken)


def _encoders(spec: RunSpec, weights: str | None, vectors: str | None) -> dict[str, dict[str, Any]]:
    """The options of a record's encoders, with the files that the user gave or with published ones. Raises UserError.

    weights: one name, or `PART=NAME,PART=NAME` for a stack.
    """
    parts = spec.encoders()
    whole = weights is None or "" in parts
    given = {"": weights} if whole else dict(each.partition("=")[::2] for each in str(weights).split(","))
    if wrong := given.keys() - {"", *parts}:
        advice = f"Give PART=NAME of: {', '.join(parts)}." if parts else "Leave out --weights: it has no encoder."
        raise UserError(f"--weights {weights}: no part {min(wrong)}. {advice}")
    for part, options in parts.items():
        own, named, kind = given.get(part), options.pop("weights", None), str(options.pop("kind"))
        taken = {key: value for key, value in options.items() if key != "version" and value is not None}
        _check_plain("encoder", taken)
        parts[part] = taken | {"kind": kind}
        if kind in WEIGHTS or own is not None or named is not None:  # an encoder of the user's may be without
            parts[part]["weights"] = _known(named, WEIGHTS.get(kind, ()), own, "weights")
        if "inputs" in taken:
            parts[part]["inputs"] = _vectors(spec, taken["inputs"], vectors)
    return parts


def _check_plain(part: str, options: Mapping[str, Any]) -> None:
    """Raises UserError unless the options of a record are null, a number, a word, or a list of these."""
    for key, value in options.items():
        for each in value if isinstance(value, list) else [value]:
            if not (each is None or isinstance(each, int | float) or (isinstance(each, str) and _WORD.fullmatch(each))):
                raise UserError(f"the record's {part} has {key}={value!r:.60}, which is not a number or a word")


def _vectors(spec: RunSpec, name: Any, given: str | None) -> str:
    """As `_known`. Where the record has published vectors and others, `given` is the others."""
    names = {
        value
        for key, value in spec.settings.items()
        if key.endswith((".vectors", ".inputs")) and isinstance(value, str)
    }
    return _known(name, KNOWN, given if name not in KNOWN or names <= {*KNOWN} else None, "vectors")


def _known(name: Any, known: tuple[str, ...], given: str | None, option: str) -> str:
    """The path or name that the user gave, else the record's if it is published. A record's path is never opened."""
    if given is None and name not in known:
        raise UserError(f"the record's {option} ({name!r:.60}) are not published. Say where they are: --{option} …")
    return str(name) if given is None else given


def build_kept(spec: RunSpec, setup: Setup, frozen: Frozen, kept: KeptHead, head_file: Path) -> tuple[Any, Indexer]:
    """The head with its trained parameters, and what makes its batches.

    Raises UserError if the file is of other sizes, or was trained on other numbers of an encoder that draws them.

    The head is first built without memory: the file's tensors bound its sizes and its layers, whatever numbers a spec
    holds.
    """
    if kept.about["encoders"] != frozen.checksums:
        drawn = "trained with other random numbers in its encoder than are drawn here"
        raise UserError(f"{head_file}: {drawn}, of another seed or by another version of torch. {AGAIN}")
    lexicon, vocabulary = kept.about["lexicon"], kept.about["vocabulary"]
    try:
        with torch.device("meta"), _few_tensors(10 * len(kept.tensors) + 1000):
            wanted = build_head(spec, frozen, lexicon, vocabulary).state_dict()
        if {name: value.shape for name, value in wanted.items()} != {n: t.shape for n, t in kept.tensors.items()}:
            raise ValueError("its tensors have other names or shapes")
        head = build_head(spec, frozen, lexicon, vocabulary)
        head.load_state_dict(kept.tensors)
    except (TypeError, ValueError, KeyError, IndexError, RuntimeError, MemoryError, OverflowError) as error:
        why = str(error).partition("\n")[0]
        raise UserError(f"{head_file}: does not fit the {spec.task} head of this version ({why}). {AGAIN}") from None
    return head.eval(), build_indexer(head.embedder, build_stores(setup, frozen.encoders))


def _few_tensors(most: int) -> RemovableHandle:
    """For `with`: a block in which no more parameters than this can be made; ValueError for one more."""
    made = itertools.count(1)

    def count(*_: Any) -> None:
        if next(made) > most:
            raise ValueError("its spec asks for far more tensors than it has")

    return register_module_parameter_registration_hook(count)
