"""The layers of a frozen encoder: computed once, kept in memory or on disk.

They are reused over epochs, runs and processes. The folder on disk has a subfolder for
each encoder, and a cap on the bytes of all of them. Processes share it without locks:
two that compute the same layers write the same file, which does no harm
(`layer_files.py`).
"""

import hashlib
import math
import random
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from elmo_bench.base.downloads import cache_folder
from elmo_bench.base.errors import UserError
from elmo_bench.base.machine import choose_threads, use_threads
from elmo_bench.base.memory import free_gpu_memory
from elmo_bench.base.progress import console, progress
from elmo_bench.encoders import Encoder, Sentence
from elmo_bench.encoders.checks import check_layers
from elmo_bench.encoders.layer_files import (
    KEY_BYTES,
    NAMES,
    read_layers,
    write_layers,
)
from elmo_bench.text.batch import pools

# Raise it when an encoder's code gives other vectors for the same weights: then old
# layers are not read.
VERSION = 2
MODES = ("auto", "off", "ram", "disk")
TOKENS_AT_ONCE = 16_384  # whose layers are in one file


class LayerStore:
    """Layers by sentence, handed out in batches on its device.

    Each batch is copied at most once. On a GPU the layers of a run stay there if they
    fit, wherever else they are kept.

    mode: `disk` keeps layers in `folder` (by default in the cache folder), for later
        runs and other processes; `ram` keeps them in this process; `off` computes them
        for every batch; `auto` is `disk`, but `ram` if the folder cannot be written and
        `off` above `max_gb`.
    max_gb: the most (10⁹ bytes) of layers in memory, or of files in the folder, whose
        least recently used are removed; None: no limit.
    variant: the encoder's configuration and code that change its vectors and are not in
        its checksum.
    """

    def __init__(
        self,
        encoder: Encoder,
        *,
        mode: str = "auto",
        max_gb: float | None = 10.0,
        folder: str | Path | None = None,
        variant: str = "",
    ):
        if mode not in MODES:
            choices = ", ".join(MODES)
            raise UserError(f"store={mode}: unknown. Choose one of: {choices}.")
        self.encoder = encoder
        self.mode = mode
        self.max_gb = math.inf if max_gb is None else max_gb
        self.device = torch.device(encoder.device)
        shape = f"{VERSION} {encoder.layers} {encoder.dim} float32"
        about = f"{shape} {encoder.checksum}\n{variant}"
        self._begun = hashlib.blake2b(about.encode(), digest_size=KEY_BYTES)
        # [L, T, D] in memory, or in a file that is mapped into it.
        self._kept: dict[Sentence, Tensor] = {}
        self._memory = torch.device("cpu")  # where they are
        root = Path(folder).expanduser() if folder else cache_folder() / "layers"
        self._folder = root / self._key(()) if mode in ("auto", "disk") else None

    def bytes_of(self, sentences: Iterable[Sentence]) -> int:
        """The bytes of the layers of these sentences."""
        tokens = sum(len(sentence) for sentence in sentences)
        return tokens * self.encoder.layers * self.encoder.dim * torch.float32.itemsize

    def fill(
        self, sentences: Iterable[Sentence], *, threads: int | None = None
    ) -> None:
        """Read or compute the layers of every distinct sentence.

        A CPU computes them on so many threads, which change them by rounding alone;
        None: one for each idle core. Raises UserError if the layers do not fit.
        """
        if self.mode == "off":
            return
        new = {*sentences} - self._kept.keys()
        size = self.bytes_of([*self._kept, *new])
        if size / 1e9 > self.max_gb:
            self._refuse_or_compute_always(size / 1e9)
            return
        device = self.encoder.device
        # Half of the memory that a run can have of a GPU is left for training.
        fits = device.type != "cuda" or 2 * self.bytes_of(new) < free_gpu_memory(device)
        self._memory = device if fits else torch.device("cpu")
        missing = {self._key(sentence): sentence for sentence in new}
        if self._folder:
            for path in sorted(self._folder.glob(NAMES)):
                self._look_up(path, missing)
        if not missing:
            return
        if device.type == "cpu":
            with use_threads(choose_threads(threads, "encode")):
                self._compute(new)
        else:
            self._compute(new)

    def _refuse_or_compute_always(self, gigabytes: float) -> None:
        """The layers do not fit: `auto` becomes `off`; else raises UserError."""
        problem = f"the layers take {gigabytes:.1f} GB"
        problem += f", more than store.max_gb={self.max_gb}"
        if self.mode != "auto":
            raise UserError(f"{problem}. Raise it, or use store=off.")
        console.print(
            f"{problem}: they are computed for every batch, which is slow. With room "
            f"on the disk, store.max_gb={math.ceil(gigabytes)} computes them once."
        )
        self.mode = "off"
        self._kept = {}

    def batch(self, sentences: Sequence[Sentence]) -> Tensor:
        """Layers [B, L, T, D] of a batch on the store's device.

        float32, with zeros after a sentence's end.
        """
        missing = [sentence for sentence in sentences if sentence not in self._kept]
        missing = list(dict.fromkeys(missing))
        computed = {}
        if missing:
            computed = dict(zip(missing, self._encode(missing), strict=True))
        rows = []
        for sentence in sentences:
            layers = computed.get(sentence)
            rows.append(self._kept[sentence] if layers is None else layers)
        on_gpu = self.device.type == "cuda"
        if on_gpu and all(layers.device.type == "cuda" for layers in rows):
            by_token = [layers.transpose(0, 1) for layers in rows]
            return pad_sequence(by_token, batch_first=True).transpose(1, 2)
        lengths = [layers.shape[1] for layers in rows]
        shape = (len(rows), self.encoder.layers, max(lengths), self.encoder.dim)
        # Pinned memory is copied at once.
        batch = torch.empty(shape, dtype=torch.float32, pin_memory=on_gpu)
        # numpy copies rows faster.
        for row, length, layers in zip(batch.numpy(), lengths, rows, strict=True):
            row[:, :length] = layers.cpu().numpy()
            row[:, length:] = 0
        return batch.to(self.device, non_blocking=True)

    def _key(self, sentence: Sentence) -> str:
        """The key of a sentence under this encoder.

        A digest of its tokens, each with its length.
        """
        digest = self._begun.copy()
        for token in sentence:
            word = token.encode("utf-8", "surrogatepass")
            digest.update(b"\n%d:%b" % (len(word), word))
        return digest.hexdigest()

    def _look_up(self, path: Path, missing: dict[str, Sentence]) -> None:
        """Move from `missing` what is in a file."""
        for key, layers in read_layers(path, missing).items():
            self._kept[missing.pop(key)] = layers.to(self._memory)

    def _compute(self, new: Iterable[Sentence]) -> None:
        """Compute and keep what is missing, unless another process writes it."""
        sentences = sorted(new, key=lambda sentence: (len(sentence), sentence))
        lengths = [len(sentence) for sentence in sentences]
        every = range(len(sentences))
        work = [*pools(every, lengths, size=len(every), tokens=TOKENS_AT_ONCE)]
        random.Random().shuffle(work)  # so that these processes share it
        with progress("encode", total=len(work)) as meter:
            for pool in work:
                self._compute_pool([sentences[row] for row in pool])
                meter.advance(sum(lengths[row] for row in pool))

    def _compute_pool(self, sentences: Sequence[Sentence]) -> None:
        """Compute and keep what is missing of these sentences, which share a file."""
        missing = {}
        for sentence in sentences:
            if sentence not in self._kept:
                missing[self._key(sentence)] = sentence
        path = None
        if self._folder:
            keys = "".join(missing).encode()
            name = hashlib.blake2b(keys, digest_size=KEY_BYTES).hexdigest()
            path = self._folder / f"{name}.safetensors"
            self._look_up(path, missing)
        if missing:
            self._keep(path, missing, self._encode([*missing.values()]))

    def _keep(
        self,
        path: Path | None,
        sentences: dict[str, Sentence],
        layers: Sequence[Tensor],
    ) -> None:
        """Write a file with these layers and map it, or keep them in memory.

        In `auto` also if the file cannot be written.
        """
        computed = dict(zip(sentences, layers, strict=True))
        if path is not None:
            try:
                # Another process that needs the room may remove an unfinished file.
                with suppress(FileNotFoundError):
                    write_layers(path, computed, max_bytes=self.max_gb * 1e9)
                if self._memory.type == "cpu":
                    # Mapped, so that they take no memory of the process.
                    self._look_up(path, sentences)
            except UserError as error:
                if self.mode == "disk":
                    raise
                console.print(f"{error} Layers are kept in memory.", highlight=False)
                self._folder = None
        for key, sentence in sentences.items():
            self._kept[sentence] = computed[key].to(self._memory)

    def _encode(self, sentences: Sequence[Sentence]) -> list[Tensor]:
        """Layers as they are kept, on the encoder's device."""
        encoded = self.encoder.encode(sentences)
        lengths = [len(sentence) for sentence in sentences]
        shape = (self.encoder.layers, self.encoder.dim)
        name = type(self.encoder).__name__
        checked = check_layers(encoded, lengths, shape, name=name)
        return [layers.contiguous() for layers in checked]
