"""`elmo-bench run task=ner encoder=elmo`: one run.

`elmo-bench sweep …`, or `run -m …`: a sweep.
"""

import argparse
import shutil
import textwrap
from collections.abc import Sequence
from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from elmo_bench.base.errors import redacted
from elmo_bench.cli import Parser
from elmo_bench.ledger import HeldElsewhere, Record, RunPaths
from elmo_bench.reporting.endings import already, ending, outcome
from elmo_bench.runner.first_look import ready
from elmo_bench.runner.named_parts import flags_to_give
from elmo_bench.runner.run import run, run_floor
from elmo_bench.spec.conf_files import CONF, choices
from elmo_bench.spec.config import compose
from elmo_bench.spec.options import check_once


def main(arguments: list[str]) -> int:
    """Make one run and its floor, or a sweep with `-m`; the exit code.

    Raises UserError for bad input.
    """
    options = _parse(arguments)
    if options.multirun and not (options.help or options.cfg):
        from elmo_bench.cli.sweep import main as sweep

        return sweep(options.options)
    if options.help or not (options.options or options.cfg):
        _print_help()
        return 0
    check_once(options.options, single=True)
    if options.cfg:
        config = compose("config", options.options)
        print(redacted(OmegaConf.to_yaml(config)), end="")
        return 0
    config = ready(options.options)
    return _run(config, options.options, options.attempt)


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = Parser(prog="elmo-bench run", add_help=False)
    parser.add_argument("-h", "--help", action="store_true")
    parser.add_argument("-m", "--multirun", action="store_true")
    parser.add_argument("--cfg", choices=["job"])
    # The id that a sweep gives to this attempt.
    parser.add_argument("--attempt", help=argparse.SUPPRESS)
    parser.add_argument("options", nargs="*")
    return parser.parse_intermixed_args(arguments)


def _print_help() -> None:
    text = (CONF / "config.yaml").read_text(encoding="utf-8")
    print(f"{text}\n# Groups (group=option)")
    width = min(shutil.get_terminal_size().columns, 120)
    for path in sorted(CONF.iterdir()):
        if path.is_dir():
            line = f"{path.name}: {', '.join(choices(path.name))}"
            print(textwrap.fill(line, width, subsequent_indent=" " * 6))


def _run(config: DictConfig, options: Sequence[str], attempt: str | None) -> int:
    """Make the run and print its outcome and what comes next; the exit code.

    attempt: of a sweep, which prints a summary of its own.
    """
    try:
        record, skipped = run(config, attempt=attempt)
    except HeldElsewhere as error:
        print(error, flush=True)
        return 0  # the other process makes the run
    ledger = Path(config.ledger).expanduser()
    state = _skipped(config, record) if skipped else "done"
    print(outcome(ledger, record, state), flush=True)
    if attempt is None:
        floor = run_floor(config, options)
        made = not skipped
        lines = ending(
            record,
            ledger,
            options=options,
            made=made,
            floor=floor,
            flags=flags_to_give,
        )
        for line in lines:
            print(line, flush=True)
    return 0


def _skipped(config: DictConfig, record: Record) -> str:
    """The state of a run that was in the ledger."""
    ledger = Path(config.ledger).expanduser()
    work = RunPaths.of(ledger, record).work
    if config.predictions and not any(work.glob("test.predictions*")):
        return already(record, "without predictions")
    return already(record)
