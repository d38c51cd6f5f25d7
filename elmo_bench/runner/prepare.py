"""Step 1 of a run: read its data and its frozen parts, which completes its spec; the parts of its model."""

import os
import platform
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from filelock import FileLock, Timeout

from elmo_bench.base.downloads import cache_folder
from elmo_bench.base.errors import UserError
from elmo_bench.base.files import disk_errors
from elmo_bench.base.notes import noted
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
    note_long_words,
    read_splits,
    training_fraction,
    without_long_texts,
    words_of,
)
from elmo_bench.spec.names import load_encoder, task_class
from elmo_bench.spec.run_spec import RunSpec, Setup
from elmo_bench.text.batch import Indexer
from elmo_bench.text.vocabulary import Vocabulary
from elmo_bench.training.contracts import Data


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


def load_frozen(spec: RunSpec, setup: Setup, words: Iterable[str]) -> Frozen:
    """The encoders, and the vectors that these words can look up. Raises UserError."""
    kind, words = spec.settings["encoder.words"], set(words)
    encoders = {part: load_encoder(run_seed=setup.seed, **options) for part, options in setup.encoders.items()}
    tell(encoders.values(), words)
    if not kind:
        return Frozen(encoders, None, 0)
    table = load_static(str(setup.vectors), words)
    return Frozen(encoders, table if kind == "static" else None, table.dim)


def tell(encoders: Iterable[Encoder], words: set[str]) -> None:
    """Tell the encoders that want to know it which words they will read. Raises UserError."""
    for encoder in encoders:
        if expect := getattr(encoder, "expect", None):
            expect(words)


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
    place = str(settings.get("place"))
    mixes = {
        mix_name(each, part): ScalarMix(encoder.layers, kind=settings["mix"], **spec.part("mix"))
        for each in (PLACES if place == "both" else (place,))
        for part, encoder in frozen.encoders.items()
    }
    dims = {part: encoder.dim for part, encoder in frozen.encoders.items()}
    embedder = Embedder(words=words, characters=characters, mixes=mixes, layer_dims=dims)
    if not embedder.dim:
        raise UserError("the head would see nothing: choose an encoder with words, or place=input")
    return embedder


def build_head(spec: RunSpec, embedder: Embedder, vocabulary: Mapping[str, Any]) -> Any:
    """The task's head, with the numbers of the spec. Raises UserError if it lacks its embedder."""
    numbers = {key: value for key, value in spec.part("task.head").items() if key != "name"}
    head = task_class(spec.task, "head")(embedder, **vocabulary, **numbers)
    if getattr(head, "embedder", None) is not embedder:
        raise UserError(f"task={spec.task}: the Head has no embedder. Write self.embedder = embedder in its __init__.")
    return head


def build_indexer(embedder: Embedder, stores: Mapping[str, LayerStore]) -> Indexer:
    """Turns texts into the tensors that this embedder reads."""
    return Indexer(
        words=embedder.words.index if embedder.words is not None else None,
        characters=embedder.characters.vocabulary if embedder.characters is not None else None,
        layers={part: store.batch for part, store in stores.items()},
    )


def build_stores(setup: Setup, encoders: Mapping[str, Encoder]) -> dict[str, LayerStore]:
    """The layers of each encoder, by its part of a stack."""
    stores = {}
    for part, options in setup.encoders.items():
        # Other options of the encoder may change its vectors; its path and device do not.
        variant = str(sorted(item for item in options.items() if item[0] not in ("weights", "device")))
        stores[part] = LayerStore(encoders[part], variant=variant, **setup.store)
    return stores


_held: FileLock | None = None  # of this process's GPU, for as long as the process lives


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

    @property
    def title(self) -> str:
        """Of the run, on the screen and in logs."""
        return f"{self.spec.task} {self.spec.encoder} seed {self.setup.seed}"

    def texts(self, *splits: str) -> list[Any]:
        """The tokenised sequences of these splits."""
        return [text for split in splits for example in self.splits[split] for text in example.texts]


def prepare(spec: RunSpec, setup: Setup) -> Prepared:
    """Read data, encoder and vectors. Raises UserError for bad data or weights, and for a GPU that is missing."""
    if setup.device == "cuda":
        claim_gpu()
        if not torch.cuda.is_available():
            raise UserError("trainer=gpu: no CUDA device here; use trainer=cpu")
    with noted() as notes:
        data = build_data(spec, setup)
        splits = read_splits(data, spec, setup)
        checks = check_splits(splits, f"task={spec.task} suite={spec.suite}")
        digest = data_digest(data, splits)
        fraction, limit = spec.settings["data.train_fraction"], spec.settings["data.max_train"]
        train = without_long_texts(splits["train"])
        splits["train"] = training_fraction(train, seed=setup.seed, fraction=fraction, limit=limit)
        words = words_of([example for examples in splits.values() for example in examples])
        note_long_words(spec, words)
        frozen = load_frozen(spec, setup, words)
        suite_vectors = _suite_vectors(setup, frozen, words)
    spec = spec.with_contents({"data": digest} | frozen.contents)
    return Prepared(spec, setup, data, splits, frozen, suite_vectors, notes, checks)


def _suite_vectors(setup: Setup, frozen: Frozen, words: Collection[str]) -> StaticVectors:
    """The suite's vectors, which may be the encoder's too. Raises UserError."""
    if frozen.vectors is not None and setup.vectors == setup.suite_vectors:
        return frozen.vectors
    if not setup.suite_vectors:
        raise UserError("suite.vectors: none. Name static vectors, such as glove-6b: slices of test depend on them.")
    return load_static(setup.suite_vectors, set(words))


def claim_gpu() -> str | None:
    """Reserve for this process one GPU that no other process of this project has claimed; its name.

    None, and every GPU stays visible, if the machine shows fewer than two (a scheduler may have chosen one) or all are
    claimed. Must be called before the first use of CUDA. A folder of the user's cache holds the claims, which end with
    the process. Raises UserError if it belongs to another user.
    """
    global _held  # noqa: PLW0603
    if _held is not None or torch.cuda.is_initialized() or (count := torch.cuda.device_count()) < 2:
        return None
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
    names = visible if len(visible) == count else [str(number) for number in range(count)]
    folder = cache_folder() / "gpus" / platform.node()  # machines may share a home
    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        raise UserError(f"{folder}: belongs to another user. Set $ELMO_BENCH_CACHE to a folder of yours.")
    for name in names:
        lock = FileLock(folder / f"{name}.lock", timeout=0)
        try:
            lock.acquire()
        except Timeout:
            continue
        _held = lock
        os.environ["CUDA_VISIBLE_DEVICES"] = name
        return name
    return None
