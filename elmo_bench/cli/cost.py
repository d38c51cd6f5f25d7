"""`elmo-bench cost encoder=glove,elmo`: what frozen encoders cost on this machine."""

import argparse
import itertools
import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elmo_bench.base import include
from elmo_bench.base.errors import UserError
from elmo_bench.base.include import import_path
from elmo_bench.base.json import parse_json
from elmo_bench.base.progress import progress

if TYPE_CHECKING:
    from omegaconf import DictConfig

_OPTION = re.compile(r"(encoder|suite|task|trainer|device)(\.[\w.]+)?=")
FEWEST_ROUNDS = 3
EPILOG = """\
Several encoders are separated by commas: encoder=glove,elmo,bert_mini. `run` has the other options:
encoder=hf encoder.name=FOLDER, suite=paper. device=cuda measures on a GPU. Each round is a process of its own, and the
encoders take turns. On a CPU a process has one thread and seconds are processor time. Other work on the machine still
slows it, through caches and shared cores: compare encoders that were measured by one command."""


def main(arguments: list[str]) -> int:
    """Write a file for each encoder and print a table. Returns 0. Raises UserError."""
    options = _parse(arguments)
    if wrong := [each for each in options.options if not _OPTION.match(each)]:
        raise UserError(f"{wrong[0]}: not an option of an encoder. Give encoder=NAME and its options.")
    if options.rounds < FEWEST_ROUNDS:
        raise UserError(f"--rounds {options.rounds}: too few to show a spread. Give {FEWEST_ROUNDS} or more.")
    given = [f"trainer.{each}" if each.startswith("device=") else each for each in options.options]
    from elmo_bench.spec.config import compose, sweep

    runs = [list(each) for product in sweep(given) for each in itertools.product(*product)]
    configs = [_checked(compose("config", each)) for each in runs]
    sentences = _sentences(options.text)
    if options.once:
        from elmo_bench.runner.cost import measure

        print(json.dumps(measure(configs[0], sentences)))
        return 0

    from elmo_bench.ledger.costs import write_cost
    from elmo_bench.reporting.costs import console
    from elmo_bench.runner.cost import cost_of

    measured: list[list[Any]] = [[] for _ in runs]
    with progress("cost", len(runs) * options.rounds) as meter:
        for _ in range(options.rounds):  # of all encoders in turns: other work on the machine slows none of them alone
            for own, rounds in zip(runs, measured, strict=True):
                rounds.append(_round(own, options.text))
                meter.advance()
    text = options.text.name if options.text else "sample"
    found = [cost_of(config, sentences, text, rounds) for config, rounds in zip(configs, measured, strict=True)]
    for cost in found:
        write_cost(options.out, cost)
    print(f"{console(found)}\n{options.out}: {len(found)} file{'s' * (len(found) > 1)}")
    return 0


def _checked(config: "DictConfig") -> "DictConfig":
    """Raises UserError before anything is measured."""
    from elmo_bench.runner.cost import check_frozen

    if config.trainer.device not in ("cpu", "cuda"):
        raise UserError(f"device={config.trainer.device}: no such device. Use cpu or cuda.")
    check_frozen(config)
    return config


def _sentences(path: Path | None) -> Sequence[Sequence[str]]:
    """What every encoder reads: the sample of the package, or distinct sentences of a file, drawn with a fixed seed."""
    from elmo_bench.runner.cost import SENTENCES

    if path is None:
        from elmo_bench.text.sample import sample_sentences

        return sample_sentences(SENTENCES)
    from elmo_bench.pretraining.corpus import sentences

    distinct = list(dict.fromkeys(map(tuple, sentences(path))))
    if len(distinct) < SENTENCES:
        raise UserError(f"{path}: {len(distinct):,} distinct sentences. Give a text with {SENTENCES} or more.")
    return random.Random(0).sample(distinct, SENTENCES)


def _round(options: Sequence[str], text: Path | None) -> Any:
    """The figures of a child process. Raises UserError with the child's last line if it failed."""
    folders = [part for folder in include.folders for part in ("--include", str(folder))]
    command = [sys.executable, "-m", "elmo_bench", *folders, "cost", *options, "--once"]
    command += ["--text", str(text)] if text else []
    environment = os.environ | {"OMP_NUM_THREADS": "1"} | import_path()
    done = subprocess.run(command, env=environment, capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it left no message"])[-1]
        raise UserError(last.removeprefix("elmo-bench cost: "))
    return parse_json(done.stdout.splitlines()[-1], "the measuring process")


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="elmo-bench cost",
        description="Measure frozen encoders on this machine: tokens a second with batches of one sentence and with "
        "the best of some sizes, load time, memory, bytes stored, parameters.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("options", nargs="+", metavar="key=value", help="encoder=NAME,NAME and options of encoders")
    parser.add_argument("--rounds", type=int, default=3, help="processes for each encoder (default: %(default)s)")
    parser.add_argument(
        "--text", type=Path, metavar="FILE", help="a tokenised sentence a line (default: a sample in the package)"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("results/costs"), help="folder of the files (default: %(default)s)"
    )
    parser.add_argument("--once", action="store_true", help="measure in this process and print the figures as JSON")
    return parser.parse_intermixed_args(arguments)
