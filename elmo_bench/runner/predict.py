"""A trained head on new text: the head that a run kept, built again around the frozen encoder of its record.

The record and the head may come from a stranger. They are data: names in them choose among the tasks and encoders of
this installation, and only weights and vectors that it knows by name are loaded without being asked for.
"""

import json
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import torch
from pydantic import Field
from safetensors import safe_open
from safetensors.torch import save
from torch import Tensor
from torch.nn.modules.module import register_module_parameter_registration_hook
from typing_extensions import TypedDict

from elmo_bench import ledger
from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write, keep_inputs
from elmo_bench.base.json import parse_json
from elmo_bench.base.progress import progress
from elmo_bench.base.reading import reader, reading
from elmo_bench.elmo.pretrained import PUBLISHED
from elmo_bench.encoders import Encoder
from elmo_bench.encoders.cache import LayerStore
from elmo_bench.encoders.hf_files import NAMES
from elmo_bench.encoders.static import KNOWN, load_static
from elmo_bench.ledger import Spec
from elmo_bench.ledger.schema import check
from elmo_bench.runner.data import build_data, note_long_words, words_of
from elmo_bench.runner.prepare import Frozen, Lexicon, build_embedder, build_head, build_indexer, tell
from elmo_bench.spec.config import compose
from elmo_bench.spec.names import load_encoder, tasks
from elmo_bench.spec.run_spec import RunSpec, Setup
from elmo_bench.spec.settings import OWN_COLUMNS, OWN_FILES
from elmo_bench.text.batch import Indexer, by_length, pools

_WORD = re.compile(r"\w[\w.-]*")
_BILMS = ("mini", *PUBLISHED)
WEIGHTS = {"elmo": _BILMS, "random": _BILMS, "hf": NAMES}  # that each kind of encoder knows by name


class Words(TypedDict):
    """A `Lexicon`."""

    words: list[str]
    repeated: Annotated[int, Field(ge=0)]
    characters: list[str]


class About(TypedDict):
    """The metadata of the file."""

    spec: Spec
    vocabulary: dict[str, list[str] | Annotated[int, Field(gt=0, le=1_000_000)]]  # labels, or how many there are
    lexicon: Words
    encoders: dict[str, str]  # `Frozen.checksums`


class KeptHead(NamedTuple):
    """The contents of the file."""

    tensors: dict[str, Tensor]
    about: About

    @property
    def lexicon(self) -> Lexicon:
        """What the embedder knows of the training text."""
        return Lexicon(**self.about["lexicon"])


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
        raise UserError(
            f"{path}: the head of this run is not here (heads are not committed). Run it with overwrite=true."
        )
    with reading(path, "a head that this version wrote", "Run it again with overwrite=true."):
        with safe_open(path, framework="pt") as kept:
            about = parse_json((kept.metadata() or {})["about"], f"{path}: metadata")
            tensors = {name: kept.get_tensor(name) for name in kept.keys()}  # noqa: SIM118
        check(about, About, f"{path}: metadata")
        return KeptHead(tensors, about)


def predict(record_file: Path, text: Path, out: Path, *, weights: str | None = None, vectors: str | None = None) -> int:
    """Write the predictions of a record's head for a file in its task's native format; the number of examples.

    `weights` and `vectors` say where the frozen parts are; needed if the record does not name published ones. Raises
    UserError, also if they are not the ones that the head was trained with.
    """
    keep_inputs(out, (text, record_file))
    record = ledger.read_record(record_file)
    spec = RunSpec(**record["spec"])
    head_file = record_file.with_suffix("") / "head.safetensors"
    kept = read_head(head_file)
    if kept.about["spec"] != record["spec"]:
        raise UserError(f"{head_file}: the head of another run than {record_file}")
    usual, setup = installed(spec)
    data = build_data(spec, setup)
    examples = data.read_file(text)
    words = set(words_of(examples))
    note_long_words(spec, words)
    frozen = _load_frozen(spec, record["seed"], words.union(kept.lexicon.words), weights, vectors)
    for name, checksum in frozen.contents.items():
        if checksum != (trained := (spec.contents or {}).get(name)):
            raise UserError(
                f"{record_file}: the head was trained with {name} of checksum {trained}, but these have {checksum}. "
                f"Give the right ones with --{name}."
            )
    head, index = build_kept(spec, frozen, kept, head_file)
    limits = usual.part("task.training")
    data.write(out, examples, _predictions(head, examples, index, size=limits["batch"], tokens=limits["tokens"]))
    return len(examples)


def _predictions(head: Any, examples: Sequence[Any], index: Indexer, *, size: int, tokens: int) -> list[Any]:
    """One for each example, in order, read in batches of at most so many examples and tokens."""
    lengths = [max(map(len, example.texts), default=1) for example in examples]
    predicted: list[Any] = [None] * len(examples)
    with torch.no_grad(), progress("predict", total=len(examples)) as meter:
        for pool in pools(by_length(lengths), lengths, size=size, tokens=tokens):
            batch = head.collate([examples[number] for number in pool], index)
            for number, prediction in zip(pool, head.predict(batch), strict=True):
                predicted[number] = prediction
            meter.advance(sum(lengths[number] for number in pool), steps=len(pool))
    return predicted


