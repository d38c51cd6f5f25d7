"""`elmo-bench cost encoder=glove,elmo`: what frozen encoders cost on this machine."""

import argparse
import itertools
import os
import re
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elmo_bench.base import include
from elmo_bench.base.errors import UserError
from elmo_bench.base.json import digest
from elmo_bench.base.progress import progress

if TYPE_CHECKING:
    from elmo_bench.ledger.costs import EncoderCost
    from elmo_bench.runner.prepare import Frozen

_OPTION = re.compile(r"(encoder|suite|task|trainer|device)(\.[\w.]+)?=")
ROUNDS = 3  # processes for each encoder
BATCHES = (1, 8, 32, 128)  # sentences a batch
PASSAGE = 128  # sentences for each size of batches
SENTENCES = PASSAGE * (1 + len(BATCHES))  # the first passage warms up
LEAST = 0.25  # seconds: an encoder that is faster reads its passage again
Sentences = Sequence[Sequence[str]]


def main(arguments: list[str]) -> int:
    """Write a file for each encoder and print a table. Returns 0. Raises UserError."""
    parser = argparse.ArgumentParser(
        prog="elmo-bench cost",
        description="Measure frozen encoders on this machine: tokens a second with batches of one sentence and with "
        "the best of some sizes, load time, memory, bytes stored, parameters.",
        epilog="Several encoders are separated by commas: encoder=glove,elmo,bert_mini. `run` has the other options: "
        "encoder=hf encoder.name=FOLDER, suite=paper. device=cuda measures on a GPU. Three processes measure each "
        "encoder, in turns. On a CPU a process has one thread and seconds are processor time. Other work on the "
        "machine still slows it: compare encoders that were measured by one command.",
    )
    parser.add_argument("options", nargs="+", metavar="key=value", help="encoder=NAME,NAME and options of encoders")
    out = "folder of the files (default: %(default)s)"
    parser.add_argument("--out", type=Path, default=Path("results/costs"), help=out)
    options = parser.parse_intermixed_args(arguments)
    if wrong := [each for each in options.options if not _OPTION.match(each)]:
        raise UserError(f"{wrong[0]}: not an option of an encoder. Give encoder=NAME and its options.")
    given = [f"trainer.{each}" if each.startswith("device=") else each for each in options.options]
    from elmo_bench.ledger.costs import write_cost
    from elmo_bench.reporting.cards import cost_cells, machine_of
    from elmo_bench.reporting.console import fitted
    from elmo_bench.spec.config import compose, sweep

    runs = [list(each) for product in sweep(given) for each in itertools.product(*product)]
    for config in (compose("config", each) for each in runs):  # before anything is measured
        if config.trainer.device not in ("cpu", "cuda"):
            raise UserError(f"device={config.trainer.device}: no such device. Use cpu or cuda.")
        if config.encoder.contextual is None and config.encoder.words != "static":
            raise UserError(f"encoder={config.encoder.name}: has no frozen vectors. Choose another encoder.")
    measured: list[list[EncoderCost]] = [[] for _ in runs]
    with progress("cost", len(runs) * ROUNDS) as meter:
        for _ in range(ROUNDS):  # of all encoders in turns: other work on the machine slows none of them alone
            for own, rounds in zip(runs, measured, strict=True):
                rounds.append(_apart(own))
                meter.advance()
    costs: list[EncoderCost] = [{**rounds[0], "rounds": [each["rounds"][0] for each in rounds]} for rounds in measured]
    for cost in costs:
        write_cost(options.out, cost)
    lines = [cost_cells(cost) for cost in costs]
    body = [[cost["encoder"], *(c.text for c in line.values())] for cost, line in zip(costs, lines, strict=True)]
    print(f"{fitted(['encoder', *lines[0]], body)}\n\n{machine_of(costs[0])}; {costs[0]['text']['tokens']:,} tokens")
    print(f"{options.out}: {len(costs)} file{'s' * (len(costs) > 1)}")
    return 0


def _apart(options: Sequence[str]) -> "EncoderCost":
    """`measure` in a process of its own. Raises UserError."""
    os.environ["OMP_NUM_THREADS"] = "1"
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        try:
            return pool.submit(measure, options, include.folders).result()
        except BrokenProcessPool:
            raise UserError(f"{' '.join(options)}: the measuring process was ended. Is there enough memory?") from None


