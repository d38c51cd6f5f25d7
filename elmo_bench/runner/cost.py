"""What a frozen encoder costs: load it in this process, and read sentences with it as a head would."""

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypedDict

import torch
from omegaconf import DictConfig

from elmo_bench.base.errors import UserError
from elmo_bench.base.json import digest
from elmo_bench.base.machine import peak_memory, resident_memory
from elmo_bench.encoders.static import numbers_of, path_of
from elmo_bench.encoders.words import StaticWords
from elmo_bench.ledger import now
from elmo_bench.ledger.costs import SCHEMA, EncoderCost, Round, encoder_part
from elmo_bench.ledger.environment import environment
from elmo_bench.runner.model import Frozen, load_frozen
from elmo_bench.spec.run_spec import RunSpec, Setup

BATCHES = (1, 8, 32, 128)  # sentences a batch
PASSAGE = 128  # sentences for each size of batches
SENTENCES = PASSAGE * (1 + len(BATCHES))  # the first passage warms up
LEAST = 0.25  # seconds: an encoder that is faster reads its passage again
PACKAGES = ("elmo-bench", "torch", "transformers", "numpy")
Sentences = Sequence[Sequence[str]]
_MIB = 2**20


class Measured(TypedDict):
    """What one process finds."""

    round: Round
    contents: dict[str, Any]  # as in the spec of a run
    parameters: int  # of the networks
    files: list[str] | None  # that the encoder was loaded from; None if that is not known
    device: str


def measure(config: DictConfig, sentences: Sentences) -> Measured:
    """Load the encoder and read SENTENCES sentences, on one thread. Raises UserError.

    Call it once in a process: a second call would find libraries imported and memory taken. Seconds are of processor
    time on a CPU, since other work on the machine does not change them, and of wall time on a GPU.
    """
    check_frozen(config)
    device = config.trainer.device
    if device == "cuda" and not torch.cuda.is_available():
        raise UserError("device=cuda: no CUDA device here. Use device=cpu.")
    torch.set_num_threads(1)
    words = {word for sentence in sentences for word in sentence}
    before = resident_memory(os.getpid())
    start = _seconds(device)
    frozen = load_frozen(RunSpec.of(config), Setup.of(config), words)
    read = _reader(frozen, device)
    loaded = _seconds(device) - start
    passages = [sentences[at :: 1 + len(BATCHES)] for at in range(1 + len(BATCHES))]
    _rate(read, passages[0], PASSAGE, device)
    rates = {
        str(size): round(_rate(read, own, size, device), 1) for size, own in zip(BATCHES, passages[1:], strict=True)
    }
    peak = torch.cuda.max_memory_allocated() if device == "cuda" else max(0, peak_memory() - before)
    return Measured(
        round=Round(load_seconds=round(loaded, 3), memory_mib=round(peak / _MIB, 1), tokens_per_second=rates),
        contents=frozen.contents,
        parameters=sum(each.parameters for each in frozen.encoders.values()),
        files=_files(config, frozen),
        device=torch.cuda.get_device_name() if device == "cuda" else "cpu",
    )


def cost_of(config: DictConfig, sentences: Sentences, text: str, rounds: Sequence[Measured]) -> EncoderCost:
    """The measurements of one encoder together. Raises UserError if it changed between them."""
    first, spec = rounds[0], RunSpec.of(config)
    if any(each["contents"] != first["contents"] for each in rounds):
        raise UserError(f"encoder={spec.encoder}: its weights changed while it was measured. Measure again.")
    static = config.encoder.words == "static"
    about = environment(PACKAGES)
    return EncoderCost(
        schema=SCHEMA,
        encoder=spec.encoder,
        settings=encoder_part(spec.settings),
        contents={key: value for key, value in first["contents"].items() if key != "width"},
        machine={
            "cpu": about["cpu"],
            "device": first["device"],
            "threads": 1,
            "python": about["python"],
            "packages": about["packages"],
        },
        text={
            "name": text,
            "sentences": len(sentences),
            "tokens": sum(map(len, sentences)),
            "digest": digest(list(map(list, sentences)))[:12],
        },
        rounds=[each["round"] for each in rounds],
        parameters=first["parameters"] + (numbers_of(path_of(config.encoder.vectors)) if static else 0),
        stored_bytes=None if first["files"] is None else sum(Path(file).stat().st_size for file in first["files"]),
        created=now(),
    )


def check_frozen(config: DictConfig) -> None:
    """Raise UserError for an encoder that has nothing to measure."""
    if config.encoder.contextual is None and config.encoder.words != "static":
        raise UserError(f"encoder={config.encoder.name}: has no frozen vectors. Choose another encoder.")


def _reader(frozen: Frozen, device: str) -> Callable[[Sentences], Any]:
    """Makes everything that a head sees of a batch, on the device."""
    words = StaticWords(frozen.vectors, (), repeated=0, trainable=False).to(device) if frozen.vectors else None

    def read(sentences: Sentences) -> list[Any]:
        found: list[Any] = [encoder.encode(sentences) for encoder in frozen.encoders.values()]
        if words is not None:
            rows = torch.zeros(len(sentences), max(map(len, sentences)), dtype=torch.int64)  # BT
            for row, sentence in zip(rows, sentences, strict=True):
                row[: len(sentence)] = torch.tensor([words.index(word) for word in sentence])
            found.append(words(rows.to(device)))  # BTD
        return found

    return torch.inference_mode()(read)


def _rate(read: Callable[[Sentences], Any], sentences: Sentences, size: int, device: str) -> float:
    """Tokens a second."""
    tokens, start = 0, _seconds(device)
    while True:
        for first in range(0, len(sentences), size):
            read(sentences[first : first + size])
        tokens += sum(map(len, sentences))
        if (seconds := _seconds(device) - start) >= LEAST:
            return tokens / seconds


def _seconds(device: str) -> float:
    """Of the processor or, on a GPU, after everything that was asked of it."""
    if device == "cuda":
        torch.cuda.synchronize()
        return time.perf_counter()
    return time.process_time()


def _files(config: DictConfig, frozen: Frozen) -> list[str] | None:
    """Every file once. Without `files` (see encoders/protocol.py) an encoder has no file if it has no parameters."""
    found: set[Path] = set()
    for encoder in frozen.encoders.values():
        own = getattr(encoder, "files", None)
        if own is None and encoder.parameters:
            return None
        found.update(Path(file).resolve() for file in own or ())
    if frozen.vectors is not None:
        found.add(path_of(config.encoder.vectors).resolve())
    return sorted(map(str, found))
