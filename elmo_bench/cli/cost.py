"""`elmo-bench cost encoder=glove,elmo`: what frozen encoders cost on this machine."""

import argparse
import itertools
import os
import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omegaconf import DictConfig

from elmo_bench.base import include
from elmo_bench.base.errors import UserError
from elmo_bench.base.files import read_lines
from elmo_bench.base.json import digest
from elmo_bench.base.progress import kernels_used, progress
from elmo_bench.base.refusals import check_writable
from elmo_bench.cli import encoder_options, parser
from elmo_bench.elmo.pretrained import SHIPPED_FOLDER
from elmo_bench.ledger import environment, now
from elmo_bench.ledger.costs import EncoderCost, encoder_part, write_cost
from elmo_bench.reporting.console import fitted
from elmo_bench.reporting.published import processor
from elmo_bench.spec.config import compose
from elmo_bench.spec.options import check_once
from elmo_bench.spec.run_setup import Setup
from elmo_bench.spec.run_spec import RunSpec
from elmo_bench.spec.sweeps import sweep
from elmo_bench.spec.task_files import no_vectors, refuse_floor
from elmo_bench.spec.tuning import check_frozen

if TYPE_CHECKING:
    from elmo_bench.runner.prepare import Frozen

PASSES = 3  # for each size of batches, each over sentences of its own
BATCHES = (1, 8, 32, 128)  # sentences a batch
PASSAGE = 128  # sentences of a pass
LEAST = 0.25  # seconds: an encoder that is faster reads its passage again
PACKAGES = ("elmo-bench", "torch", "transformers", "numpy")
COUNTS = SHIPPED_FOLDER / "elmo-mini-vocabulary.txt.xz"
MARKERS = ("<S>", "</S>")
UNKNOWN = "<UNK>"
# Of the gamma distribution: mean SHAPE * SCALE, variance SHAPE * SCALE².
SHAPE = 3.6
SCALE = 6.55
# Tokens, as in that text.
SHORTEST = 3
LONGEST = 120
EPILOG = """Several encoders are separated by commas: encoder=glove,elmo. `run` has the
other options: encoder=hf encoder.name=FOLDER, suite=paper. device=cuda measures on a
GPU. Each encoder has a process. On a CPU it has one thread and seconds are processor
time. Other work on the machine still slows it: compare encoders of one command."""
Sentences = Sequence[Sequence[str]]
Read = Callable[[Sentences], Any]


def main(arguments: list[str]) -> int:
    """Write a file for each encoder and print a table. Returns 0. Raises UserError."""
    options = _parse(arguments)
    runs = _runs(options.options)
    for run in runs:  # before anything is measured
        refuse_floor(run)
        _check(compose("config", run))
    check_writable(options.out, f"--out {options.out}")
    costs: list[EncoderCost] = []
    with progress("cost", len(runs)) as meter:
        for run in runs:
            cost = _in_own_process(run)
            write_cost(options.out, cost)
            costs.append(cost)
            meter.advance()
    print(_table(costs, runs))
    where = processor(costs[0].environment)
    print(f"\n{where}; {costs[0].tokens:,} tokens\nwritten to {options.out}")
    return 0


def _parse(arguments: list[str]) -> argparse.Namespace:
    command = parser("cost", EPILOG)
    command.add_argument(
        "options",
        nargs="+",
        metavar="key=value",
        help="encoder=NAME,NAME and options of encoders",
    )
    command.add_argument(
        "--out",
        type=Path,
        default=Path("results/costs"),
        help="folder of the files (default: %(default)s)",
    )
    return command.parse_intermixed_args(arguments)


def _runs(words: Sequence[str]) -> list[list[str]]:
    """The options of each encoder. Raises UserError for any other word."""
    check_frozen(words, "cost")
    options, wrong = encoder_options(words)
    if wrong:
        raise UserError(
            f"{wrong[0]}: not an option of an encoder. "
            "Give encoder=NAME and its options."
        )
    check_once(options)
    full_names = []
    for option in options:
        is_device = option.startswith("device=")
        full_names.append(f"trainer.{option}" if is_device else option)
    runs = []
    for product in sweep(full_names):
        for combination in itertools.product(*product):
            runs.append(list(combination))
    return runs


