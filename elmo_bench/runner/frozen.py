"""The frozen parts of a run: its encoders, and its static vectors."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from elmo_bench.encoders import Encoder
from elmo_bench.encoders.static import StaticVectors, load_static
from elmo_bench.spec.names import load_encoder
from elmo_bench.spec.run_spec import RunSpec, Setup


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
    """Tell the words to the encoders that want to know them."""
    for encoder in encoders.values():
        expect = getattr(encoder, "expect", None)
        if expect:
            expect(words)


def with_words(frozen: Frozen, setup: Setup, words: set[str]) -> Frozen:
    """The same frozen parts, whose vectors these words can look up."""
    _expect(frozen.encoders, words)
    if frozen.vectors is None:
        return frozen
    return replace(frozen, vectors=load_static(str(setup.vectors), words))
