"""The head of a run: what it is built from."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field
from typing_extensions import TypedDict

from elmo_bench.base.errors import UserError
from elmo_bench.base.include import code_of
from elmo_bench.encoders import Encoder
from elmo_bench.encoders.embedder import (
    PLACES,
    Embedder,
    LearnedWords,
    StaticWords,
    mix_name,
)
from elmo_bench.encoders.tuning import Source, source_of, tuned_part
from elmo_bench.ledger.model import check
from elmo_bench.nn.character_cnn import CharacterCnn
from elmo_bench.nn.mix import ScalarMix
from elmo_bench.runner.data import distinct_texts
from elmo_bench.runner.prepare import Frozen
from elmo_bench.spec.names import head_class
from elmo_bench.spec.run_setup import Setup
from elmo_bench.spec.run_spec import RunSpec
from elmo_bench.spec.task_files import FLOOR
from elmo_bench.text.batch import Indexer
from elmo_bench.text.vocabulary import Vocabulary

# What the vocabulary of a head may be: labels, or how many there are.
HeadVocabulary = dict[str, list[str] | Annotated[int, Field(gt=0, le=1_000_000)]]


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
    try:
        check(vocabulary, HeadVocabulary, "Data.vocabulary")
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
