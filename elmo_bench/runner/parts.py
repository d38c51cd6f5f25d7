"""Building a run's parts from its config: data, encoder, embedder, head."""

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
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
from elmo_bench.spec.config import build
from elmo_bench.text.batch import Indexer
from elmo_bench.text.vocabulary import Vocabulary
from elmo_bench.training.contracts import Data

Splits = dict[str, list[Any]]


def read_data(config: DictConfig, data: Data) -> Splits:
    """The suite's splits, the training split cut to data.train_fraction and data.max_train."""
    splits = data.read(config.suite.name, Path(config.data.root).expanduser() if config.data.root else None)
    train = splits["train"]
    splits["train"] = _part(train, config.data.train_fraction, config.data.max_train)
    return splits


def _part(train: list[Any], fraction: float, limit: int | None) -> list[Any]:
    """So much of the examples in their order: a smaller part is contained in every larger one, and no seed changes it.

    A fraction is cut between groups (`Example.group`), and has as few whole ones as it needs; a limit is cut anywhere.
    """
    if fraction == 1 and (limit is None or limit >= len(train)):
        return train
    groups: dict[Any, list[int]] = {}
    for number, example in enumerate(train):
        groups.setdefault(getattr(example, "group", number), []).append(number)
    wanted = max(1, round(fraction * len(train)))
    chosen: list[int] = []
    for group in random.Random(0).sample(list(groups.values()), len(groups)):
        if len(chosen) >= wanted:
            break
        chosen += group
    return [train[number] for number in sorted(chosen[:limit])]


def readings(config: DictConfig, part: Sequence[Any]) -> int:
    """How often an epoch reads a fraction of the training split, for it to have data.least_steps steps.

    It has no more of them than an epoch on the whole, and the whole itself is read once.
    """
    least = config.data.least_steps
    if least is None:
        return 1
    return min(ceil(least * config.task.training.batch / len(part)), max(1, round(1 / config.data.train_fraction)))


def words_of(examples: Sequence[Any]) -> list[str]:
    """Every word of every text, repeated as it occurs."""
    return [word for example in examples for text in example.texts for word in text]


@dataclass(frozen=True)
class Lexicon:
    """What an embedder must know of the text that its head was trained on."""

    words: Sequence[str]  # distinct, most frequent first
    repeated: int  # as many of them occur twice or more
    characters: Sequence[str]  # distinct, most frequent first

    @classmethod
    def of(cls, examples: Sequence[Any]) -> "Lexicon":
        words = words_of(examples)
        counts = Counter(words)
        return cls(
            words=tuple(Vocabulary.of(words).items),
            repeated=sum(count > 1 for count in counts.values()),
            characters=tuple(Vocabulary.of(character for word in words for character in word).items),
        )


@dataclass
class Frozen:
    """What no training changes."""

    encoder: Encoder | None
    vectors: StaticVectors | None
    width: int  # of the word vectors, static or learned

    @property
    def checksums(self) -> dict[str, str]:
        found: dict[str, Encoder | StaticVectors | None] = {"weights": self.encoder, "vectors": self.vectors}
        return {name: part.checksum for name, part in found.items() if part is not None}


def load_frozen(config: DictConfig, splits: Splits) -> Frozen:
    """The encoder and the rows of the static table that this data can look up; of learned words only the width."""
    return load_frozen_for(config, words_of([example for part in splits.values() for example in part]))


def load_frozen_for(config: DictConfig, text: Iterable[str]) -> Frozen:
    """The same, for these words."""
    kind, name = config.encoder.words, config.encoder.vectors
    encoder = build(config.encoder.contextual)
    if not kind:
        return Frozen(encoder, None, 0)
    table = load_static(name, set(text))
    return Frozen(encoder, table if kind == "static" else None, table.dim)


def build_embedder(config: DictConfig, frozen: Frozen, train: Sequence[Any]) -> Embedder:
    """The embedder of this encoder for these training examples."""
    return embedder_for(config, frozen, Lexicon.of(train))


def embedder_for(config: DictConfig, frozen: Frozen, lexicon: Lexicon) -> Embedder:
    """The embedder of this encoder for training text of these words."""
    words: LearnedWords | StaticWords | None = None
    if frozen.vectors is not None:
        words = StaticWords(frozen.vectors, lexicon.words, trainable=config.vectors.trainable)
    elif frozen.width:
        words = LearnedWords(Vocabulary(lexicon.words[: lexicon.repeated]), frozen.width)
    characters = None
    if config.task.get("characters"):
        alphabet = Vocabulary(lexicon.characters)
        characters = CharacterCnn(alphabet, dim=config.task.characters.dim, filters=config.task.characters.filters)
    mixes = {}
    if frozen.encoder is not None:
        for place in PLACES if config.place == "both" else (config.place,):
            mixes[place] = ScalarMix(frozen.encoder.layers, **config.mix)
    embedder = Embedder(
        words=words, characters=characters, mixes=mixes, layer_dim=frozen.encoder.dim if frozen.encoder else 0
    )
    if not embedder.dim:
        raise UserError("the head would see nothing: choose an encoder with words, or place=input")
    return embedder


_store: tuple[tuple[str, ...], LayerStore] | None = None  # of the last run in this process


def shared_store(config: DictConfig, encoder: Encoder | None, data: str) -> LayerStore | None:
    """The layers of this encoder, as configured, on this data (its fingerprint); runs of one sweep share them."""
    global _store  # noqa: PLW0603
    if encoder is None:
        return None
    # What else the encoder was configured with may change its vectors; where it lies or runs does not.
    contextual: Any = OmegaConf.to_container(config.encoder.contextual, resolve=True)
    variant = str(sorted(item for item in contextual.items() if item[0] not in ("weights", "device")))
    key = (encoder.checksum, data, variant, str(config.store))
    if _store is None or _store[0] != key or config.store.mode == "off":
        _store = (key, LayerStore(encoder, variant=variant, **config.store))
    return _store[1]


def build_indexer(embedder: Embedder, store: LayerStore | None) -> Indexer:
    """What turns texts into the tensors that this embedder reads."""
    return Indexer(
        words=embedder.words.index if embedder.words is not None else None,
        characters=embedder.characters.vocabulary if embedder.characters is not None else None,
        layers=store.batch if store is not None else None,
    )
