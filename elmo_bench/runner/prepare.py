"""Step 1 of a run: read its data and its frozen parts, which completes its spec."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from elmo_bench.base.downloads import changed
from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import note, noted
from elmo_bench.elmo.frozen import multiplies_bfloat16
from elmo_bench.encoders import Encoder
from elmo_bench.encoders.static import StaticVectors, load_static
from elmo_bench.ledger import SCORED
from elmo_bench.runner.data import (
    Splits,
    all_words,
    build_data,
    data_digest,
    held_out_words,
    note_epochs,
    note_long_words,
    note_quick,
    read_splits,
    training_split,
)
from elmo_bench.runner.first_look import check_items
from elmo_bench.runner.named_parts import check_names
from elmo_bench.runner.split_checks import check_splits
from elmo_bench.spec.names import load_encoder
from elmo_bench.spec.run_setup import Setup
from elmo_bench.spec.run_spec import RunSpec
from elmo_bench.spec.task_files import FLOOR
from elmo_bench.training.contracts import Data
from elmo_bench.training.random_state import generators_kept

# Of the words, without a vector; on the open suite it is at most 6.2 %.
FOREIGN = 0.1
ENGLISH = (
    "all vectors and encoders that ship read English: give others if the text is in "
    "another language"
)


@dataclass
class Frozen:
    """What no training changes, but for an encoder that a run tunes."""

    encoders: dict[str, Encoder]  # by their part of a stack; "" for one that is alone
    vectors: StaticVectors | None
    width: int  # of the word vectors, static or learned

    @property
    def checksums(self) -> dict[str, str]:
        """Of the numbers of each encoder, which may be another seed's where the
        contents are equal."""
        return {part: encoder.checksum for part, encoder in self.encoders.items()}

    @property
    def parameters(self) -> int:
        """How many numbers the encoders have."""
        return sum(encoder.parameters for encoder in self.encoders.values())

    @property
    def contents(self) -> dict[str, Any]:
        """Their part of `RunSpec.contents`, the same for every seed.

        Checksums or identities, and the width of learned words, which comes from a
        table.
        """
        contents: dict[str, Any] = {}
        if self.encoders:
            weights = {}
            for part, encoder in self.encoders.items():
                weights[part] = getattr(encoder, "identity", encoder.checksum)
            contents["weights"] = weights.get("", weights)
        if self.vectors is not None:
            contents["vectors"] = self.vectors.checksum
        elif self.width:
            contents["width"] = self.width
        return contents


def load_frozen(spec: RunSpec, setup: Setup, words: set[str]) -> Frozen:
    """The encoders, and the vectors that these words can look up. Raises UserError."""
    encoders = {}
    with generators_kept():  # building a transformer draws numbers
        for part, options in setup.encoders.items():
            encoders[part] = load_encoder(run_seed=setup.seed, **options)
    _expect(encoders, words)
    kind = spec.settings.get("encoder.words")
    if kind == "learned" and spec.contents is not None:
        width = spec.contents.get("width")  # of a record, which knows their width
        return Frozen(encoders, None, width if isinstance(width, int) else 0)
    if not kind:
        return Frozen(encoders, None, 0)
    table = load_static(str(setup.vectors), words)
    return Frozen(encoders, table if kind == "static" else None, table.dim)


def _expect(encoders: Mapping[str, Encoder], words: set[str]) -> None:
    """Pass the words to the encoders that have `expect`."""
    for encoder in encoders.values():
        expect = getattr(encoder, "expect", None)
        if expect:
            expect(words)


def with_words(frozen: Frozen, setup: Setup, words: set[str], new: set[str]) -> Frozen:
    """The same frozen parts, whose vectors all of these words can look up.

    new: the words that they were not loaded for. No cached file is made, since each
    call has other words. Raises UserError.
    """
    _expect(frozen.encoders, words)
    if frozen.vectors is None:
        return frozen
    more = load_static(str(setup.vectors), new, cached=False)
    if more.checksum != frozen.vectors.checksum:
        raise changed(str(setup.vectors))
    return replace(frozen, vectors=frozen.vectors.with_rows(more))


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
    checks: dict[str, int]  # counts of `check_splits`, before train is cut
    code: dict[str, str]  # `RunSpec.code`, as loaded

    @property
    def title(self) -> str:
        """Of the run, on the screen and in logs."""
        return f"{self.spec.task} {self.spec.encoder} seed {self.setup.seed}"


def prepare(spec: RunSpec, setup: Setup) -> Prepared:
    """Read data, encoder and vectors.

    Raises UserError for bad data or weights, and for a GPU that is missing.
    """
    _check_device(spec, setup)
    check_names(spec, setup)
    with noted() as notes:
        data = build_data(spec, setup)
        splits = read_splits(data, spec, setup)
        where = f"task={spec.task} suite={spec.suite}"
        check_items({split: len(splits[split]) for split in SCORED}, where)
        checks = check_splits(splits, where)
        digest = data_digest(data, splits)
        splits["train"] = training_split(splits["train"], spec, setup)
        note_epochs(spec, splits["train"])
        note_quick(spec, splits["train"])
        words = all_words(splits)
        if spec.part("task.characters"):
            note_long_words(words)
        frozen = load_frozen(spec, setup, words)
        _check_texts(frozen, splits)
        suite_vectors = _suite_vectors(setup, frozen, words)
        if spec.head != FLOOR:
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


def _check_texts(frozen: Frozen, splits: Splits) -> None:
    """Pass all texts to the encoders that have `check_texts`."""
    checks = [
        getattr(encoder, "check_texts", None) for encoder in frozen.encoders.values()
    ]
    if not any(checks):
        return
    texts: dict[tuple[str, ...], None] = {}
    for examples in splits.values():
        for example in examples:
            texts |= dict.fromkeys(example.texts)
    for check in filter(None, checks):
        check(list(texts))


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
    """The static vectors of the suite. Raises UserError if it names no vectors."""
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
    held_out = held_out_words(splits)
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
