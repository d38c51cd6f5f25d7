"""`ElmoEmbedder` with the interface of AllenNLP 0.9: tokenised sentences in, numpy arrays or an HDF5 file out.

Source: `allennlp.commands.elmo` of that version. Its network is the one of AllenNLP 2.10.1, whose figures are recorded
in tests/golden.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import IO

import numpy as np
import torch
from torch import Tensor

from elmo_bench.base.errors import UserError
from elmo_bench.elmo.embed import MODES, write
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

    def batch_to_embeddings(self, batch: Sequence[Sentence]) -> tuple[Tensor, Tensor]:
        """Layers [B, L, T, 2P], zeros after a sentence's end, and their mask, int64 [B, T]."""
        layers, lengths = self.encoder.batch(batch)
        inside = torch.arange(layers.shape[2]) < torch.tensor(lengths)[:, None]  # BT
        mask = inside.to(layers.device)
        return torch.where(mask[:, None, :, None], layers, 0).float(), mask.long()

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

    def embed_file(  # noqa: PLR0917  AllenNLP's order
        self,
        input_file: IO[str],
        output_file_path: str | PathLike[str],
        output_format: str = "all",
        batch_size: int = 64,
        forget_sentences: bool = False,
        use_sentence_keys: bool = False,
    ) -> None:
        """Write the vectors of a text, a tokenised sentence a line, to HDF5; see also `elmo-bench embed`.

        output_format: all [L, T, 2P], top [T, 2P] or average [T, 2P]. The name of a data set is the number of its line,
        from 0, or with `use_sentence_keys` the line itself. The data set `sentence_to_index` is JSON that maps lines to
        numbers; `forget_sentences` leaves it out. Closes `input_file`. Raises UserError for empty lines, and for a line
        that is repeated or has a slash with `use_sentence_keys`. The file appears when it is complete.
        """
        if output_format not in MODES:
            raise UserError(f"output_format={output_format}: unknown. Choose one of: {', '.join(MODES)}.")
        with input_file:
            lines = [line.strip() for line in input_file]
        if empty := [number for number, line in enumerate(lines) if not line]:
            raise UserError(f"input_file: {len(empty)} empty lines, the first is line {empty[0]}, from 0. Remove them.")
        if use_sentence_keys and (len({*lines}) < len(lines) or any("/" in line for line in lines)):
            raise UserError("use_sentence_keys: a line is repeated or has a slash. Leave this option out.")
        keys = lines if use_sentence_keys else [str(number) for number in range(len(lines))]
        embedded = self.embed_sentences((line.split() for line in lines), batch_size)
        vectors = (MODES[output_format](torch.from_numpy(layers)) for layers in embedded)
        index = {} if forget_sentences or use_sentence_keys else dict(zip(lines, keys, strict=True))
        write(Path(output_file_path), zip(keys, vectors, strict=True), index)
