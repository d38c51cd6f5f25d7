"""`elmo-bench run task=ner encoder=elmo`: one run. `elmo-bench sweep …`, or `run -m …`: a sweep."""

import argparse
import shutil
import textwrap
from collections.abc import Sequence
from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from elmo_bench.base.errors import redacted
from elmo_bench.base.progress import console
from elmo_bench.ledger import HeldElsewhere, Record, RunPaths
from elmo_bench.reporting.console import already, ending, outcome
from elmo_bench.runner.floors import floor_options
from elmo_bench.runner.run import run
from elmo_bench.spec.config import CONF, choices, compose, one_run


def main(arguments: list[str]) -> int:
    """Make one run and its floor, or a sweep with `-m`; the exit code. Raises UserError for bad input."""
    parser = argparse.ArgumentParser(prog="elmo-bench run", add_help=False)
    parser.add_argument("-h", "--help", action="store_true")
    parser.add_argument("-m", "--multirun", action="store_true")
    parser.add_argument("--cfg", choices=["job"])
    parser.add_argument("--attempt", help=argparse.SUPPRESS)  # id that a sweep gives to this attempt
    parser.add_argument("options", nargs="*")
    given = parser.parse_intermixed_args(arguments)
    if given.multirun:
        from elmo_bench.cli.sweep import main as sweep

        return sweep(given.options)
    if given.help or not (given.options or given.cfg):
        print((CONF / "config.yaml").read_text(encoding="utf-8"), "\n# Groups (group=option)", sep="")
        width = min(shutil.get_terminal_size().columns, 120)
        for path in (path for path in sorted(CONF.iterdir()) if path.is_dir()):
            print(textwrap.fill(f"{path.name}: {', '.join(choices(path.name))}", width, subsequent_indent=" " * 6))
        return 0
    config = compose("config", given.options)
    if given.cfg:
        print(redacted(OmegaConf.to_yaml(config)), end="")
        return 0
    try:
        record, skipped = run(config, attempt=given.attempt)
    except HeldElsewhere as error:
        print(error, flush=True)
        return 0  # the other process makes the run
    ledger, state = Path(config.ledger), "done"
    if skipped:
        lacks = config.predictions and not any(RunPaths.of(ledger, record).work.glob("test.predictions*"))
        state = already(record, *["without predictions"] * bool(lacks))
    print(outcome(ledger, record, state), flush=True)
    if given.attempt is None:
        floor = _floor(config, given.options)
        lines = ending(record, ledger, options=given.options, made=not skipped, floor=floor)
        print(*lines, sep="\n", flush=True)
    return 0


def _floor(config: DictConfig, options: Sequence[str]) -> Record | None:
    """The record of the run's floor, which is made if the ledger lacks it; None if it needs none, or another process
    makes it. What its data say was printed by the run."""
    of_floor = floor_options(config, one_run(options, CONF))
    if of_floor is None:
        return None
    console.quiet = True
    try:
        record, _ = run(compose("config", of_floor))
    except HeldElsewhere:
        return None
    finally:
        console.quiet = False
    return record