def installed(spec: RunSpec) -> tuple[RunSpec, Setup]:
    """This installation's default run of the task; its data has the record's options and columns, but no suite or file.

    Raises UserError for a task that is not installed here.
    """
    if spec.task not in (known := tasks()):
        raise UserError(f"task {spec.task}: not installed here. The tasks are: {', '.join(known)}.")
    config = compose("config", [f"task={spec.task}"])
    setup, options = Setup.of(config), spec.part("task.data")
    ours = setup.data.keys() - {*OWN_FILES}
    taken = {key: value for key, value in options.items() if key in ours and not isinstance(value, dict)}
    for key, value in taken.items():
        _check_plain("task", key, value)
    columns = {key: spec.settings.get(f"data.{key}") for key in OWN_COLUMNS if key in ours}
    taken |= {key: str(name) for key, name in columns.items() if name is not None}
    return RunSpec.of(config), replace(setup, data=setup.data | taken)


def _load_frozen(spec: RunSpec, seed: int, words: set[str], weights: str | None, vectors: str | None) -> Frozen:
    settings, parts = spec.settings, spec.encoders()
    given = _by_part(parts, weights)
    encoders = {part: _load_encoder(options, seed, given.get(part), vectors) for part, options in parts.items()}
    tell(encoders.values(), words)
    if settings.get("encoder.words") == "static":
        named = _known(settings.get("encoder.vectors"), KNOWN, vectors, "vectors")
        table = load_static(named, words)
        return Frozen(encoders, table, table.dim)
    width = (spec.contents or {}).get("width", 0)
    return Frozen(encoders, None, width if isinstance(width, int) else 0)


def _by_part(parts: Collection[str], weights: str | None) -> dict[str, str]:
    """The weights that the user gave, by part: one name, or `PART=NAME,PART=NAME` for a stack. Raises UserError."""
    if weights is None or "" in parts:
        return {} if weights is None else {"": weights}
    given = dict(each.partition("=")[::2] for each in weights.split(","))
    if wrong := given.keys() - parts:
        raise UserError(f"--weights {weights}: no part {min(wrong)}. Give PART=NAME of: {', '.join(parts)}.")
    return given


def _load_encoder(options: dict[str, Any], seed: int, given: str | None, vectors: str | None) -> Encoder:
    """The encoder that a record's options describe, with the files that the user gave or with published ones."""
    kind = str(options["kind"])
    numbers = {
        key: value for key, value in options.items() if key not in ("kind", "version", "weights") and value is not None
    }
    for key, value in numbers.items():
        _check_plain("encoder", key, value)
    named = options.get("weights")
    if kind in WEIGHTS or given is not None or named is not None:  # an encoder of the user's may be without
        numbers["weights"] = _known(named, WEIGHTS.get(kind, ()), given, "weights")
    if "inputs" in numbers:
        numbers["inputs"] = _known(numbers["inputs"], KNOWN, vectors, "vectors")
    try:
        return load_encoder(kind, run_seed=seed, **numbers)
    except TypeError as error:
        raise UserError(f"the record's encoder has an option that {kind} does not take ({error})") from None


def _check_plain(part: str, key: str, value: Any) -> None:
    """Raises UserError unless an option of a record is null, a number, a word, or a list of these."""
    for each in value if isinstance(value, list) else [value]:
        number = each is None or isinstance(each, (bool, int, float))
        if not number and not (isinstance(each, str) and _WORD.fullmatch(each)):
            raise UserError(f"the record's {part} has {key}={value!r:.60}, which is not a number or a word")


def _known(name: Any, known: tuple[str, ...], given: str | None, option: str) -> str:
    """The path or name that the user gave, else the record's if it is published. A record's path is never opened."""
    if given is not None:
        return given
    if name in known:
        return str(name)
    raise UserError(f"the record's {option} ({name!r:.60}) are not published ones. Say where they are: --{option} …")


def build_kept(spec: RunSpec, frozen: Frozen, kept: KeptHead, head_file: Path) -> tuple[Any, Indexer]:
    """The head with its trained parameters, and what makes its batches.

    Raises UserError if the file is of other sizes, or was trained on other numbers of an encoder that draws them.

    The head is first built without memory: the file's tensors bound its sizes and its layers, whatever numbers a spec
    holds.
    """
    if kept.about["encoders"] != frozen.checksums:
        raise UserError(
            f"{head_file}: trained with other random numbers in its encoder than are drawn here, of another seed or by "
            "another version of torch. Run it again with overwrite=true."
        )
    try:
        with torch.device("meta"), _few_tensors(10 * len(kept.tensors) + 1000):
            wanted = build_head(spec, build_embedder(spec, frozen, kept.lexicon), kept.about["vocabulary"]).state_dict()
        if {name: value.shape for name, value in wanted.items()} != {n: t.shape for n, t in kept.tensors.items()}:
            raise ValueError("its tensors have other names or shapes")
        embedder = build_embedder(spec, frozen, kept.lexicon)
        head = build_head(spec, embedder, kept.about["vocabulary"])
        head.load_state_dict(kept.tensors)
    except (TypeError, ValueError, KeyError, IndexError, RuntimeError, MemoryError, OverflowError) as error:
        why = str(error).partition("\n")[0]
        raise UserError(
            f"{head_file}: does not fit the {spec.task} head of this version ({why}). Run it again with overwrite=true."
        ) from None
    stores = {part: LayerStore(encoder, mode="off") for part, encoder in frozen.encoders.items()}
    return head.eval(), build_indexer(embedder, stores)


@contextmanager
def _few_tensors(most: int) -> Iterator[None]:
    """A block in which no more parameters than this can be made; ValueError for one more."""
    made = 0

    def count(*_: Any) -> None:
        nonlocal made
        made += 1
        if made > most:
            raise ValueError("its spec asks for far more tensors than it has")

    handle = register_module_parameter_registration_hook(count)
    try:
        yield
    finally:
        handle.remove()