def _check(config: DictConfig) -> None:
    """Raise UserError for an encoder that cannot be measured."""
    device = config.trainer.device
    if device not in ("cpu", "cuda"):
        raise UserError(f"device={device}: no such device. Use cpu or cuda.")
    if config.encoder.contextual is None and config.encoder.words != "static":
        raise no_vectors(config.encoder.name)


def _table(costs: Sequence[EncoderCost], runs: Sequence[Sequence[str]]) -> str:
    from elmo_bench.reporting.costs import cost_columns, cost_formats
    from elmo_bench.reporting.rows import lines_of

    formats = cost_formats()
    lines = lines_of(cost_columns(costs))
    body = []
    for cost, run, line in zip(costs, runs, lines, strict=True):
        cells = [column.text(line) for column in formats]
        body.append([_named(cost, run, runs), *cells])
    header = ["encoder", *(column.heading for column in formats)]
    return fitted(header, body)


def _named(cost: EncoderCost, run: Sequence[str], runs: Sequence[Sequence[str]]) -> str:
    """The encoder and its options that not all measurements have."""
    different = []
    for option in run:
        in_all_runs = all(option in other for other in runs)
        if not in_all_runs and not option.startswith("encoder="):
            different.append(option)
    return ", ".join([cost.encoder, *different])


def _in_own_process(options: Sequence[str]) -> EncoderCost:
    """`measure` in a new process. Raises UserError."""
    os.environ["OMP_NUM_THREADS"] = "1"
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        try:
            return pool.submit(measure, options, include.folders).result()
        except BrokenProcessPool:
            raise UserError(
                f"{' '.join(options)}: the measuring process was ended. "
                "Is there enough memory?"
            ) from None


def measure(options: Sequence[str], folders: Sequence[Path] = ()) -> EncoderCost:
    """Load the encoder and read sentences as a head would, on one thread.

    Call it once in a process: a second call would find libraries imported and memory
    taken. Seconds are of processor time on a CPU, since other work on the machine does
    not change them, and of wall time on a GPU. Raises UserError.

    folders: included.
    """
    import torch

    from elmo_bench.base.memory import resident_memory
    from elmo_bench.runner.prepare import load_frozen

    for folder in folders:
        include.include(folder)
    passages = 1 + PASSES * len(BATCHES)  # the first warms up
    config = compose("config", options)
    sentences = sample_sentences(PASSAGE * passages)
    spec = RunSpec.of(config)
    setup = Setup.of(config)
    seconds = _clock(setup.device)
    torch.set_num_threads(1)
    before = resident_memory(os.getpid())
    start = seconds()
    frozen = load_frozen(spec, setup, set(itertools.chain.from_iterable(sentences)))
    read = _reader(frozen, setup.device)
    loaded = seconds() - start
    rates: dict[int, list[float]] = {size: [] for size in BATCHES}
    _rate(read, sentences[::passages], PASSAGE, seconds)
    for number, size in enumerate(BATCHES * PASSES, start=1):
        rate = _rate(read, sentences[number::passages], size, seconds)
        rates[size].append(rate)
    peak = _peak_memory(setup.device, before)
    contents = frozen.contents.items()
    content = {
        "schema": 2,
        "encoder": spec.encoder,
        "settings": encoder_part(spec.settings),
        "contents": {name: value for name, value in contents if name != "width"},
        "environment": _environment(setup.device),
        "text": digest([list(sentence) for sentence in sentences])[:12],
        "tokens": sum(map(len, sentences)),
        "tokens_per_second": {str(size): rates[size] for size in BATCHES},
        "load_seconds": round(loaded, 3),
        "memory_mib": round(peak / 2**20, 1),
        "parameters": _parameters(frozen, config),
        "created": now(),
    }
    return EncoderCost.read(content, "cost")


