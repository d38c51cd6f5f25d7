"""The parts of a run's model: the frozen encoder and vectors, and the embedder and head that are trained."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from omegaconf import DictConfig, OmegaConf

from elmo_bench.base.errors import UserError
from elmo_bench.encoders.cache import LayerStore
from elmo_bench.encoders.embedder import PLACES, Embedder
from elmo_bench.encoders.mix import ScalarMix
from elmo_bench.encoders.protocol import Encoder
from elmo_bench.encoders.static import StaticVectors, load_static
from elmo_bench.encoders.words import LearnedWords, StaticWords
from elmo_bench.nn.character_cnn import CharacterCnn
from elmo_bench.runner.data import distinct_texts
from elmo_bench.spec.names import load_encoder, task_class
from elmo_bench.spec.run_spec import RunSpec
from elmo_bench.text.batch import Indexer
from elmo_bench.text.vocabulary import Vocabulary


@dataclass(frozen=True)
class Lexicon:
    """What an embedder has to know about the text that its head is trained on.

    A text counts once however many examples have it, and a text that is part of another one of its group (a phrase of a
    sentence) does not count.
    """

    words: Sequence[str]  # distinct, most frequent first
    repeated: int  # how many of them occur twice or more
    characters: Sequence[str]  # distinct, those that occur twice or more, most frequent first

    @classmethod
    def of(cls, examples: Sequence[Any]) -> "Lexicon":
        counts = Counter(word for text in distinct_texts(examples) for word in text)
        characters: Counter[str] = Counter()
        for word, count in counts.items():
            for character in word:
                characters[character] += count
        return cls(
            words=tuple(sorted(counts, key=lambda word: (-counts[word], word))),
            repeated=sum(count > 1 for count in counts.values()),
            characters=tuple(sorted((c for c in characters if characters[c] > 1), key=lambda c: (-characters[c], c))),
        )


@dataclass
class Frozen:
    """What no training changes."""

    encoder: Encoder | None
    vectors: StaticVectors | None
    width: int  # of the word vectors, static or learned

    @property
    def contents(self) -> dict[str, Any]:
        """Their part of `RunSpec.contents`: checksums, and the width of learned words, which comes from a table."""
        found: dict[str, Any] = {}
        if self.encoder is not None:
            found["weights"] = self.encoder.checksum
        if self.vectors is not None:
            found["vectors"] = self.vectors.checksum
        elif self.width:
            found["width"] = self.width
        return found


def load_frozen(config: DictConfig, words: Iterable[str]) -> Frozen:
    """The encoder, and the vectors that these words can look up. Raises UserError."""
    kind, contextual = config.encoder.words, config.encoder.contextual
    encoder = None
    if contextual is not None:
        options: Any = OmegaConf.to_container(contextual, resolve=True)
        encoder = load_encoder(options.pop("kind"), **{k: v for k, v in options.items() if k != "version"})
    if not kind:
        return Frozen(encoder, None, 0)
    table = load_static(config.encoder.vectors, set(words))
    return Frozen(encoder, table if kind == "static" else None, table.dim)


def build_embedder(spec: RunSpec, frozen: Frozen, lexicon: Lexicon) -> Embedder:
    """The embedder of this run for training text with this lexicon."""
    settings = spec.settings
    words: LearnedWords | StaticWords | None = None
    if frozen.vectors is not None:
        trainable = settings["vectors.trainable"]
        words = StaticWords(frozen.vectors, lexicon.words, repeated=lexicon.repeated, trainable=trainable)
    elif frozen.width:
        words = LearnedWords(lexicon.words, frozen.width, repeated=lexicon.repeated)
    characters = None
    if numbers := spec.part("task.characters"):
        characters = CharacterCnn(Vocabulary(lexicon.characters), dim=numbers["dim"], filters=numbers["filters"])
    mixes = {}
    if frozen.encoder is not None:
        place = settings["place"]
        mixes = {
            each: ScalarMix(frozen.encoder.layers, kind=settings["mix"], **spec.part("mix"))
            for each in (PLACES if place == "both" else (place,))
        }
    embedder = Embedder(
        words=words, characters=characters, mixes=mixes, layer_dim=frozen.encoder.dim if frozen.encoder else 0
    )
    if not embedder.dim:
        raise UserError("the head would see nothing: choose an encoder with words, or place=input")
    return embedder


def build_head(spec: RunSpec, embedder: Embedder, vocabulary: Mapping[str, Any]) -> Any:
    """The task's head, with the numbers of the spec."""
    numbers = {key: value for key, value in spec.part("task.head").items() if key != "name"}
    return task_class(spec.task, "head")(embedder, **vocabulary, **numbers)


def build_indexer(embedder: Embedder, store: LayerStore | None) -> Indexer:
    """Turns texts into the tensors that this embedder reads."""
    return Indexer(
        words=embedder.words.index if embedder.words is not None else None,
        characters=embedder.characters.vocabulary if embedder.characters is not None else None,
        layers=store.batch if store is not None else None,
    )


_store: tuple[tuple[str, ...], LayerStore] | None = None  # of the last run in this process


def shared_store(config: DictConfig, encoder: Encoder | None, data: str) -> LayerStore | None:
    """The layers of this encoder on the data with this digest; the runs of one process share them."""
    global _store  # noqa: PLW0603
    if encoder is None:
        return None
    # Other options of the encoder may change its vectors; its path and device do not.
    contextual: Any = OmegaConf.to_container(config.encoder.contextual, resolve=True)
    variant = str(sorted(item for item in contextual.items() if item[0] not in ("weights", "device")))
    key = (encoder.checksum, data, variant, str(config.store))
    if _store is None or _store[0] != key or config.store.mode == "off":
        _store = (key, LayerStore(encoder, variant=variant, **config.store))
    return _store[1]
