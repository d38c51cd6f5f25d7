"""`elmo-bench cost encoder=glove,elmo`: what frozen encoders cost on this machine."""

import itertools
import os
import random
import re
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from elmo_bench.base import include
from elmo_bench.base.errors import UserError
from elmo_bench.base.files import read_lines
from elmo_bench.base.json import digest
from elmo_bench.base.progress import kernels_used, progress
from elmo_bench.cli import encoder_options, parser
from elmo_bench.ledger import environment, now
from elmo_bench.ledger.costs import NAME, EncoderCost, encoder_part, write_cost
from elmo_bench.reporting.console import fitted
from elmo_bench.reporting.published import processor
from elmo_bench.spec.config import compose, sweep
from elmo_bench.spec.run_spec import RunSpec, Setup

PASSES = 3  # for each size of batches, each over sentences of its own
BATCHES = (1, 8, 32, 128)  # sentences a batch
PASSAGE = 128  # sentences of a pass
LEAST = 0.25  # seconds: an encoder that is faster reads its passage again
Sentences = Sequence[Sequence[str]]
COUNTS = Path(__file__).parents[1] / "weights" / "elmo-mini-vocabulary.txt.xz"
MARKERS, UNKNOWN = ("<S>", "</S>"), "<UNK>"
SHAPE, SCALE = 3.6, 6.55  # of the gamma distribution: mean SHAPE * SCALE, variance SHAPE * SCALE²
SHORTEST, LONGEST = 3, 120  # tokens, as in that text
EPILOG = """Several encoders are separated by commas: encoder=glove,elmo. `run` has the other options: encoder=hf
encoder.name=FOLDER, suite=paper. device=cuda measures on a GPU. Each encoder has a process. On a CPU it has one thread
and seconds are processor time. Other work on the machine still slows it: compare encoders of one command."""


def main(arguments: list[str]) -> int:
    """Write a file for each encoder and print a table. Returns 0. Raises UserError."""
    command = parser("cost", EPILOG)
    command.add_argument("options", nargs="+", metavar="key=value", help="encoder=NAME,NAME and options of encoders")
    out = "folder of the files (default: %(default)s)"
    command.add_argument("--out", type=Path, default=Path("results/costs"), help=out)
    options = command.parse_intermixed_args(arguments)
    asked, wrong = encoder_options(options.options)
    if wrong:
        raise UserError(f"{wrong[0]}: not an option of an encoder. Give encoder=NAME and its options.")
    given = [f"trainer.{each}" if each.startswith("device=") else each for each in asked]
    from elmo_bench.reporting.costs import cost_columns, cost_formats
    from elmo_bench.reporting.rows import lines_of

    runs = [list(each) for product in sweep(given) for each in itertools.product(*product)]
    for config in (compose("config", each) for each in runs):  # before anything is measured
        if config.trainer.device not in ("cpu", "cuda"):
            raise UserError(f"device={config.trainer.device}: no such device. Use cpu or cuda.")
        if config.encoder.contextual is None and config.encoder.words != "static":
            raise UserError(f"encoder={config.encoder.name}: has no frozen vectors. Choose another encoder.")
        if not re.fullmatch(NAME, name := RunSpec.of(config).encoder):
            raise UserError(f"encoder.name: {name!r:.60} cannot name a file. Use letters, digits, _, -, . and +.")
    costs: list[EncoderCost] = []
    with progress("cost", len(runs)) as meter:
        for own in runs:
            costs.append(_apart(own))
            write_cost(options.out, costs[-1])
            meter.advance()
    formats = cost_formats()
    body = []
    for cost, given, line in zip(costs, runs, lines_of(cost_columns(costs)), strict=True):
        body.append([_named(cost, given, runs), *(column.text(line) for column in formats)])
    where = f"{processor(costs[0].environment)}; {costs[0].tokens:,} tokens"
    print(f"{fitted(['encoder', *(column.heading for column in formats)], body)}\n\n{where}\nwritten to {options.out}")
    return 0


def _named(cost: EncoderCost, own: Sequence[str], runs: Sequence[Sequence[str]]) -> str:
    """The encoder and its options that not all measurements have."""
    differs = [each for each in own if not all(each in other for other in runs) and not each.startswith("encoder=")]
    return ", ".join([cost.encoder, *differs])


def _apart(options: Sequence[str]) -> EncoderCost:
    """`measure` in a process of its own. Raises UserError."""
    os.environ["OMP_NUM_THREADS"] = "1"
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        try:
            return pool.submit(measure, options, include.folders).result()
        except BrokenProcessPool:
            raise UserError(f"{' '.join(options)}: the measuring process was ended. Is there enough memory?") from None


