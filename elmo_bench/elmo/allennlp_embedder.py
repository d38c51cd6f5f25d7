"""`ElmoEmbedder` with the interface of AllenNLP 0.9.

Source: `allennlp.commands.elmo`, whose network is the one of version 2.10.1
(`allennlp.py`).
"""

from collections.abc import Iterable, Iterator, Sequence
from os import PathLike
from typing import Any

import numpy as np

from elmo_bench.base.errors import UserError
from elmo_bench.elmo.embed import windows
from elmo_bench.elmo.encoder import ElmoEncoder

File = str | PathLike[str] | None


class ElmoEmbedder:
    """All layers of tokenised sentences, float32 [3, T, 1024] with published weights.

    [L, T, 2P] in general.

    options_file, weight_file: paths or addresses (also the published ones). With
        `options_file=None`, `weight_file` is anything that `ElmoEncoder(weights=…)`
        accepts; both None: `original`, AllenNLP's default.
    cuda_device: the number of a GPU; -1 for the CPU.

    Not in AllenNLP: `options` of `ElmoEncoder`. With `stateful=True` row i of a batch
    starts where row i of the batch before ended, as always in AllenNLP; by default
    every batch starts from zeros. Raises UserError.
    """

    def __init__(
        self,
        options_file: File = None,
        weight_file: File = None,
        cuda_device: int = -1,
        **options: Any,
    ):
        if options_file is not None and weight_file is None:
            raise UserError(
                "weight_file: missing. Give the weights that belong to options_file."
            )
        self.encoder = ElmoEncoder(
            weights="original" if weight_file is None else str(weight_file),
            options=None if options_file is None else str(options_file),
            device=f"cuda:{cuda_device}" if cuda_device >= 0 else "cpu",
            **options,
        )

    def embed_sentence(self, sentence: Sequence[str]) -> np.ndarray:
        """Layers [L, T, 2P] of one sentence."""
        return self.embed_batch([sentence])[0]

    def embed_batch(self, batch: Sequence[Sequence[str]]) -> list[np.ndarray]:
        """Layers [L, T, 2P] of each sentence, T 0 for an empty one."""
        return [layers.cpu().numpy() for layers in self.encoder.encode(batch)]

    def embed_sentences(
        self, sentences: Iterable[Sequence[str]], batch_size: int = 64
    ) -> Iterator[np.ndarray]:
        """Layers [L, T, 2P] of each sentence, in order.

        `batch_size` sentences are held at a time.
        """
        for batch in windows(sentences, size=len, batch=batch_size):
            yield from self.embed_batch(batch)
