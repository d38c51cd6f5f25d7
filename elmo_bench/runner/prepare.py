"""Step 1 of a run: read its data and its frozen parts, which completes its spec; the
parts of its model."""

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
from elmo_bench.encoders.embedder import (
    PLACES,
    Embedder,
    LearnedWords,
    StaticWords,
    mix_name,
)
from elmo_bench.encoders.static import StaticVectors, load_static
from elmo_bench.encoders.tuning import Source, source_of, tuned_part
from elmo_bench.nn.character_cnn import CharacterCnn
from elmo_bench.nn.mix import ScalarMix
from elmo_bench.runner.data import (
    Splits,
    build_data,
    data_digest,
    distinct_texts,
    note_epochs,
    note_long_words,
    note_quick,
    read_splits,
    training_split,
    words_of,
)
from elmo_bench.runner.first_look import check_size
from elmo_bench.runner.floors import numbers_of
from elmo_bench.runner.frozen import Frozen, load_frozen
from elmo_bench.runner.split_checks import check_splits
from elmo_bench.spec.names import head_class
from elmo_bench.spec.run_spec import RunSpec, Setup
from elmo_bench.spec.task_files import FLOOR
from elmo_bench.text.batch import Indexer
from elmo_bench.text.vocabulary import Vocabulary
from elmo_bench.training.contracts import Data

# Of the words, without a vector; on the open suite it is at most 6.2 %.
FOREIGN = 0.1
ENGLISH = (
    "all vectors and encoders that ship read English: give others if the text is in "
    "another language"
)


class Lexicon(TypedDict):
    """What an embedder has to know about the text that its head is trained on; it is
    kept with the head.

    A text counts once however many examples have it, and a text that is part of another
    one of its group (a phrase of a sentence) does not count.
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
    """Read data, encoder and vectors.

    Raises UserError for bad data or weights, and for a GPU that is missing.
    """
    _check_device(spec, setup)
    with noted() as notes:
        data = build_data(spec, setup)
        splits = read_splits(data, spec, setup)
        where = f"task={spec.task} suite={spec.suite}"
        check_size(splits, where)
        checks = check_splits(splits, where)
        digest = data_digest(data, splits)
        splits["train"] = training_split(splits["train"], spec, setup)
        note_epochs(spec, splits["train"])
        note_quick(spec, splits["train"])
        words = set[str]()
        for examples in splits.values():
            words.update(words_of(examples))
        note_long_words(spec, words)
        frozen = load_frozen(spec, setup, words)
        suite_vectors = _suite_vectors(setup, frozen, words)
        _note_foreign(setup, frozen, suite_vectors, splits)
    _check_draws(spec, frozen)
    return Prepared(
        spec=spec.with_contents({"data": digest} | frozen.contents),
        setup=setup,
        data=data,
        splits=splits,
        frozen=frozen,
        suite_vectors=suite_vectors,
        notes=notes,
        checks=checks,
        code=spec.code,
    )


def _check_device(spec: RunSpec, setup: Setup) -> None:
    """Raises UserError for a GPU that is missing or cannot do what is asked."""
    if setup.device != "cuda":
        return
    if not torch.cuda.is_available():
        raise UserError("trainer=gpu: no CUDA device here; use trainer=cpu")
    precision = spec.settings["trainer.precision"]
    if precision != "32-true" and not multiplies_bfloat16("cuda"):
        card = torch.cuda.get_device_name()
        raise UserError(
            f"trainer.precision={precision}: {card} cannot multiply in it; "
            "use trainer.precision=32-true"
        )


def _suite_vectors(setup: Setup, frozen: Frozen, words: set[str]) -> StaticVectors:
    """The static vectors of the suite. Raises UserError if it has none."""
    if frozen.vectors is not None and setup.vectors == setup.suite_vectors:
        return frozen.vectors
    if not setup.suite_vectors:
        raise UserError(
            "suite.vectors: none. Name static vectors, such as glove-6b: slices of "
            "test need them."
        )
    return load_static(setup.suite_vectors, words)


def _note_foreign(
    setup: Setup, frozen: Frozen, suite_vectors: StaticVectors, splits: Splits
) -> None:
    """Note that many words of dev and test have no vector: perhaps another language."""
    vectors, named = suite_vectors, setup.suite_vectors
    if frozen.vectors is not None:
        vectors, named = frozen.vectors, setup.vectors
    held_out = []
    for word in words_of([*splits["dev"], *splits["test"]]):
        if any(map(str.isalpha, word)):
            held_out.append(word)
    missing = sum(vectors.lookup(word) is None for word in held_out)
    if missing > FOREIGN * len(held_out):
        share = 100 * missing / len(held_out)
        name = Path(str(named)).name
        note(
            f"{share:.0f} % of the words of dev and test have no vector in {name}; "
            f"{ENGLISH}"
        )


def _check_draws(spec: RunSpec, frozen: Frozen) -> None:
    """Refuse an encoder that draws numbers without saying so, where a single seed would
    pass for all of them."""
    draws = any(hasattr(encoder, "identity") for encoder in frozen.encoders.values())
    if draws and spec.deterministic:
        raise UserError(
            f"encoder={spec.encoder}: draws numbers with the run's seed, and its yaml "
            "does not say so. Write draws: true beside its name."
        )
