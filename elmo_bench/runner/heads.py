"""The head of a run: what it is built from, and its file when it is trained.

The file has the parameters, and what is needed to build the head again.
"""

import itertools
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_type_hints

import torch
from pydantic import Field
from safetensors import safe_open
from safetensors.torch import save
from torch import Tensor
from torch.nn.modules.module import register_module_parameter_registration_hook
from torch.utils.hooks import RemovableHandle
from typing_extensions import TypedDict

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write
from elmo_bench.base.include import code_of
from elmo_bench.base.json import parse_json
from elmo_bench.base.reading import reader, reading
from elmo_bench.encoders import Encoder
from elmo_bench.encoders.embedder import (
    PLACES,
    Embedder,
    LearnedWords,
    StaticWords,
    mix_name,
)
from elmo_bench.encoders.tuning import Source, source_of, tuned_part
from elmo_bench.ledger import RunPaths, Spec
from elmo_bench.ledger.model import Model, check
from elmo_bench.nn.character_cnn import CharacterCnn
from elmo_bench.nn.mix import ScalarMix
from elmo_bench.runner.data import distinct_texts
from elmo_bench.runner.prepare import Frozen
from elmo_bench.spec.names import head_class
from elmo_bench.spec.run_spec import RunSpec, Setup
from elmo_bench.spec.task_files import FLOOR
from elmo_bench.text.batch import Indexer
from elmo_bench.text.vocabulary import Vocabulary

AGAIN = "Run it again with overwrite=true."
# What a head of a stranger's numbers may raise when it is built, or when it answers.
UNFIT = (
    TypeError,
    ValueError,
    KeyError,
    IndexError,
    RuntimeError,
    MemoryError,
    OverflowError,
)


class Lexicon(TypedDict):
    """What an embedder has to know about the text that its head is trained on; it is
    kept with the head.

    A text counts once however many examples share it, and a text that is part of
    another of its group (a phrase of a sentence) does not count.
    """

    words: list[str]  # distinct, most frequent first
    repeated: Annotated[int, Field(ge=0)]  # how many of them occur twice or more
    characters: list[str]  # distinct, those that occur twice or more, as above


def lexicon_of(examples: Sequence[Any]) -> Lexicon:
    """The lexicon of training examples."""
    words: Counter[str] = Counter()
    for text in distinct_texts(examples):
        words.update(text)
    characters: Counter[str] = Counter()
    for word, count in words.items():
        for character in word:
            characters[character] += count
    frequent = _by_frequency(characters)
    return Lexicon(
        words=_by_frequency(words),
        repeated=sum(count > 1 for count in words.values()),
        characters=[character for character in frequent if characters[character] > 1],
    )


def _by_frequency(counts: Counter[str]) -> list[str]:
    """The most frequent first; equally frequent ones in order."""
    return sorted(counts, key=lambda item: (-counts[item], item))


def build_head(
    spec: RunSpec, frozen: Frozen, lexicon: Lexicon, vocabulary: Mapping[str, Any]
) -> Any:
    """The task's head on its embedder, with the numbers of the spec, for training text
    with this lexicon.

    Raises UserError if it would see nothing, or lacks its embedder.
    """
    embedder = _embedder(spec, frozen, lexicon)
    if not embedder.dim and spec.head != FLOOR:
        raise UserError(
            "the head's input would be empty: choose an encoder with words, or "
            "place=input"
        )
    cls = head_class(spec.task, spec.head)
    head = cls(embedder, **vocabulary, **numbers_of(spec))
    if getattr(head, "embedder", None) is not embedder:
        raise UserError(
            f"task={spec.task}: the Head has no embedder. "
            "Write self.embedder = embedder in its __init__."
        )
    return head


def _embedder(spec: RunSpec, frozen: Frozen, lexicon: Lexicon) -> Embedder:
    words = _words(spec, frozen, lexicon)
    characters = None
    numbers = spec.part("task.characters")
    if numbers:
        vocabulary = Vocabulary(lexicon["characters"])
        characters = CharacterCnn(
            vocabulary, dim=numbers["dim"], filters=numbers["filters"]
        )
    place = str(spec.settings.get("place"))
    mixes = {}
    places = PLACES if place == "both" else (place,)
    for where in places:
        for part, encoder in frozen.encoders.items():
            mixes[mix_name(where, part)] = ScalarMix(
                encoder.layers, kind=spec.settings["mix"], **spec.part("mix")
            )
    dims = {part: encoder.dim for part, encoder in frozen.encoders.items()}
    return Embedder(
        words=words,
        characters=characters,
        mixes=mixes,
        layer_dims=dims,
        tuned=tuned_part(frozen.encoders),
    )


