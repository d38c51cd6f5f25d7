"""`ElmoEmbedder` with the interface of AllenNLP 0.9: tokenised sentences in, numpy arrays out.

Source: `allennlp.commands.elmo` of that version. Its network is the one of AllenNLP 2.10.1, whose figures are recorded
in tests/golden.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from os import PathLike

import numpy as np

from elmo_bench.base.errors import UserError
from elmo_bench.elmo.encoder import ElmoEncoder

Sentence = Sequence[str]


class ElmoEmbedder:
    """All layers of tokenised sentences, float32 [3, T, 1024] with the published weights ([L, T, 2P] in general).

    options_file, weight_file: paths or addresses (also the published ones). With `options_file=None`, `weight_file` is
        anything that `ElmoEncoder(weights=…)` accepts; both None: `original`, AllenNLP's default.
    cuda_device: the number of a GPU; -1 for the CPU.

    Not in AllenNLP: `stateful=True` starts row i of a batch where row i of the batch before ended, which AllenNLP
    always does; by default every batch starts from zeros. `precision`: float32, bfloat16 or int8. Raises UserError.
    """

    def __init__(
        self,
        options_file: str | PathLike[str] | None = None,
        weight_file: str | PathLike[str] | None = None,
        cuda_device: int = -1,
        *,
        stateful: bool = False,
        precision: str = "float32",
    ):
        if options_file is not None and weight_file is None:
            raise UserError("weight_file: missing. Give the weights that belong to options_file.")
        self.encoder = ElmoEncoder(
            weights="original" if weight_file is None else str(weight_file),
            options=None if options_file is None else str(options_file),
            stateful=stateful,
            precision=precision,
            device=f"cuda:{cuda_device}" if cuda_device >= 0 else "cpu",
        )

    def embed_sentence(self, sentence: Sentence) -> np.ndarray:
        """Layers [L, T, 2P] of one sentence."""
        return self.embed_batch([sentence])[0]

    def embed_batch(self, batch: Sequence[Sentence]) -> list[np.ndarray]:
        """Layers [L, T, 2P] of each sentence, T 0 for an empty one."""
        return [layers.cpu().numpy() for layers in self.encoder.encode(batch)]

    def embed_sentences(self, sentences: Iterable[Sentence], batch_size: int = 64) -> Iterator[np.ndarray]:
        """Layers [L, T, 2P] of each sentence, in order; `batch_size` sentences are held at a time."""
        if batch_size < 1:
            raise UserError(f"batch_size={batch_size}: too small. Give 1 or more.")
        rest = iter(sentences)
        while batch := list(islice(rest, batch_size)):
            yield from self.embed_batch(batch)
