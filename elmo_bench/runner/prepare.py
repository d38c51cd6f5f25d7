"""Step 1 of a run: read its data and its frozen parts, which completes its spec; the parts of its model."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import torch
from pydantic import Field
from typing_extensions import TypedDict

from elmo_bench.base.errors import UserError
from elmo_bench.base.include import code_of
from elmo_bench.base.notes import note, noted
from elmo_bench.elmo.frozen import multiplies_bfloat16
from elmo_bench.encoders import Encoder
from elmo_bench.encoders.cache import LayerStore
from elmo_bench.encoders.embedder import PLACES, Embedder, LearnedWords, StaticWords, mix_name
from elmo_bench.encoders.static import StaticVectors, load_static
from elmo_bench.nn.character_cnn import CharacterCnn
from elmo_bench.nn.mix import ScalarMix
from elmo_bench.runner.data import (
    Splits,
    build_data,
    check_splits,
    data_digest,
    distinct_texts,
    note_epochs,
    note_long_words,
    read_splits,
    training_split,
    words_of,
)
from elmo_bench.spec.names import head_class, load_encoder
from elmo_bench.spec.run_spec import RunSpec, Setup
from elmo_bench.spec.task_files import FLOOR
from elmo_bench.text.batch import Indexer
from elmo_bench.text.vocabulary import Vocabulary
from elmo_bench.training.contracts import Data

FOREIGN = 0.1  # of the words, without a vector; on the open suite it is at most 6.2 %
ENGLISH = "all vectors and encoders that ship read English: give others if the text is in another language"


class Lexicon(TypedDict):
    """What an embedder has to know about the text that its head is trained on; it is kept with the head.

    A text counts once however many examples have it, and a text that is part of another one of its group (a phrase of a
    sentence) does not count.
    """

    words: list[str]  # distinct, most frequent first
    repeated: Annotated[int, Field(ge=0)]  # how many of them occur twice or more
    characters: list[str]  # distinct, those that occur twice or more, most frequent first


def lexicon_of(examples: Sequence[Any]) -> Lexicon:
    """The lexicon of training examples."""
    words = Counter(word for text in distinct_texts(examples) for word in text)
    characters: Counter[str] = Counter()
    for word, count in words.items():
        for character in word:
            characters[character] += count
    ordered, frequent = (sorted(counts, key=lambda item: (-counts[item], item)) for counts in (words, characters))
    repeated = sum(count > 1 for count in words.values())
    return Lexicon(words=ordered, repeated=repeated, characters=[each for each in frequent if characters[each] > 1])


@dataclass
class Frozen:
    """What no training changes."""

    encoders: dict[str, Encoder]  # by their part of a stack; "" for one that is alone
    vectors: StaticVectors | None
    width: int  # of the word vectors, static or learned

    @property
    def checksums(self) -> dict[str, str]:
        """Of the numbers of each encoder, which may be another seed's where the contents are equal."""
        return {part: encoder.checksum for part, encoder in self.encoders.items()}

    @property
    def contents(self) -> dict[str, Any]:
        """Their part of `RunSpec.contents`, the same for every seed: checksums or identities, and the width of learned
        words, which comes from a table.
        """
        contents: dict[str, Any] = {}
        if self.encoders:
            weights = {part: getattr(each, "identity", each.checksum) for part, each in self.encoders.items()}
            contents["weights"] = weights.get("", weights)
        if self.vectors is not None:
            contents["vectors"] = self.vectors.checksum
        elif self.width:
            contents["width"] = self.width
        return contents


def load_frozen(spec: RunSpec, setup: Setup, words: set[str]) -> Frozen:
    """The encoders, and the vectors that these words can look up. Raises UserError."""
    encoders = {part: load_encoder(run_seed=setup.seed, **options) for part, options in setup.encoders.items()}
    for encoder in encoders.values():
        if expect := getattr(encoder, "expect", None):
            expect(words)
    kind = spec.settings.get("encoder.words")
    if kind == "learned" and spec.contents is not None:  # of a record, which knows their width
        width = spec.contents.get("width")
        return Frozen(encoders, None, width if isinstance(width, int) else 0)
    table = load_static(str(setup.vectors), words) if kind else None
    return Frozen(encoders, table if kind == "static" else None, table.dim if table else 0)


def build_head(spec: RunSpec, frozen: Frozen, lexicon: Lexicon, vocabulary: Mapping[str, Any]) -> Any:
    """The task's head on its embedder, with the numbers of the spec, for training text with this lexicon.

    Raises UserError if it would see nothing, or lacks its embedder.
    """
    settings = spec.settings
    words: LearnedWords | StaticWords | None = None
    if frozen.vectors is not None:
        trainable = settings["vectors.trainable"]
        words = StaticWords(frozen.vectors, lexicon["words"], repeated=lexicon["repeated"], trainable=trainable)
    elif frozen.width:
        words = LearnedWords(lexicon["words"], frozen.width, repeated=lexicon["repeated"])
    characters = None
    if numbers := spec.part("task.characters"):
        characters = CharacterCnn(Vocabulary(lexicon["characters"]), dim=numbers["dim"], filters=numbers["filters"])
    place = str(settings.get("place"))
    mixes = {
        mix_name(each, part): ScalarMix(encoder.layers, kind=settings["mix"], **spec.part("mix"))
        for each in (PLACES if place == "both" else (place,))
        for part, encoder in frozen.encoders.items()
    }
    dims = {part: encoder.dim for part, encoder in frozen.encoders.items()}
    embedder = Embedder(words=words, characters=characters, mixes=mixes, layer_dims=dims)
    if not embedder.dim and spec.head != FLOOR:
        raise UserError("the head's input would be empty: choose an encoder with words, or place=input")
    head = head_class(spec.task, spec.head)(embedder, **vocabulary, **_numbers(spec))
    if getattr(head, "embedder", None) is not embedder:
        raise UserError(f"task={spec.task}: the Head has no embedder. Write self.embedder = embedder in its __init__.")
    return head


