"""Building a run's parts from its config: data, encoder, embedder, head."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hydra
from hydra.errors import InstantiationException
from omegaconf import DictConfig
from torch import nn

from elmo_bench.encoders.embedder import PLACES, Embedder
from elmo_bench.encoders.features import Encoder, LayerStore
from elmo_bench.encoders.mix import ScalarMix
from elmo_bench.encoders.static import StaticVectors, load_static
from elmo_bench.encoders.words import LearnedWords, StaticWords
from elmo_bench.errors import UserError
from elmo_bench.nn.character_cnn import CharacterCnn
from elmo_bench.text.batch import Indexer
from elmo_bench.text.vocabulary import Vocabulary
from elmo_bench.training.contracts import Data

Splits = dict[str, list[Any]]


def read_data(config: DictConfig, data: Data) -> Splits:
    """The suite's splits, the training split cut to data.train_fraction and data.max_train."""
    splits = data.read(config.suite.name, Path(config.data.root).expanduser() if config.data.root else None)
    train = splits["train"]
    if not 0 < config.data.train_fraction <= 1:
        raise UserError(f"data.train_fraction={config.data.train_fraction}: give a number above 0, up to 1")
    keep = min(len(train), max(1, round(config.data.train_fraction * len(train))), config.data.max_train or len(train))
    if keep < len(train):  # a smaller part is contained in every larger one, and no seed changes it
        chosen = sorted(random.Random(0).sample(range(len(train)), len(train))[:keep])
        splits["train"] = [train[number] for number in chosen]
    return splits


def words_of(examples: Sequence[Any]) -> list[str]:
    """Every word of every text, repeated as it occurs."""
    return [word for example in examples for text in example.texts for word in text]


@dataclass
class Frozen:
    """What no training changes."""

    encoder: Encoder | None
    vectors: StaticVectors | None  # for encoder=none: only their width counts

    @property
    def checksums(self) -> dict[str, str]:
        found = {"weights": self.encoder, "vectors": self.vectors}
        return {name: part.checksum for name, part in found.items() if part is not None}


def load_frozen(config: DictConfig, splits: Splits) -> Frozen:
    """The encoder and the rows of the static table that this data can look up."""
    vectors = None
    if config.encoder.words is not None:
        vectors = load_static(config.encoder.vectors, {word for part in splits.values() for word in words_of(part)})
    try:
        return Frozen(hydra.utils.instantiate(config.encoder.contextual), vectors)
    except InstantiationException as error:
        if isinstance(error.__cause__, UserError):  # Hydra wraps what a constructor raises
            raise error.__cause__ from None
        raise


def build_embedder(config: DictConfig, frozen: Frozen, train: Sequence[Any]) -> Embedder:
    """The embedder of this encoder for these training examples."""
    words: nn.Module | None = None
    kind = config.encoder.words
    if kind not in ("learned", "static", None):
        raise UserError(f"encoder.words={kind}: choose one of: learned, static, null")
    if kind and frozen.vectors is not None:
        seen = words_of(train)
        words = (
            LearnedWords(seen, frozen.vectors.dim)
            if kind == "learned"
            else StaticWords(frozen.vectors, seen, trainable=config.vectors.trainable)
        )
    characters = None
    if config.task.get("characters"):
        alphabet = Vocabulary.of(character for word in words_of(train) for character in word)
        characters = CharacterCnn(alphabet, dim=config.task.characters.dim, filters=config.task.characters.filters)
    mixes = {}
    if config.place not in (*PLACES, "both"):
        raise UserError(f"place={config.place}: choose one of: {', '.join(PLACES)}, both")
    if frozen.encoder is not None:
        for place in PLACES if config.place == "both" else (config.place,):
            mixes[place] = ScalarMix(frozen.encoder.layers, **config.mix)
    embedder = Embedder(
        words=words, characters=characters, mixes=mixes, layer_dim=frozen.encoder.dim if frozen.encoder else 0
    )
    if not embedder.dim:
        raise UserError("the head would see nothing: choose an encoder with words, or place=input")
    return embedder


def build_indexer(embedder: Embedder, store: LayerStore | None) -> Indexer:
    """What turns texts into the tensors that this embedder reads."""
    return Indexer(
        words=embedder.words.index if embedder.words is not None else None,  # type: ignore[arg-type]
        characters=embedder.characters.vocabulary if embedder.characters is not None else None,  # type: ignore[arg-type]
        layers=store.batch if store is not None else None,
    )