def _words(
    spec: RunSpec, frozen: Frozen, lexicon: Lexicon
) -> LearnedWords | StaticWords | None:
    """The word vectors of a head, if it has some."""
    words, repeated = lexicon["words"], lexicon["repeated"]
    if frozen.vectors is not None:
        trainable = spec.settings["vectors.trainable"]
        return StaticWords(
            frozen.vectors, words, repeated=repeated, trainable=trainable
        )
    if frozen.width:
        return LearnedWords(words, frozen.width, repeated=repeated)
    return None


def build_stores(setup: Setup, encoders: Mapping[str, Encoder]) -> dict[str, Source]:
    """The layers of each encoder, by its part of a stack."""
    stores = {}
    for part, options in setup.encoders.items():
        # Other options of the encoder may change its vectors; these do not.
        others = [item for item in options.items() if item[0] not in _NO_VARIANT]
        variant = str(sorted(others)) + code_of("encoders", options["kind"])
        stores[part] = source_of(encoders[part], variant=variant, **setup.store)
    return stores


_NO_VARIANT = ("weights", "device", "tune")


def build_indexer(embedder: Embedder, stores: Mapping[str, Source]) -> Indexer:
    """Turns texts into the tensors that this embedder reads."""
    words, characters = embedder.words, embedder.characters
    return Indexer(
        words=words.index if words is not None else None,
        characters=characters.vocabulary if characters is not None else None,
        layers={part: store.batch for part, store in stores.items()},
    )


def vocabulary_of(spec: RunSpec, data: Any, train: Sequence[Any]) -> dict[str, Any]:
    """What the head of a run needs to know about its training examples.

    Its keyword arguments, which are kept with it. A floor adds the features that it
    finds there. data: the task's `Data`. Raises UserError for other things than lists
    of texts and numbers above 0.
    """
    vocabulary: dict[str, Any] = data.vocabulary(train)
    if spec.head == FLOOR:
        floor = head_class(spec.task, spec.head)
        vocabulary |= floor.vocabulary(train, **numbers_of(spec))
    hints = get_type_hints(About, include_extras=True)
    try:
        check(vocabulary, hints["vocabulary"], "Data.vocabulary")
    except UserError as error:
        raise UserError(
            f"{error}. Give lists of texts, or numbers above 0: `predict` reads no "
            "other."
        ) from None
    return vocabulary


def numbers_of(spec: RunSpec) -> dict[str, Any]:
    """The numbers of a run's head: more of its keyword arguments."""
    numbers = spec.part("task.head")
    numbers.pop("name", None)
    return numbers


class About(Model):
    """The metadata of the file."""

    spec: Spec
    # Labels, or how many there are.
    vocabulary: dict[str, list[str] | Annotated[int, Field(gt=0, le=1_000_000)]]
    lexicon: Lexicon
    encoders: dict[str, str]  # `Frozen.checksums`
    attempt: str = ""  # of the record; heads of earlier versions lack it
    # Trained on train and dev. Written only if it was; heads of earlier versions lack
    # it.
    refit: bool = False


class KeptHead(NamedTuple):
    """The contents of the file."""

    tensors: dict[str, Tensor]
    about: About


def keep_head(
    head: Any, about: About, paths: RunPaths, attempt: str, *, refit: bool
) -> dict[str, Any]:
    """Write the trained head of a run; what its record says of the file.

    refit: it was trained on train and dev. Raises UserError if a number of the head is
    not finite: no look at the loss sees what the last step did.
    """
    for name, parameter in head.named_parameters():
        if not parameter.isfinite().all():
            raise UserError(
                f"the trained head: {name} has numbers that are not finite. "
                "Lower task.training.optimizer.lr."
            )
    update: dict[str, Any] = {"attempt": attempt}
    if refit:
        update["refit"] = True
    about = about.model_copy(update=update)
    file = paths.work / "head.safetensors"
    write_head(file, KeptHead(head.state_dict(), about))
    return {"file": str(file.relative_to(paths.folder)), "bytes": file.stat().st_size}


def write_head(path: Path, head: KeptHead) -> Path:
    """Write the trained parameters.

    A frozen encoder and the static table are not among them; of a tuned encoder they
    have what was trained.
    """
    tensors = {name: tensor.contiguous() for name, tensor in head.tensors.items()}
    about = json.dumps(head.about.to_json())
    with atomic_write(path) as handle:
        handle.write(save(tensors, {"about": about}))
    return path


@reader
def read_head(path: Path) -> KeptHead:
    """The head in this file.

    Raises UserError if there is none, or if anything in it has another form.
    """
    if not path.is_file():
        raise UserError(
            f"{path}: the head of this run is not here (heads are not committed). "
            f"{AGAIN}"
        )
    where = f"{path}: metadata"
    with reading(path, "a head that this version wrote", AGAIN):
        with safe_open(path, framework="pt") as file:
            about = parse_json((file.metadata() or {})["about"], where)
            names = file.keys()
            tensors = {name: file.get_tensor(name) for name in names}
        return KeptHead(tensors, About.read(about, where))


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
    except UNFIT as error:
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
