"""Inputs of a head: encoders, static and learned words, and the embedder.

A kind of encoder is a module of this package with `load(**options) -> Encoder`:
`elmo.py`, `random.py`, `hf.py` (with `hf_model.py`, `hf_files.py`, `hf_tokenisers.py`
and `hf_words.py`), `cove.py`, `precomputed.py`. Several together are a stack. A `load`
with a parameter `seed` gets the run's, unless the yaml has one. If its vectors depend
on it, its encoder also has `identity`.

- `static.py`, with `binary_vectors.py` and `vector_files.py`: static word vectors.
- `embedder.py`: word vectors as modules, and everything that a head sees, concatenated.
- `tuning.py`: an encoder that a run trains further, with `hf_lora.py`.
- `cache.py`: the layers of frozen encoders, kept in memory or on disk.
- `kinds.py`: what is known of a kind without loading it.
- `checks.py`: tries an encoder when it is loaded.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from elmo_bench.base.include import extended

if TYPE_CHECKING:  # commands that read names alone start without torch
    import torch

__path__ = extended("encoders", __path__)
Sentence = tuple[str, ...]


class Encoder(Protocol):
    """Turns tokenised sentences into layers; frozen, unless a run tunes it.

    The same sentence gives the same layers in any call.
    """

    checksum: str
    """Identifies the vectors, in the cache and in the hash of a run."""
    layers: int
    """L"""
    dim: int
    """D"""
    parameters: int
    """The number of frozen parameters."""
    device: "torch.device"

    # May also have
    # - `expect(words)`: the set of words that `encode` will read, called before words
    #   are first encoded, perhaps again later: each call may repeat words of earlier
    #   calls, or lack them;
    # - `check_texts(sentences)`, called with all texts of a run before it trains: it
    #   raises UserError if one of them cannot be encoded;
    # - `files`: the paths of the files that it was loaded from, or `inputs` if these do
    #   not hold its numbers;
    # - `packages`: names of installed packages on whose versions the checksum depends;
    # - `identity`: in place of `checksum` in the hash, so that runs whose seeds draw
    #   other numbers share one;
    # - `tuned`: what a run trains of it (`tuning.Tuned`), if its `load` takes `tune`;
    #   None if it is frozen.

    def encode(self, sentences: Sequence[Sequence[str]]) -> "list[torch.Tensor]":
        """float32 [L, T, D] of each sentence, on the encoder's device."""