def measure(options: Sequence[str], folders: Sequence[Path] = ()) -> "EncoderCost":
    """Load the encoder and read SENTENCES sentences as a head would, on one thread. Raises UserError.

    Call it once in a process: a second call would find libraries imported and memory taken. Seconds are of processor
    time on a CPU, since other work on the machine does not change them, and of wall time on a GPU. `folders`: included.
    """
    import torch

    from elmo_bench.base.machine import peak_memory, resident_memory
    from elmo_bench.encoders.static import numbers_of, path_of
    from elmo_bench.ledger import environment, now
    from elmo_bench.ledger.costs import encoder_part
    from elmo_bench.runner.prepare import load_frozen
    from elmo_bench.spec.config import compose
    from elmo_bench.spec.run_spec import RunSpec, Setup
    from elmo_bench.text.sample import sample_sentences

    for folder in folders:
        include.include(folder)
    config, sentences = compose("config", options), sample_sentences(SENTENCES)
    spec, setup = RunSpec.of(config), Setup.of(config)
    on_gpu = setup.device == "cuda"
    if on_gpu and not torch.cuda.is_available():
        raise UserError("device=cuda: no CUDA device here. Use device=cpu.")
    torch.set_num_threads(1)

    def seconds() -> float:
        if on_gpu:
            torch.cuda.synchronize()  # after everything that was asked of it
        return time.perf_counter() if on_gpu else time.process_time()

    before, start = resident_memory(os.getpid()), seconds()
    frozen = load_frozen(spec, setup, {word for sentence in sentences for word in sentence})
    read, loaded = _reader(frozen, setup.device), seconds() - start
    passages = [sentences[at :: 1 + len(BATCHES)] for at in (*range(1, 1 + len(BATCHES)), 0)]
    _rate(read, passages.pop(), PASSAGE, seconds)  # warms up
    rates = {str(size): _rate(read, own, size, seconds) for size, own in zip(BATCHES, passages, strict=True)}
    peak = torch.cuda.max_memory_allocated() if on_gpu else max(0, peak_memory() - before)
    about = environment(("elmo-bench", "torch", "transformers", "numpy"))
    vectors = path_of(config.encoder.vectors) if config.encoder.words == "static" else None
    files, text = _files(frozen, vectors), digest([list(sentence) for sentence in sentences])[:12]
    return {
        "schema": 1,
        "encoder": spec.encoder,
        "settings": encoder_part(spec.settings),
        "contents": {key: value for key, value in frozen.contents.items() if key != "width"},
        "machine": {
            "cpu": about["cpu"],
            "device": torch.cuda.get_device_name() if on_gpu else "cpu",
            "threads": 1,
            "python": about["python"],
            "packages": about["packages"],
        },
        "text": {"name": "sample", "sentences": SENTENCES, "tokens": sum(map(len, sentences)), "digest": text},
        "rounds": [
            {"load_seconds": round(loaded, 3), "memory_mib": round(peak / 2**20, 1), "tokens_per_second": rates}
        ],
        "parameters": sum(one.parameters for one in frozen.encoders.values()) + (numbers_of(vectors) if vectors else 0),
        "stored_bytes": None if files is None else sum(file.stat().st_size for file in files),
        "created": now(),
    }


def _reader(frozen: "Frozen", device: str) -> Callable[[Sentences], Any]:
    """Makes everything that a head sees of a batch, on the device."""
    import torch

    from elmo_bench.encoders.embedder import StaticWords

    words = StaticWords(frozen.vectors, (), repeated=0, trainable=False).to(device) if frozen.vectors else None

    def read(sentences: Sentences) -> None:
        for encoder in frozen.encoders.values():
            encoder.encode(sentences)
        if words is not None:
            rows = [torch.tensor([words.index(word) for word in sentence]) for sentence in sentences]
            words(torch.nn.utils.rnn.pad_sequence(rows, batch_first=True).to(device))  # BTD

    return torch.inference_mode()(read)


def _rate(read: Callable[[Sentences], Any], sentences: Sentences, size: int, seconds: Callable[[], float]) -> float:
    """Tokens a second."""
    tokens, start = 0, seconds()
    while True:
        for first in range(0, len(sentences), size):
            read(sentences[first : first + size])
        tokens += sum(map(len, sentences))
        if (taken := seconds() - start) >= LEAST:
            return round(tokens / taken, 1)


def _files(frozen: "Frozen", vectors: Path | None) -> set[Path] | None:
    """Every file. Without `files` (see encoders/__init__.py) an encoder has none if it has no parameters."""
    files = {vectors.resolve()} if vectors else set[Path]()
    for encoder in frozen.encoders.values():
        own = getattr(encoder, "files", None)
        if own is None and encoder.parameters:
            return None
        files.update(Path(file).resolve() for file in own or ())
    return files