def _clock(device: str) -> Callable[[], float]:
    """Seconds of processor time, or of wall time of a GPU.

    Raises UserError if the device is missing.
    """
    import torch

    if device != "cuda":
        return time.process_time
    if not torch.cuda.is_available():
        raise UserError("device=cuda: no CUDA device here. Use device=cpu.")

    def seconds() -> float:
        torch.cuda.synchronize()  # after everything that was asked of it
        return time.perf_counter()

    return seconds


def _reader(frozen: "Frozen", device: str) -> Read:
    """Makes everything that a head sees of a batch, on the device."""
    import torch
    from torch.nn.utils.rnn import pad_sequence

    from elmo_bench.encoders.embedder import StaticWords

    words = None
    if frozen.vectors:
        words = StaticWords(frozen.vectors, (), repeated=0, trainable=False)
        words = words.to(device)

    @torch.inference_mode()
    def read(batch: Sentences) -> None:
        for encoder in frozen.encoders.values():
            encoder.encode(batch)
        if words:
            rows = []
            for sentence in batch:
                rows.append(torch.tensor([words.index(word) for word in sentence]))
            words(pad_sequence(rows, batch_first=True).to(device))  # [B, T, D]

    return read


def _peak_memory(device: str, before: int) -> int:
    """Bytes: of a GPU's memory, or of this process beyond what it had before."""
    import torch

    from elmo_bench.base.memory import peak_memory

    if device == "cuda":
        return torch.cuda.max_memory_allocated()
    return max(0, peak_memory() - before)


def _environment(device: str) -> Any:
    import torch

    return {
        **environment(PACKAGES),
        "device": torch.cuda.get_device_name() if device == "cuda" else "cpu",
        "threads": 1,
        "precision": "32-true",
        "kernels": kernels_used(),
    }


def _parameters(frozen: "Frozen", config: DictConfig) -> int:
    """How many numbers the encoders and the whole file of static vectors have."""
    from elmo_bench.encoders.static import numbers_of, path_of

    parameters = frozen.parameters
    if config.encoder.words == "static":
        parameters += numbers_of(path_of(config.encoder.vectors))
    return parameters


def sample_sentences(count: int) -> list[list[str]]:
    """The first `count` tokenised sentences, the same everywhere.

    Words are as frequent as in Wikipedia. What an encoder costs depends on the lengths
    of sentences and words and on how soon words come again, and not on what is said.
    The word counts come from the text that the shipped weights read. A word that is not
    among the 50,000 most frequent ones becomes two of them with a hyphen. Lengths
    follow a gamma distribution with the mean and the standard deviation of the
    sentences of held-out Wikipedia articles, 23.7 and 12.5 tokens.
    """
    weights = _word_counts()
    words = list(weights)
    totals = list(itertools.accumulate(weights.values()))
    rng = random.Random(0)

    def word() -> str:
        [drawn] = rng.choices(words, cum_weights=totals)
        return drawn if drawn != UNKNOWN else f"{word()}-{word()}"

    sentences = []
    for _ in range(count):
        length = round(rng.gammavariate(SHAPE, SCALE))
        length = min(max(length, SHORTEST), LONGEST)
        sentences.append([word() for _ in range(length)])
    return sentences


def _word_counts() -> dict[str, int]:
    counts = {}
    for _, line in read_lines(COUNTS):
        word, number = line.split("\t")
        if word not in MARKERS:
            counts[word] = int(number)
    return counts


def _rate(
    read: Read, sentences: Sentences, size: int, seconds: Callable[[], float]
) -> float:
    """Tokens a second."""
    tokens = 0
    start = seconds()
    while True:
        for first in range(0, len(sentences), size):
            read(sentences[first : first + size])
        tokens += sum(map(len, sentences))
        taken = seconds() - start
        if taken >= LEAST:
            return round(tokens / taken, 1)