def measure(options: Sequence[str], folders: Sequence[Path] = ()) -> EncoderCost:
    """Load the encoder and read sentences as a head would, on one thread. Raises UserError.

    Call it once in a process: a second call would find libraries imported and memory taken. Seconds are of processor
    time on a CPU, since other work on the machine does not change them, and of wall time on a GPU. `folders`: included.
    """
    import torch

    from elmo_bench.base.machine import peak_memory, resident_memory
    from elmo_bench.encoders.embedder import StaticWords
    from elmo_bench.encoders.static import numbers_of, path_of
    from elmo_bench.runner.prepare import load_frozen

    for folder in folders:
        include.include(folder)
    passages = 1 + PASSES * len(BATCHES)  # the first warms up
    config, sentences = compose("config", options), sample_sentences(PASSAGE * passages)
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
    words = frozen.vectors and StaticWords(frozen.vectors, (), repeated=0, trainable=False).to(setup.device)
    loaded = seconds() - start

    @torch.inference_mode()
    def read(batch: Sentences) -> None:
        """Make everything that a head sees of a batch, on the device."""
        for encoder in frozen.encoders.values():
            encoder.encode(batch)
        if words:
            rows = [torch.tensor([words.index(word) for word in sentence]) for sentence in batch]
            words(torch.nn.utils.rnn.pad_sequence(rows, batch_first=True).to(setup.device))  # BTD

    rates: dict[int, list[float]] = {size: [] for size in BATCHES}
    _rate(read, sentences[::passages], PASSAGE, seconds)
    for at, size in enumerate(BATCHES * PASSES, 1):
        rates[size].append(_rate(read, sentences[at::passages], size, seconds))
    peak = torch.cuda.max_memory_allocated() if on_gpu else max(0, peak_memory() - before)
    parameters = sum(encoder.parameters for encoder in frozen.encoders.values())
    if config.encoder.words == "static":
        parameters += numbers_of(path_of(config.encoder.vectors))
    content = {
        "schema": 2,
        "encoder": spec.encoder,
        "settings": encoder_part(spec.settings),
        "contents": {key: value for key, value in frozen.contents.items() if key != "width"},
        "environment": {
            **environment(("elmo-bench", "torch", "transformers", "numpy")),
            "device": torch.cuda.get_device_name() if on_gpu else "cpu",
            "threads": 1,
            "precision": "32-true",
            "kernels": kernels_used(),
        },
        "text": digest([list(sentence) for sentence in sentences])[:12],
        "tokens": sum(map(len, sentences)),
        "tokens_per_second": {str(size): own for size, own in rates.items()},
        "load_seconds": round(loaded, 3),
        "memory_mib": round(peak / 2**20, 1),
        "parameters": parameters,
        "created": now(),
    }
    return EncoderCost.read(content, "cost")


def sample_sentences(count: int) -> list[list[str]]:
    """The first `count` tokenised sentences, the same everywhere: words as frequent as in Wikipedia.

    What an encoder costs depends on the lengths of sentences and words and on how soon words come again, and not on
    what is said. The word counts come from the text that the shipped weights read. A word that is not among the 50,000
    most frequent ones becomes two of them with a hyphen. Lengths follow a gamma distribution with the mean and the
    standard deviation of the sentences of held-out Wikipedia articles, 23.7 and 12.5 tokens.
    """
    counts = (line.split("\t") for _, line in read_lines(COUNTS))
    weights = {word: int(number) for word, number in counts if word not in MARKERS}
    words, totals = list(weights), list(itertools.accumulate(weights.values()))
    rng = random.Random(0)

    def word() -> str:
        [drawn] = rng.choices(words, cum_weights=totals)
        return drawn if drawn != UNKNOWN else f"{word()}-{word()}"

    lengths = (round(rng.gammavariate(SHAPE, SCALE)) for _ in range(count))
    return [[word() for _ in range(min(max(length, SHORTEST), LONGEST))] for length in lengths]


def _rate(read: Callable[[Sentences], Any], sentences: Sentences, size: int, seconds: Callable[[], float]) -> float:
    """Tokens a second."""
    tokens, start = 0, seconds()
    while True:
        for first in range(0, len(sentences), size):
            read(sentences[first : first + size])
        tokens += sum(map(len, sentences))
        if (taken := seconds() - start) >= LEAST:
            return round(tokens / taken, 1)