def vocabulary_of(spec: RunSpec, data: Data, train: Sequence[Any]) -> dict[str, Any]:
    """What the head needs to know about its training examples: its keyword arguments, which are kept with it.

    A floor adds the features that it finds there.
    """
    vocabulary = data.vocabulary(train)
    if spec.head == FLOOR:
        vocabulary |= head_class(spec.task, spec.head).vocabulary(train, **_numbers(spec))
    return vocabulary


def _numbers(spec: RunSpec) -> dict[str, Any]:
    """The numbers of the head in its yaml."""
    return {key: value for key, value in spec.part("task.head").items() if key != "name"}


def build_stores(setup: Setup, encoders: Mapping[str, Encoder]) -> dict[str, LayerStore]:
    """The layers of each encoder, by its part of a stack."""
    stores = {}
    for part, options in setup.encoders.items():
        # Other options of the encoder may change its vectors; its path and device do not.
        variant = str(sorted(item for item in options.items() if item[0] not in ("weights", "device")))
        variant += code_of("encoders", options["kind"])
        stores[part] = LayerStore(encoders[part], variant=variant, **setup.store)
    return stores


def build_indexer(embedder: Embedder, stores: Mapping[str, LayerStore]) -> Indexer:
    """Turns texts into the tensors that this embedder reads."""
    return Indexer(
        words=embedder.words.index if embedder.words is not None else None,
        characters=embedder.characters.vocabulary if embedder.characters is not None else None,
        layers={part: store.batch for part, store in stores.items()},
    )


@dataclass(frozen=True)
class Prepared:
    """Everything that a run reads before it trains."""

    spec: RunSpec  # with contents
    setup: Setup
    data: Data
    splits: Splits  # the training split cut to the fraction that the spec asks for
    frozen: Frozen
    suite_vectors: StaticVectors  # decide about slices, whatever the encoder
    notes: list[str]  # what reading the data had to decide, such as examples left out
    checks: dict[str, int]  # counts of `check_splits`, of the whole splits
    code: dict[str, str]  # `RunSpec.code`, as it was loaded

    @property
    def title(self) -> str:
        """Of the run, on the screen and in logs."""
        return f"{self.spec.task} {self.spec.encoder} seed {self.setup.seed}"


def prepare(spec: RunSpec, setup: Setup) -> Prepared:
    """Read data, encoder and vectors. Raises UserError for bad data or weights, and for a GPU that is missing."""
    if setup.device == "cuda" and not torch.cuda.is_available():
        raise UserError("trainer=gpu: no CUDA device here; use trainer=cpu")
    precision = spec.settings["trainer.precision"]
    if setup.device == "cuda" and precision != "32-true" and not multiplies_bfloat16("cuda"):
        card = torch.cuda.get_device_name()
        raise UserError(f"trainer.precision={precision}: {card} cannot multiply in it; use trainer.precision=32-true")
    with noted() as notes:
        data = build_data(spec, setup)
        splits = read_splits(data, spec, setup)
        checks = check_splits(splits, f"task={spec.task} suite={spec.suite}")
        digest = data_digest(data, splits)
        splits["train"] = training_split(splits["train"], spec, setup)
        note_epochs(spec, splits["train"])
        words = set(words_of(example for examples in splits.values() for example in examples))
        note_long_words(spec, words)
        frozen = load_frozen(spec, setup, words)
        if frozen.vectors is not None and setup.vectors == setup.suite_vectors:
            suite_vectors = frozen.vectors
        elif setup.suite_vectors:
            suite_vectors = load_static(setup.suite_vectors, words)
        else:
            raise UserError("suite.vectors: none. Name static vectors, such as glove-6b: slices of test need them.")
        held_out = [word for word in words_of([*splits["dev"], *splits["test"]]) if any(map(str.isalpha, word))]
        read, named = (
            (suite_vectors, setup.suite_vectors) if frozen.vectors is None else (frozen.vectors, setup.vectors)
        )
        lacking = sum(read.lookup(word) is None for word in held_out)
        if lacking > FOREIGN * len(held_out):
            share, name = 100 * lacking / len(held_out), Path(str(named)).name
            note(f"{share:.0f} % of the words of dev and test have no vector in {name}; {ENGLISH}")
    _check_draws(spec, frozen)
    spec = spec.with_contents({"data": digest} | frozen.contents)
    return Prepared(spec, setup, data, splits, frozen, suite_vectors, notes, checks, spec.code)


def _check_draws(spec: RunSpec, frozen: Frozen) -> None:
    """Refuse an encoder that draws numbers without saying so, where a single seed would pass for all of them."""
    if spec.deterministic and any(hasattr(encoder, "identity") for encoder in frozen.encoders.values()):
        raise UserError(
            f"encoder={spec.encoder}: draws numbers with the run's seed, and its yaml does not say so. "
            "Write draws: true beside its name."
        )
